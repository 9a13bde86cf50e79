//! Export and import of missions as bundles ([`charter_domain::mission::bundle`]), the checks that need only the
//! bundle, and the differences of two missions.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, RunId, TenantId};
use charter_contract::json::{JsonFault, JsonLimitExceeded, Profile, decode_stored, extent};
use charter_contract::mission::{Artifact, MissionState};
use charter_domain::graph::PlanSource;
use charter_domain::mission::bundle::{Bundle, verify};
use charter_domain::mission::diff::{MissionDiff, Side, Used, diff};
use charter_domain::run::{FoldError, Run, RunEvent};
use charter_store::journal::JournalEvent;
use charter_store::mission::{Imported, MissionImport, bundle};
use serde::Serialize;
use serde_json::json;

use super::replay::RecomputedArtifacts;
use super::show::MissionView;
use super::{MissionService, MissionViewService};
use crate::execution::runs::HistoryEvent;
use crate::{Caller, EngineError, Role};

/// Maximum faults of a bundle that a failure lists.
const SHOWN_FAULTS: usize = 100;

/// A bundle that passed its own checks: every line matches its manifest, the journal chains, the state machine could
/// have written it, and its results yield exactly these artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleChecked {
    /// The mission.
    pub mission_id: MissionId,
    /// Its run.
    pub run_id: RunId,
    /// The mission's tenant.
    pub tenant_id: TenantId,
    /// The mission's state, from the journal.
    pub state: MissionState,
    /// Number of artifacts.
    pub artifacts: u64,
    /// Number of events in its journal.
    pub events: u64,
    /// The digest of everything in the bundle, as hexadecimal digits.
    pub digest: String,
}

/// One fault of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleFault {
    /// The line, from 1; absent if the fault is not in a single line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The location, as a JSON pointer from the whole: `/artifacts/3/confidence`.
    pub pointer: String,
    /// The problem.
    pub problem: String,
}

impl std::fmt::Display for BundleFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        write!(f, "{}: {}", self.pointer, self.problem)
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq)]
pub enum MissionImported {
    /// This import added the mission.
    New(Box<MissionView>),
    /// The identical mission was there before.
    Repeat(Box<MissionView>),
}

/// Checks a bundle by itself. Asks no model, tool or server.
///
/// # Errors
/// Every [`BundleFault`].
pub fn check_bundle(bytes: &[u8]) -> Result<BundleChecked, Vec<BundleFault>> {
    checked(bytes).map(|(_, checked)| checked)
}

fn checked(bytes: &[u8]) -> Result<(Bundle, BundleChecked), Vec<BundleFault>> {
    let bundle = verify(bytes).map_err(|faults| {
        let faults = faults.into_iter().map(|fault| BundleFault {
            line: Some(fault.line),
            pointer: fault.pointer,
            problem: fault.problem,
        });
        faults.collect::<Vec<_>>()
    })?;
    let run = bundle.replay().map_err(|stop| {
        let line = 1 + bundle.artifacts.len() + usize::try_from(stop.sequence).unwrap_or(1);
        vec![BundleFault {
            line: Some(line),
            pointer: format!("/events/{}", stop.sequence.saturating_sub(1)),
            problem: stop.detail,
        }]
    })?;
    let state = charter_domain::mission::state(&run);
    let faults = at_odds(&bundle, &run, state);
    if !faults.is_empty() {
        return Err(faults);
    }
    let header = &bundle.header;
    let checked = BundleChecked {
        mission_id: header.mission_id.clone(),
        run_id: header.run_id.clone(),
        tenant_id: header.tenant_id.clone(),
        state,
        artifacts: header.artifacts,
        events: header.events,
        digest: bundle.digest().to_string(),
    };
    Ok((bundle, checked))
}

/// Returns where parts of a bundle contradict each other, though each is valid by itself.
fn at_odds(bundle: &Bundle, run: &Run, state: MissionState) -> Vec<BundleFault> {
    let header = &bundle.header;
    let fault = |line, pointer: &str, problem: String| BundleFault {
        line,
        pointer: pointer.to_owned(),
        problem,
    };
    let mut faults = Vec::new();
    if header.state != state || header.status != run.status() {
        let problem = format!(
            "it has the mission state {} and the run status {}; the journal has {state} and {}",
            header.state,
            header.status,
            run.status()
        );
        faults.push(fault(Some(1), "/header", problem));
    }
    if run.graph().source() != Some(&PlanSource::Mission(header.mission_id.clone())) {
        let problem = "the journal does not belong to a run of the mission".to_owned();
        faults.push(fault(Some(1), "/header", problem));
    }
    let texts = || {
        let artifacts = bundle.artifacts.iter();
        artifacts.map(|artifact| artifact.payload.as_str())
    };
    let remade = history(bundle).and_then(|history| RecomputedArtifacts::of(&history));
    let other = match remade {
        Ok(remade) => remade.other_than(texts()),
        Err(divergence) => Some(divergence),
    };
    faults.extend(other.map(|problem| fault(None, "/artifacts", problem)));
    faults
}

/// Folds a journal into its run.
fn folded(journal: &[JournalEvent]) -> Result<Run, FoldedError> {
    let mut run: Option<Run> = None;
    for stored in journal {
        let event: RunEvent = decode_stored(&stored.payload)?;
        match &mut run {
            None => run = Some(Run::start(event, stored.at)?),
            Some(run) => run.apply(event, stored.at)?,
        }
    }
    Ok(run.ok_or(FoldError::Start)?)
}

/// Why a journal cannot be folded.
#[derive(Debug, thiserror::Error)]
enum FoldedError {
    #[error(transparent)]
    Unread(#[from] JsonFault),
    #[error(transparent)]
    Fold(#[from] FoldError),
}

fn history(bundle: &Bundle) -> Result<Vec<HistoryEvent>, String> {
    let events = (1..).zip(&bundle.events).map(|(sequence, event)| {
        let read = decode_stored(&event.payload);
        Ok(HistoryEvent {
            sequence,
            at: event.at,
            event: read.map_err(|error| format!("event {sequence}: {error}"))?,
        })
    });
    events.collect()
}

impl MissionViewService {
    /// Returns a mission's bundle with everything stored so far.
    ///
    /// # Errors
    /// `not_found`; errors of storage.
    pub async fn export(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<Bundle, EngineError> {
        let mut record = self.record(caller, mission).await?;
        let run_id = &record.run_id;
        let mut run = self.run_views.record(caller, run_id).await?;
        // A running mission is exported as of one event of its journal.
        let (events, _memory) = self.journals.stored(&caller.tenant, run_id).await?;
        let written = events.len() as u64;
        let mut artifacts = self.stored_artifacts(&caller.tenant, mission).await?;
        artifacts.retain(|artifact| artifact.event <= written);
        let folded = folded(&events)
            .map_err(|error| EngineError::internal("folding a mission's journal", error))?;
        record.state = charter_domain::mission::state(&folded);
        run.status = folded.status();
        Ok(bundle(&record, &run, artifacts, events))
    }

    /// Returns the differences between two missions of the caller's tenant.
    ///
    /// # Errors
    /// `not_found`; errors of storage.
    pub async fn diff(
        &self,
        caller: &Caller,
        left: &MissionId,
        right: &MissionId,
    ) -> Result<MissionDiff, EngineError> {
        let (left, right) = (
            self.produced(caller, left).await?,
            self.produced(caller, right).await?,
        );
        Ok(diff(&left.side(), &right.side()))
    }

    async fn produced(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<MissionResults, EngineError> {
        let record = self.record(caller, mission).await?;
        let root = self.root_of(caller, mission).await?;
        let stored = self.stored_artifacts(&caller.tenant, mission).await?;
        let artifacts = stored.iter().map(|stored| {
            let read = stored.record.read(&root);
            let read = read.map(charter_contract::mission::Stored::into_inner);
            let kind = stored.record.kind.as_str();
            read.map_err(|found| EngineError::violations(kind, &found))
        });
        let folded = self.journals.fold(&caller.tenant, &record.run_id).await?;
        let run = folded.run;
        let time_ms = match (folded.first, folded.last) {
            (Some(first), Some(last)) => last.as_micros().abs_diff(first.as_micros()) / 1_000,
            _ => 0,
        };
        Ok(MissionResults {
            artifacts: artifacts.collect::<Result<_, _>>()?,
            state: charter_domain::mission::state(&run),
            used: Used {
                time_ms,
                tokens: Some(run.tokens().total()),
            },
        })
    }
}

impl MissionService {
    /// Imports a mission that ended elsewhere, after its bundle was checked. It is read-only.
    ///
    /// # Errors
    /// `permission_denied` below the level `operator`; `invalid_document` with every fault; `invalid_request` for
    /// another tenant's mission, or one that has not ended; `already_exists` if there is another mission of its id.
    pub async fn import(
        &self,
        caller: &Caller,
        bytes: Vec<u8>,
    ) -> Result<MissionImported, EngineError> {
        caller.must_be(Role::Operator, "only operators can import missions")?;
        extent(&bytes, Profile::BUNDLE).map_err(|much| {
            let code = match much {
                JsonLimitExceeded::Number { .. } => ErrorCode::InvalidRequest,
                JsonLimitExceeded::Bytes { .. }
                | JsonLimitExceeded::Levels { .. }
                | JsonLimitExceeded::Memory { .. } => ErrorCode::TooLarge,
            };
            EngineError::new(code, format!("the bundle {much}"))
        })?;
        let checking = tokio::task::spawn_blocking(move || checked(&bytes));
        let checked = checking
            .await
            .map_err(|error| EngineError::internal("checking a bundle", error))?;
        let (bundle, checked) = checked.map_err(|faults| unsound(&faults))?;
        let import = MissionImport::from_bundle(bundle, &caller.tenant, self.clock.now())?;
        let imported = self.store.import_mission(import).await?;
        let shown = self.views.show(caller, &checked.mission_id).await?;
        Ok(match imported {
            Imported::New => MissionImported::New(Box::new(shown)),
            Imported::Unchanged => MissionImported::Repeat(Box::new(shown)),
        })
    }
}

/// A mission's results, for comparison.
struct MissionResults {
    artifacts: Vec<Artifact>,
    state: MissionState,
    used: Used,
}

impl MissionResults {
    fn side(&self) -> Side<'_> {
        Side {
            artifacts: &self.artifacts,
            state: self.state,
            used: self.used,
        }
    }
}

fn unsound(faults: &[BundleFault]) -> EngineError {
    let first = faults.first().map(ToString::to_string);
    let more = match faults.len() {
        0 | 1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    let message = format!("the bundle is invalid: {}{more}", first.unwrap_or_default());
    let shown = faults.get(..SHOWN_FAULTS).unwrap_or(faults);
    EngineError::new(ErrorCode::InvalidDocument, message).with_details(json!({"faults": shown}))
}
