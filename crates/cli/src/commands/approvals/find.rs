//! Finds a decision by its id, or by the first characters of it.

use charter_contract::ids::{ApprovalId, RunId};
use serde_json::Value;

use super::queue::{self, QueueFilter};
use crate::client::Client;
use crate::commands::encoded;

/// Prefixes of ids.
const APPROVAL: &str = "apr-";
const RUN: &str = "run-";

/// The ids that an ambiguous prefix lists.
const NAMED: usize = 4;

/// A decision that a person takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// An approval of a call, as the API shows it.
    Approval(Value),
    /// A run whose plan waits for a confirmation.
    Confirmation(Value),
}

impl Decision {
    /// The approval or run, as in the API.
    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Approval(value) | Self::Confirmation(value) => value,
        }
    }

    /// The digest that a decision is bound to.
    pub(super) fn digest(&self) -> &str {
        let digest = match self {
            Self::Approval(approval) => &approval["digest"],
            Self::Confirmation(run) => &run["plan_digest"],
        };
        digest.as_str().unwrap_or_default()
    }

    /// The run that waits.
    pub(super) fn run(&self) -> &str {
        let run = match self {
            Self::Approval(approval) => &approval["call"]["run_id"],
            Self::Confirmation(run) => &run["run_id"],
        };
        run.as_str().unwrap_or_default()
    }
}

/// Returns the decision with this id, or with the only id that begins so.
///
/// # Errors
/// The server's for an id that it does not know; an error that lists the ids for an ambiguous prefix.
pub(super) async fn find(client: &Client, given: &str) -> anyhow::Result<Decision> {
    if given.parse::<RunId>().is_ok() {
        return confirmation(client, given).await;
    }
    if given.parse::<ApprovalId>().is_err() {
        for state in [Some("pending"), None] {
            let asked = QueueFilter {
                state,
                ..QueueFilter::default()
            };
            let queue = queue::all(client, asked).await?;
            let ids = queue.iter().map(queue::Waiting::id);
            match only(ids, given)? {
                Some(id) if id.starts_with(RUN) => return confirmation(client, id).await,
                Some(id) => return approval(client, id).await,
                None => {}
            }
        }
    }
    approval(client, given).await
}

async fn approval(client: &Client, id: &str) -> anyhow::Result<Decision> {
    let found = client.get(&format!("/v1/approvals/{}", encoded(id))).await;
    Ok(Decision::Approval(found?))
}

pub(super) async fn confirmation(client: &Client, run: &str) -> anyhow::Result<Decision> {
    let found = client.get(&format!("/v1/runs/{}", encoded(run))).await;
    Ok(Decision::Confirmation(found?))
}

/// The only id that begins with this text, with or without the prefix of its kind.
fn only<'i>(ids: impl Iterator<Item = &'i str>, given: &str) -> anyhow::Result<Option<&'i str>> {
    if given.is_empty() {
        return Ok(None);
    }
    let fitting = ids.filter(|id| {
        let bare = id.strip_prefix(APPROVAL).or(id.strip_prefix(RUN));
        id.starts_with(given) || bare.is_some_and(|bare| bare.starts_with(given))
    });
    match fitting.collect::<Vec<_>>().as_slice() {
        [] => Ok(None),
        [id] => Ok(Some(*id)),
        several => {
            let named: Vec<&str> = several.iter().take(NAMED).copied().collect();
            let count = several.len();
            anyhow::bail!(
                "{count} ids begin with `{given}`, such as {}: write more of the id",
                named.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 3] = [
        "apr-01930000-0000-7000-8000-000000000001",
        "apr-01930000-0000-7000-8000-0000000000a1",
        "run-01930001-0000-7000-8000-000000000001",
    ];

    #[test]
    fn an_id_is_found_by_its_first_characters() {
        let find = |given| only(IDS.into_iter(), given);
        assert_eq!(find("run-").unwrap(), Some(IDS[2]));
        assert_eq!(find("01930001").unwrap(), Some(IDS[2]));
        assert_eq!(find(IDS[0]).unwrap(), Some(IDS[0]));
        assert_eq!(find("apr-02").unwrap(), None);
        assert_eq!(find("").unwrap(), None);
        let several = find("apr-0193").unwrap_err().to_string();
        assert!(
            several.starts_with("2 ids begin with `apr-0193`, such as apr-"),
            "{several}"
        );
    }
}
