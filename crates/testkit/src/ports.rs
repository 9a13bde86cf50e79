//! Ports for servers that have to be told theirs before they start.

#![allow(
    clippy::expect_used,
    reason = "a test without a port for its server has failed"
)]

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that Linux (32,768) and macOS (49,152) give to clients, and to servers that ask for any.
const PORTS: std::ops::Range<u32> = 20_000..32_000;
/// How far apart processes with neighbouring ids begin to look.
const APART: u32 = 97;

/// A loopback port that nothing listens on, and that nobody gets by chance before the server of the test starts.
///
/// # Panics
/// When all ports are taken.
pub fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let first = process::id().wrapping_mul(APART);
    PORTS
        .filter_map(|_| {
            let next = first.wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed));
            u16::try_from(PORTS.start + next % (PORTS.end - PORTS.start)).ok()
        })
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("a free port")
}
