//! Playbooks: from a document to a run that changes something (seed 000 §2.8, B000-18).
//!
//! A run of a playbook begins with the known values. It asks for missing parameters, shows its plan and waits for a
//! person to confirm exactly that; only then does it start. A supervised playbook whose writes are all known before the
//! first one starts at once if the caller gave all values: the approval of its writes is also its confirmation.

use charter_contract::catalogue::playbook::{Playbook, SafetyClass, Undefined};
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PlaybookId, RunId};
use charter_domain::catalogue::ResolvedDocument;
use charter_domain::graph;
use charter_domain::package::SourceLocation;
use charter_domain::parameters::{Bound, Collected};
use charter_domain::run::{RunOutcome, RunPrerequisites};
use charter_domain::tier::playbook_served;
use serde_json::{Map, Value, json};

use super::{IdempotencyKey, RunStartService, RunStarted};
use crate::catalogue::documents::unseen_active;
use crate::execution::runs::{NewRun, Progress, pin, pins_of_graph};
use crate::{Caller, DryRun, EngineError};

/// The parameter with which a caller requests a dry run.
const DRY_RUN: &str = "dry_run";

/// Maximum undefined references that an error names.
const NAMED: usize = 20;

impl RunStartService {
    /// Starts a run of a playbook with the known parameters. A repeated request with the same key finds its run.
    ///
    /// # Errors
    /// `not_found`; `invalid_parameters` for invalid values; `invalid_document` for a playbook that cannot be compiled;
    /// `rate_limited` if the tenant has reached its run quota; `already_exists` if another request had the same key.
    pub async fn start_playbook(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        given: &Map<String, Value>,
        dry_run: DryRun,
        key: Option<&IdempotencyKey>,
    ) -> Result<RunStarted, EngineError> {
        let named = key.map(|key| key.id(caller, "start_playbook"));
        let ordered = self.ordered(caller, named).await?;
        let run_id = ordered.run_id.clone();
        self.check_definitions(caller, playbook).await?;
        let new = self.playbook_run(caller, playbook, given, dry_run, run_id)?;
        self.start_once(caller, ordered, new).await
    }

    /// Starts a run of a playbook that waits for a person's confirmation, however safe the playbook is. A repeated request
    /// with the same key finds its run.
    ///
    /// # Errors
    /// As for [`RunStartService::start_playbook`].
    pub(crate) async fn propose_playbook(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        given: &Map<String, Value>,
        key: &IdempotencyKey,
    ) -> Result<RunStarted, EngineError> {
        let named = key.id(caller, "propose_playbook");
        let ordered = self.ordered(caller, Some(named)).await?;
        self.check_definitions(caller, playbook).await?;
        let run_id = ordered.run_id.clone();
        let mut new = self.playbook_run(caller, playbook, given, DryRun::No, run_id)?;
        new.opening.confirm = !new.dry_run;
        self.start_once(caller, ordered, new).await
    }

    /// Starts a run of a playbook and drives it as far as possible without a person. Returns the outcome, if it has
    /// ended.
    ///
    /// # Errors
    /// As for [`RunStartService::start_playbook`] without a key; `unavailable` if the engine stops first.
    pub async fn drive_playbook(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        given: &Map<String, Value>,
    ) -> Result<(RunId, Option<RunOutcome>), EngineError> {
        self.quotas.check_room_for_run(&caller.tenant).await?;
        let run_id = RunId::from_uuid(self.ids.uuid());
        self.check_definitions(caller, playbook).await?;
        let new = self.playbook_run(caller, playbook, given, DryRun::No, run_id.clone())?;
        let waiting = self
            .runs
            .wait(&caller.tenant, &run_id, Some(new), Progress::silent());
        let outcome = waiting.await?.run.outcome().cloned();
        Ok((run_id, outcome))
    }

    /// Returns a playbook that the caller may run: active, and within the caller's tier.
    pub(crate) fn runnable_playbook(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
    ) -> Result<ResolvedDocument<Playbook>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view.playbook(playbook.as_ref());
        let found = found.filter(|found| found.document().status == Status::Active);
        let found =
            found.ok_or_else(|| unseen_active(&view, DocumentKind::Playbook, playbook.as_ref()))?;
        let served = playbook_served(&view, found.document());
        caller.must_reach(served, "playbook", playbook.as_ref())?;
        caller.must_be_usable(&view, "playbook", playbook.as_ref())?;
        Ok(found)
    }

    /// Refuses to start a playbook with undefined references: registration warned about it (ruling 12).
    ///
    /// # Errors
    /// `invalid_document`, with the file and line of each reference; `not_found`.
    pub(crate) async fn check_definitions(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
    ) -> Result<(), EngineError> {
        let found = self.runnable_playbook(caller, playbook)?;
        let undefined = found.document().undefined();
        if undefined.is_empty() {
            return Ok(());
        }
        let document = Document::Playbook(found.document().clone());
        let origin = &found.entry.origin;
        let (_, place) = self
            .documents
            .place_of(&caller.tenant, origin, document)
            .await?;
        Err(not_defined(playbook, &undefined, place.as_ref()))
    }

    /// Builds a run of a playbook with the caller's values.
    pub(crate) fn playbook_run(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        given: &Map<String, Value>,
        dry_run: DryRun,
        run_id: RunId,
    ) -> Result<NewRun, EngineError> {
        let found = self.runnable_playbook(caller, playbook)?;
        let declared = found.document().declared_parameters();
        let bound = Collected::given(&declared, given).settle();
        let bound =
            bound.map_err(|faults| EngineError::parameters(&format!("`{playbook}`"), &faults))?;
        self.playbook_run_with(caller, playbook, bound, dry_run, run_id)
    }

    /// Compiles a playbook and pins the run's documents. Values that the caller did not state explicitly are shown and
    /// confirmed, however safe the playbook is.
    pub(crate) fn playbook_run_with(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        bound: Bound,
        dry_run: DryRun,
        run_id: RunId,
    ) -> Result<NewRun, EngineError> {
        let found = self.runnable_playbook(caller, playbook)?;
        let document = found.document();
        let graph = graph::from_playbook(document).map_err(|error| {
            let message = format!("the playbook `{playbook}`: {error}");
            EngineError::new(ErrorCode::InvalidDocument, message)
        })?;
        let dry_run =
            dry_run == DryRun::Yes || bound.values.get(DRY_RUN) == Some(&Value::Bool(true));
        let view = self.catalogue.live().view(&caller.tenant);
        let mut pins = vec![pin(DocumentKind::Playbook, playbook.as_ref(), &found.entry)];
        pins.extend(pins_of_graph(&view, &graph)?);
        let class = document.safety.safety_class;
        let confirm = match class {
            SafetyClass::Automated => !bound.is_given(),
            // The approval of the list of all writes is the one decision. Values that the caller did not give are
            // shown to the caller before that.
            SafetyClass::Supervised => {
                !(bound.is_given() && bound.missing.is_empty() && graph.lists_writes_first())
            }
            SafetyClass::Destructive => true,
        };
        let unclear = bound.unclear();
        Ok(NewRun {
            run_id,
            tenant: caller.tenant.clone(),
            by: caller.user.clone(),
            askers: caller.makers.clone(),
            owner: caller.user.clone(),
            role: caller.role,
            title: format!("playbook {playbook}"),
            graph,
            parameters: bound.values,
            pins,
            dry_run,
            opening: RunPrerequisites {
                confirm: confirm && !dry_run,
                missing: bound.missing,
                sources: bound.sources,
                unclear,
                typed: document
                    .typed_parameter()
                    .filter(|_| !dry_run)
                    .map(|parameter| parameter.name.clone()),
                ..RunPrerequisites::default()
            },
            tags: self.tags.of_request(caller, None, Some(Flow::Write))?,
            artifacts: Vec::new(),
        })
    }
}

/// The error for a playbook with undefined references.
fn not_defined(
    playbook: &PlaybookId,
    undefined: &[Undefined],
    place: Option<&SourceLocation>,
) -> EngineError {
    let shown = undefined.iter().take(NAMED);
    let (mut named, mut details) = (Vec::new(), Vec::new());
    for Undefined {
        violation,
        script_line,
    } in shown
    {
        let line = place.map(|place| place.position(&violation.pointer).line);
        let at = match (place, line) {
            (Some(place), Some(line)) => format!("{}:{line}", place.file),
            _ => violation.pointer.clone(),
        };
        let of_script = script_line.map(|line| format!(", line {line} of the script"));
        named.push(format!(
            "{} ({at}{})",
            violation.message,
            of_script.unwrap_or_default()
        ));
        details.push(json!({
            "pointer": violation.pointer, "message": violation.message, "script_line": script_line,
            "file": place.map(|place| &*place.file), "line": line,
        }));
    }
    if undefined.len() > NAMED {
        named.push(format!("and {} more", undefined.len() - NAMED));
    }
    let message = format!(
        "the playbook `{playbook}` cannot start: {}",
        named.join("; ")
    );
    EngineError::new(ErrorCode::InvalidDocument, message)
        .with_details(json!({"undefined": details}))
}
