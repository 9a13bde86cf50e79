//! Ports for servers that need a port number before they start.

#![allow(
    clippy::expect_used,
    reason = "a test without a port for its server has failed"
)]

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Port range below the ephemeral ports of Linux (from 32,768) and macOS (from 49,152).
const PORTS: std::ops::Range<u32> = 20_000..32_000;
/// Distance between the first ports tried by processes with neighbouring ids.
const APART: u32 = 97;

/// Returns a free loopback port that the system does not assign to other programs.
///
/// # Panics
/// If no port is free.
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
