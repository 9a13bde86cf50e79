//! `charter reindex`

use serde_json::json;

use crate::boot;
use crate::config::Config;
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::{self, Format};
use crate::terminal;

pub(crate) async fn run(config: &Config, format: Format) -> anyhow::Result<u8> {
    let bar = terminal::spinner("embedding the catalogue");
    let running = boot::start_unloaded(config).await?;
    let embedded = running
        .engine
        .indexes()
        .reindex()
        .await
        .map_err(ReportedFailure::from);
    bar.finish_and_clear();
    running.stop().await?;
    output::print(format, &json!({"embedded": embedded?}), output::fields)?;
    Ok(EXIT_OK)
}
