//! The formats of metrics. They are serialized as OpenMetrics and converted to the older format. Must not know the
//! metrics.

use std::collections::BTreeSet;

use axum::http::HeaderMap;

use crate::accept::preference;

/// A format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposition {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4, which every scraper reads.
    Prometheus,
}

impl Exposition {
    /// The client's preferred format; the text format without a preference.
    pub(crate) fn negotiate(headers: &HeaderMap) -> Self {
        let open = preference(
            headers,
            "application/openmetrics-text",
            &[("version", "1.0.0"), ("charset", "utf-8")],
        );
        let text = preference(
            headers,
            "text/plain",
            &[("version", "0.0.4"), ("charset", "utf-8")],
        );
        if open > text {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// The value of `Content-Type`.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Converts metrics from OpenMetrics to this format.
    pub(super) fn convert(self, metrics: String) -> String {
        match self {
            Self::OpenMetrics => metrics,
            Self::Prometheus => prometheus(&metrics),
        }
    }
}

/// The prefixes of descriptive lines.
const HELP: &str = "# HELP ";
const TYPE: &str = "# TYPE ";

/// Converts to the text format: counters are described by their samples' names; units and the end mark are omitted.
fn prometheus(metrics: &str) -> String {
    let types = metrics.lines().filter_map(|line| line.strip_prefix(TYPE));
    let counters: BTreeSet<&str> = types
        .filter_map(|described| described.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(metrics.len());
    for line in metrics.lines() {
        let described = [HELP, TYPE].into_iter().find_map(|mark| {
            let (name, rest) = line.strip_prefix(mark)?.split_once(' ')?;
            Some((mark, name, rest))
        });
        match described {
            Some((mark, name, rest)) if counters.contains(name) => {
                text.push_str(&format!("{mark}{name}_total {rest}\n"));
            }
            None if line.starts_with('#') => {}
            Some(_) | None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use axum::http::header::ACCEPT;

    use super::*;

    fn negotiated(accept: &str) -> Exposition {
        Exposition::negotiate(&HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]))
    }

    #[test]
    fn the_metrics_format_follows_the_accept_header() {
        use Exposition::{OpenMetrics, Prometheus};
        let prometheus_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let prometheus_3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, expected) in [
            (prometheus_2, OpenMetrics),
            (prometheus_3, OpenMetrics),
            ("text/plain;version=0.0.4", Prometheus),
            ("text/plain", Prometheus),
            ("application/openmetrics-text", OpenMetrics),
            (
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                OpenMetrics,
            ),
            ("application/openmetrics-text;version=2.0.0", Prometheus),
            (
                "application/openmetrics-text;q=0.2, text/plain;q=0.8",
                Prometheus,
            ),
            (
                "text/plain;q=0.2, application/openmetrics-text;q=0.8",
                OpenMetrics,
            ),
            ("application/openmetrics-text;q=0, */*", Prometheus),
            ("text/html, application/xhtml+xml, */*;q=0.8", Prometheus),
            ("*/*", Prometheus),
            ("application/json", Prometheus),
        ] {
            assert_eq!(negotiated(accept), expected, "{accept}");
        }
        assert_eq!(Exposition::negotiate(&HeaderMap::new()), Prometheus);
    }

    #[test]
    fn the_text_form_describes_counters_by_the_names_of_their_samples() {
        let open = "# HELP asked Questions.\n# TYPE asked counter\nasked_total{by=\"# TYPE x counter\"} 3\n\
                    # HELP open Doors.\n# TYPE open gauge\n# UNIT open doors\nopen 1\n# EOF\n";
        let text = "# HELP asked_total Questions.\n# TYPE asked_total counter\nasked_total{by=\"# TYPE x counter\"} 3\n\
                    # HELP open Doors.\n# TYPE open gauge\nopen 1\n";
        assert_eq!(Exposition::Prometheus.convert(open.to_owned()), text);
        assert_eq!(Exposition::OpenMetrics.convert(open.to_owned()), open);
    }
}
