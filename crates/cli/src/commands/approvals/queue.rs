//! The queue of decisions: approvals and confirmations in one list.

use std::cmp::Reverse;

use charter_contract::time::Timestamp;
use clap::Args;
use serde_json::{Value, json};

use crate::client::Client;
use crate::commands::query;
use crate::failure::{EXIT_OK, EXIT_WAITING};
use crate::output::{self, Format};
use crate::screen;

/// The pages that are read to find an id or to decide on all.
const MOST_PAGES: usize = 20;

/// The state of approvals that wait.
const PENDING: &str = "pending";

/// List approvals and confirmations.
#[derive(Debug, Args)]
pub(super) struct List {
    /// The state: `pending`, `approved`, `rejected`, `consumed` or `lapsed`.
    #[arg(long, default_value = PENDING)]
    state: String,
    /// Only approvals of this run.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The cursor: `next` of the previous page.
    #[arg(long)]
    after: Option<String>,
}

impl Default for List {
    fn default() -> Self {
        Self {
            state: PENDING.to_owned(),
            run: None,
            after: None,
        }
    }
}

impl List {
    pub(super) async fn run(&self, client: &Client, format: Format) -> anyhow::Result<u8> {
        self.print(client, format).await?;
        Ok(EXIT_OK)
    }

    /// Lists the decisions; the exit code tells whether any waits.
    pub(super) async fn run_as_question(
        &self,
        client: &Client,
        format: Format,
    ) -> anyhow::Result<u8> {
        let found = self.print(client, format).await?;
        let waits = !entries(&found).is_empty();
        Ok(if waits { EXIT_WAITING } else { EXIT_OK })
    }

    async fn print(&self, client: &Client, format: Format) -> anyhow::Result<Value> {
        let asked = QueueFilter {
            state: Some(&self.state),
            run: self.run.as_deref(),
            after: self.after.as_deref(),
        };
        let found = page(client, asked).await?;
        output::print(format, &found, table)?;
        Ok(found)
    }
}

/// The filter of a page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueFilter<'a> {
    pub(super) state: Option<&'a str>,
    pub(super) run: Option<&'a str>,
    pub(super) after: Option<&'a str>,
}

/// An entry of the queue, as the API lists it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Waiting {
    Approval(Value),
    Confirmation(Value),
}

impl Waiting {
    pub(super) fn id(&self) -> &str {
        let id = match self {
            Self::Approval(approval) => &approval["approval_id"],
            Self::Confirmation(run) => &run["run_id"],
        };
        id.as_str().unwrap_or_default()
    }

    fn requested_at(&self) -> Option<Timestamp> {
        let (Self::Approval(entry) | Self::Confirmation(entry)) = self;
        Timestamp::parse(entry["requested_at"].as_str()?).ok()
    }

    /// The entry as a row, with ids of this many characters.
    fn row(&self, length: Option<usize>) -> Value {
        let cut = |id: &Value| {
            let id = id.as_str().unwrap_or_default();
            let length = length.unwrap_or(id.len());
            id.get(..length).unwrap_or(id).to_owned()
        };
        match self {
            Self::Approval(approval) => json!({
                "id": cut(&approval["approval_id"]), "state": approval["state"],
                "decision": approval["call"]["tool"], "run_id": cut(&approval["call"]["run_id"]),
                "requested_by": approval["requested_by"], "group": approval["group"],
                "requested_at": approval["requested_at"], "expires_at": approval["expires_at"],
            }),
            Self::Confirmation(run) => json!({
                "id": cut(&run["run_id"]), "state": "awaiting_confirmation",
                "decision": run["run_title"], "run_id": cut(&run["run_id"]),
                "requested_by": run["requested_by"], "requested_at": run["requested_at"],
            }),
        }
    }
}

async fn page(client: &Client, asked: QueueFilter<'_>) -> anyhow::Result<Value> {
    let asked = [
        ("state", asked.state),
        ("run_id", asked.run),
        ("after", asked.after),
    ];
    client.get(&format!("/v1/approvals{}", query(&asked))).await
}

/// Returns the newest entries of all pages, at most [`MOST_PAGES`], newest first.
pub(super) async fn all(client: &Client, asked: QueueFilter<'_>) -> anyhow::Result<Vec<Waiting>> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let asked = QueueFilter {
            after: after.as_deref(),
            ..asked
        };
        let page = page(client, asked).await?;
        found.extend(entries(&page));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    found.sort_by_key(|entry| Reverse(entry.requested_at()));
    Ok(found)
}

/// The entries of a page, newest first.
fn entries(page: &Value) -> Vec<Waiting> {
    let list = |field: &str| page[field].as_array().cloned().unwrap_or_default();
    let approvals = list("entries").into_iter().map(Waiting::Approval);
    let confirmations = list("confirmations").into_iter().map(Waiting::Confirmation);
    let mut all: Vec<Waiting> = approvals.chain(confirmations).collect();
    all.sort_by_key(|entry| Reverse(entry.requested_at()));
    all
}

/// A page as a table; on a terminal with short ids.
fn table(page: &Value) -> String {
    let entries = entries(page);
    let ids = entries.iter().map(Waiting::id);
    let length = screen::is_terminal().then(|| short_length(ids));
    let rows: Vec<Value> = entries.iter().map(|entry| entry.row(length)).collect();
    let mut columns = vec!["id", "state", "decision", "run_id", "requested_by"];
    if rows.iter().any(|row| row["group"].is_string()) {
        columns.push("group");
    }
    columns.extend(["requested_at", "expires_at"]);
    let mut text = output::rows(&Value::Array(rows), &columns);
    if let Some(next) = page["next"].as_str() {
        text.push_str(&format!("\n\nMore follow: --after {next}"));
    }
    text
}

/// The length to which all of these ids can be cut and stay distinct.
fn short_length<'i>(ids: impl Iterator<Item = &'i str>) -> usize {
    /// Characters of an id that are shown at least: its prefix and eight digits.
    const SHORTEST: usize = 12;
    let mut sorted: Vec<&str> = ids.collect();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = sorted.windows(2).map(|pair| match pair {
        [one, other] => {
            let both = one.bytes().zip(other.bytes());
            both.take_while(|(a, b)| a == b).count() + 1
        }
        _ => 0,
    });
    shared.fold(SHORTEST, usize::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Value {
        json!({
            "entries": [{
                "approval_id": "apr-1", "state": "pending", "requested_by": "ann",
                "call": {"tool": "db.drop", "run_id": "run-1"},
                "requested_at": "2026-04-14T12:00:00Z", "expires_at": "2026-04-15T12:00:00Z",
            }],
            "confirmations": [{
                "run_id": "run-2", "run_title": "playbook a.b", "requested_by": "bob",
                "requested_at": "2026-04-14T12:30:00Z",
            }],
            "next": null,
        })
    }

    #[test]
    fn approvals_and_confirmations_are_one_list_by_time() {
        let answer = answer();
        let entries = entries(&answer);
        let ids: Vec<&str> = entries.iter().map(Waiting::id).collect();
        assert_eq!(ids, ["run-2", "apr-1"]);
        let confirmation = entries[0].row(None);
        assert_eq!(confirmation["state"], "awaiting_confirmation");
        assert_eq!(confirmation["decision"], "playbook a.b");
        assert_eq!(entries[1].row(Some(3))["id"], "apr");
    }

    #[test]
    fn an_empty_queue_is_stated() {
        assert_eq!(
            table(&json!({"entries": [], "confirmations": []})),
            "(none)"
        );
    }

    #[test]
    fn short_ids_are_distinct() {
        const IDS: [&str; 3] = [
            "apr-01930000-0000-7000-8000-000000000001",
            "apr-01930000-0000-7000-8000-0000000000a1",
            "run-01930001-0000-7000-8000-000000000001",
        ];
        assert_eq!(short_length(IDS[..1].iter().copied()), 12);
        assert_eq!(short_length(IDS[1..].iter().copied()), 12);
        let length = short_length(IDS.into_iter());
        assert_ne!(IDS[0][..length], IDS[1][..length]);
        assert_eq!(IDS[0][..length - 1], IDS[1][..length - 1]);
        assert_eq!(short_length(std::iter::empty()), 12);
    }
}
