//! Progress on standard error, if it is a terminal.

use std::time::Duration;

use charter_effects::TELEMETRY;
use charter_embed::fetch::FetchProgress;
use indicatif::{ProgressBar, ProgressStyle};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::messages::{self, Form};
use crate::telemetry::Telemetry;

/// A spinner with a message and the elapsed time; silent if standard error is not a terminal.
pub(crate) fn spinner(message: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.set_message(message.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A bar for fetching the model.
pub(crate) fn fetch_bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {eta}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// Updates a bar with the progress of fetching.
pub(crate) fn show_fetch(bar: &ProgressBar, progress: &FetchProgress) {
    if let Some(total) = progress.total {
        bar.set_length(total);
    }
    bar.set_position(progress.bytes);
    bar.set_message(format!("{} from {}", progress.file, progress.source));
}

/// The log level of the MCP SDK, unless a filter sets another: below it the SDK logs payloads. At `warn` its service
/// also logs each client's error in debug form, which the client receives as its answer.
const QUIET: &str = "rmcp=warn,rmcp::service=error";

/// Starts logging to standard error, and telemetry if there is any.
pub(crate) fn start_log(filter: &str, telemetry: Option<&Telemetry>) {
    // Events for telemetry are never logged.
    let filter = EnvFilter::try_new(format!("{QUIET},{filter},{TELEMETRY}=off"));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(format!("info,{TELEMETRY}=off")));
    let log = tracing_subscriber::fmt::layer::<Registry>().with_writer(std::io::stderr);
    let log = match messages::form() {
        Form::Text => log.with_filter(filter).boxed(),
        Form::JsonLines => log.json().with_filter(filter).boxed(),
    };
    let mut layers = vec![log];
    layers.extend(telemetry.into_iter().flat_map(Telemetry::layers));
    if tracing_subscriber::registry()
        .with(layers)
        .try_init()
        .is_err()
    {
        messages::note("warning: logging was already started");
    }
}
