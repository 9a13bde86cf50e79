//! The server's limits: those of the configuration, within the operating system's limits for this process.

use std::time::Duration;

use charter_server::Limits;

use crate::config::LimitsConfig;
use crate::platform;

/// Descriptors that are not for client connections: files, storage, tools and outgoing requests.
const RESERVED: usize = 256;

/// Connections beyond the limit of requests and streams: probes, and requests without a credential.
const SPARE: usize = 64;

/// Returns the limits. Raises the process's descriptor limit to its maximum first.
pub(super) fn limits(config: &LimitsConfig) -> Limits {
    let descriptors = platform::raise_open_files();
    let limits = within(config, descriptors);
    if (limits.connections, limits.concurrency) != (config.connections, config.concurrency) {
        tracing::warn!(
            limits.connections = limits.connections,
            limits.concurrency = limits.concurrency,
            "limits are lower than configured: the process may open {} files (`ulimit -n`)",
            descriptors.unwrap_or_default()
        );
    }
    limits
}

/// Lowers the configured limits to the available descriptors: each request, and each stream, has a connection.
fn within(config: &LimitsConfig, descriptors: Option<u64>) -> Limits {
    let room = descriptors.map_or(usize::MAX, |all| {
        usize::try_from(all)
            .unwrap_or(usize::MAX)
            .saturating_sub(RESERVED)
    });
    let connections = config.connections.min(room).max(1);
    let concurrency = (connections.saturating_sub(SPARE) / 2).max(1);
    Limits {
        body_bytes: config.body_bytes,
        timeout: Duration::from_millis(config.timeout_ms),
        concurrency: config.concurrency.min(concurrency),
        connections,
        head: Duration::from_millis(config.header_ms),
        body: Duration::from_millis(config.body_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_leave_connections_for_probes_whatever_there_are_descriptors_for() {
        let config = LimitsConfig::default();
        let found = |descriptors| {
            let limits = within(&config, descriptors);
            (limits.connections, limits.concurrency)
        };
        assert_eq!(found(None), (4_096, 512));
        assert_eq!(found(Some(1 << 20)), (4_096, 512));
        assert_eq!(found(Some(1_024)), (768, 352));
        assert_eq!(found(Some(16)), (1, 1));
    }
}
