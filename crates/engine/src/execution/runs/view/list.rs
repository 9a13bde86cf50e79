//! Lists runs: the filter, and the summary of each run.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RunId;
use charter_contract::run_status::{RunOrigin, RunStatus};
use charter_contract::time::Timestamp;
use charter_store::journal::{RunFilter, RunRecord, RunStatusFilter};
use charter_store::page::PageRequest;
use schemars::JsonSchema;
use serde::Serialize;

use super::RunViewService;
use crate::execution::evidence::check_range;
use crate::ground::error::newest_known;
use crate::{Caller, EngineError};

/// Status filters for every run that has not ended, and for every run that has.
const OPEN: &str = "open";
const ENDED: &str = "ended";

/// A filter for runs. Absent fields do not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// The status: a name, `open` for all that have not ended, or `ended`.
    pub status: Option<String>,
    /// The kind of origin.
    pub origin: Option<RunOrigin>,
    /// Text within the title, ignoring case.
    pub title: Option<String>,
    /// Created at or after.
    pub from: Option<Timestamp>,
    /// Created before.
    pub until: Option<Timestamp>,
}

impl RunQuery {
    fn filter(self, caller: &Caller) -> Result<RunFilter, EngineError> {
        check_range(self.from, self.until)?;
        let words = self.origin.map_or(&[][..], RunOrigin::words);
        Ok(RunFilter {
            user_id: caller.only_own().cloned(),
            standing: self.status.as_deref().map(standing).transpose()?,
            begins: words.iter().map(|word| format!("{word} ")).collect(),
            title: self.title.filter(|title| !title.is_empty()),
            created_from: self.from,
            created_until: self.until,
        })
    }
}

fn standing(word: &str) -> Result<RunStatusFilter, EngineError> {
    match word {
        OPEN => Ok(RunStatusFilter::Open),
        ENDED => Ok(RunStatusFilter::Ended),
        status => status.parse().map(RunStatusFilter::At).map_err(|_unknown| {
            let known = RunStatus::ALL.iter().map(|status| status.as_str());
            let known: Vec<&str> = [OPEN, ENDED].into_iter().chain(known).collect();
            let message = format!("unknown run status `{status}`; known: {}", known.join(", "));
            EngineError::new(ErrorCode::InvalidRequest, message)
        }),
    }
}

impl RunViewService {
    /// Lists the runs of the tenant that are visible to the caller, newest first. With a title filter, a page may be
    /// short and still have a cursor to the next.
    ///
    /// # Errors
    /// `invalid_request` for an unknown status or an invalid cursor; `invalid_document` for a range that ends before it
    /// starts.
    pub async fn list(
        &self,
        caller: &Caller,
        query: RunQuery,
        page: &PageRequest,
    ) -> Result<RunPage, EngineError> {
        let filter = query.filter(caller)?;
        let page = self.store.runs(&caller.tenant, &filter, page).await?;
        Ok(RunPage {
            entries: page.entries.into_iter().map(RunSummary::from).collect(),
            next: page.next,
        })
    }
}

/// A run in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunSummary {
    /// Its id.
    pub run_id: RunId,
    /// The run's title, which names its origin.
    pub title: String,
    /// The status: `working`, `awaiting_approval`, `completed` and so on.
    pub status: RunStatus,
    /// Number of events in the journal.
    pub version: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl From<RunRecord> for RunSummary {
    fn from(run: RunRecord) -> Self {
        Self {
            run_id: run.run_id,
            title: run.title,
            status: run.status,
            version: run.version,
            created_at: run.created_at,
            updated_at: run.updated_at,
        }
    }
}

/// One page of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunPage")]
pub struct RunPage {
    /// Newest first.
    pub entries: Vec<RunSummary>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

impl RunViewService {
    /// The error for a run that the caller does not see, which lists the newest that it sees.
    ///
    /// # Errors
    /// When storage fails.
    pub(super) async fn no_run(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<EngineError, EngineError> {
        let seen = self
            .list(caller, RunQuery::default(), &newest_known())
            .await?;
        let ids = seen.entries.iter().map(|seen| seen.run_id.as_str());
        Ok(EngineError::not_found("run", run).knowing(ids))
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{MissionId, PipelineId, PlanId, RequestId, TreeId};
    use charter_domain::graph::PlanSource;
    use uuid::Uuid;

    use super::*;

    /// A plan's run has the noun of its source as its title, and is found by its origin.
    #[test]
    fn every_sources_noun_is_a_word_of_its_origin() {
        let sources = [
            (
                PlanSource::ExecutionPlan(PlanId::from_uuid(Uuid::nil())),
                RunOrigin::Plan,
            ),
            (
                PlanSource::Pipeline(PipelineId::from_uuid(Uuid::nil())),
                RunOrigin::Plan,
            ),
            (
                PlanSource::DecisionTree(TreeId::from_uuid(Uuid::nil())),
                RunOrigin::Plan,
            ),
            (
                PlanSource::Mission(MissionId::parse("m").unwrap()),
                RunOrigin::Mission,
            ),
            (
                PlanSource::Analysis(RequestId::from_uuid(Uuid::nil())),
                RunOrigin::Analysis,
            ),
        ];
        for (source, origin) in sources {
            assert!(origin.words().contains(&source.noun()), "{}", source.noun());
        }
    }

    #[test]
    fn a_status_that_there_is_not_is_refused_with_those_that_there_are() {
        assert_eq!(standing("open").unwrap(), RunStatusFilter::Open);
        assert_eq!(
            standing("paused").unwrap(),
            RunStatusFilter::At(RunStatus::Paused)
        );
        let refused = standing("done").unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        assert!(
            refused
                .message
                .starts_with("unknown run status `done`; known: open, ended, awaiting_parameters")
        );
    }
}
