//! `charter health`: the probe for containers without another program for it. It needs no data directory and no key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// How long to wait for a server's answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) async fn run(config: &Config, format: Format) -> anyhow::Result<u8> {
    let server = match &config.server {
        Some(server) => server.trim_end_matches('/').to_owned(),
        None => format!("http://{}", probe_address(config.listen)),
    };
    let asked = readiness(config, &server).await;
    let is_ready = matches!(asked, Ok(true));
    let state = match asked {
        Ok(true) => "ready".to_owned(),
        Ok(false) => "not ready".to_owned(),
        Err(error) => format!("no answer: {error:#}"),
    };
    let report = json!({"server": server, "ready": is_ready, "state": state});
    output::print(format, &report, report_text)?;
    Ok(if is_ready { EXIT_OK } else { EXIT_NEGATIVE })
}

fn report_text(report: &Value) -> String {
    let text = |field: &str| report[field].as_str().unwrap_or_default();
    format!("{}: {}", text("server"), text("state"))
}

/// Whether a server is ready; an error if it does not answer at all.
async fn readiness(config: &Config, server: &str) -> anyhow::Result<bool> {
    let mut http = reqwest::Client::builder().timeout(PROBE_TIMEOUT);
    if config.server.is_none() {
        // A proxy cannot reach this machine's own addresses.
        http = http.no_proxy();
    }
    let http = http.build().context("setting up the HTTP client")?;
    let answer = http.get(format!("{server}/readyz")).send().await?;
    Ok(answer.status().is_success())
}

/// The address at which a server on this machine is reachable, from its listening address.
fn probe_address(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_reached_on_this_machine() {
        for (listen, expected) in [
            ("0.0.0.0:7407", "127.0.0.1:7407"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.7:7407", "192.0.2.7:7407"),
        ] {
            let found = probe_address(listen.parse().unwrap());
            assert_eq!(found.to_string(), expected);
        }
    }
}
