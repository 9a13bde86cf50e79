//! Rebuilds indexes: with a registration, on request, and on a schedule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::Document;
use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::lens::{DomainLens, LensSourceType};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::LensId;
use charter_contract::time::Timestamp;
use charter_domain::catalogue::{CatalogueEntry, Origin};
use charter_domain::package::{Package, Problem};
use charter_store::StoreError;
use charter_store::lens::NewLensIndex;

use super::LensService;
use super::fetch::Failure;
use super::index::PreparedIndex;
use super::work::{IndexingPermit, LensIndexingOutcome, LensIndexingResult, WorkResult};
use super::{LensView, key_of, may_read};
use crate::catalogue::documents::{unseen, unseen_active};
use crate::catalogue::lens_index::{IndexMetadata, LensKey};
use crate::ground::moments;
use crate::{Caller, EngineError, Mode};

/// Longest interval between checks for due lenses.
const POLL_INTERVAL: Duration = Duration::from_secs(60);

/// The lenses of a package, ready to come into force with it.
#[derive(Debug, Default)]
pub(crate) struct LensJob {
    /// The result of each.
    pub(crate) done: Vec<LensIndexingResult>,
    /// New indexes.
    pub(crate) new: Vec<NewLensIndex>,
    /// Metadata of the sources whose indexes stay.
    pub(crate) same: Vec<(LensKey, IndexMetadata)>,
    /// The problems.
    pub(crate) problems: Vec<Problem>,
}

/// A lens in force.
type InForce = Arc<CatalogueEntry<DomainLens>>;

impl LensService {
    /// Indexes the lenses of a package that is about to come into force. Writes nothing: all of it comes into force
    /// with the package, or nothing does.
    pub(crate) async fn index_package(
        &self,
        package: &Package,
        origin: &Origin,
        mode: Mode,
    ) -> Result<LensJob, EngineError> {
        let mut job = LensJob::default();
        let live = self.catalogue.live();
        for sourced in &package.documents {
            let Document::DomainLens(lens) = &sourced.value else {
                continue;
            };
            if lens.status != Status::Active {
                continue;
            }
            let key = LensKey {
                scope: origin.scope.clone(),
                lens: lens.lens_id.clone(),
            };
            let done = |outcome| LensIndexingResult {
                lens_id: lens.lens_id.clone(),
                outcome,
            };
            if mode == Mode::DryRun {
                job.done.push(done(LensIndexingOutcome::FetchFailed));
                continue;
            }
            let turn = self.lens_work.take(&key).ok_or_else(|| busy(&key.lens))?;
            let before = live.lenses.of(&key);
            let prepared = self
                .prepare_lens(lens, &package.files, before.as_deref(), &turn)
                .await;
            match prepared {
                Ok(prepared) => {
                    job.done.push(done(prepared.outcome()));
                    match prepared {
                        PreparedIndex::New(index, _) => job.new.push(index),
                        PreparedIndex::Same(indexed) => job.same.push((key.clone(), indexed)),
                    }
                    turn.ended(self.clock.now(), WorkResult::Done(last_outcome(&job)));
                }
                Err(Failure::Engine(error)) => return Err(error),
                Err(Failure::Source(error)) => job.problems.push(Problem::at(
                    &sourced.place,
                    "/source/ref",
                    "lens_source",
                    error.message,
                )),
            }
        }
        Ok(job)
    }

    /// Records the metadata of sources whose index stays.
    pub(crate) async fn note_sources(
        &self,
        same: Vec<(LensKey, IndexMetadata)>,
    ) -> Result<(), EngineError> {
        let live = self.catalogue.live();
        for (key, indexed) in same {
            if let Some(shelved) = live.lenses.of(&key) {
                let body = serde_json::to_string(&indexed)
                    .map_err(|error| EngineError::internal("writing the index of a lens", error))?;
                self.store
                    .note_lens_source(&key.scope, shelved.generation, &body)
                    .await?;
            }
        }
        Ok(())
    }

    /// Checks the sources of a package again that is in force unchanged (seed 000 §2.6: a source that changed is
    /// indexed again on re-registration).
    pub(crate) async fn reindex_package(
        &self,
        package: &Package,
        origin: &Origin,
    ) -> Result<(Vec<LensIndexingResult>, Vec<Problem>), EngineError> {
        let job = self.index_package(package, origin, Mode::Apply).await?;
        if !job.problems.is_empty() {
            return Ok((job.done, job.problems));
        }
        let live = self.catalogue.live();
        for index in job.new {
            let key = LensKey {
                scope: origin.scope.clone(),
                lens: index.lens_id.clone(),
            };
            let expected = live.lenses.of(&key).map(|shelved| shelved.generation);
            self.store
                .replace_lens_index(&key.scope, index, expected)
                .await?;
        }
        self.note_sources(job.same).await?;
        self.catalogue.reload_catalogue().await?;
        self.peers.notify_routing_change().await;
        Ok((job.done, job.problems))
    }

    /// Starts a check of a lens's source, and indexes it if it changed; returns at once with the state. Needs the right
    /// to change the package.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `overloaded` while it is being indexed.
    pub fn reindex_lens(
        self: &Arc<Self>,
        caller: &Caller,
        id: &LensId,
    ) -> Result<LensView, EngineError> {
        may_read(caller)?;
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view
            .lens(id.as_ref())
            .ok_or_else(|| unseen(&view, DocumentKind::DomainLens, id.as_ref()))?;
        caller.must_edit(&found.entry.origin.scope, "packages")?;
        if found.document().status != Status::Active {
            let kind = DocumentKind::DomainLens;
            return Err(unseen_active(&view, kind, id.as_ref()));
        }
        let key = key_of(&found.entry);
        let turn = self.lens_work.take(&key).ok_or_else(|| busy(id))?;
        let (service, entry) = (Arc::clone(self), Arc::clone(&found.entry));
        let shown = self.get(caller, id)?;
        self.tasks
            .spawn(async move { service.reindex_entry(&entry, key, turn).await });
        Ok(shown)
    }

    /// Checks a source again; the lens's state and the log have the result.
    async fn reindex_entry(&self, entry: &InForce, key: LensKey, turn: IndexingPermit) {
        let result = match self.replaced(entry, &key, &turn).await {
            Ok(outcome) => WorkResult::Done(outcome),
            Err(Failure::Source(error)) => failed(&key, &error),
            Err(Failure::Engine(error)) => failed(&key, &error),
        };
        turn.ended(self.clock.now(), result);
    }

    async fn replaced(
        &self,
        entry: &InForce,
        key: &LensKey,
        turn: &IndexingPermit,
    ) -> Result<LensIndexingOutcome, Failure> {
        let before = self.catalogue.live().lenses.of(key);
        let files = match entry.document.source.source_type {
            LensSourceType::Url => BTreeMap::new(),
            LensSourceType::File => self.files_of(&entry.origin).await?,
        };
        let lens = &entry.document;
        let prepared = self
            .prepare_lens(lens, &files, before.as_deref(), turn)
            .await?;
        let outcome = prepared.outcome();
        // The catalogue must not change between the store's swap and this process's.
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        match prepared {
            PreparedIndex::Same(indexed) => {
                self.note_sources(vec![(key.clone(), indexed)]).await?;
            }
            PreparedIndex::New(index, _) => {
                let expected = before.map(|before| before.generation);
                let replaced = self.store.replace_lens_index(&key.scope, index, expected);
                replaced.await.map_err(EngineError::from)?;
            }
        }
        self.catalogue.reload_catalogue().await?;
        self.peers.notify_routing_change().await;
        Ok(outcome)
    }

    async fn files_of(&self, origin: &Origin) -> Result<BTreeMap<String, String>, EngineError> {
        let files = self
            .store
            .package_files(&origin.scope, &origin.package, &origin.version)
            .await?;
        files.ok_or_else(|| {
            let cause = StoreError::NotFound {
                what: "version",
                id: format!("{} {}", origin.package, origin.version),
            };
            EngineError::internal("reading a package's files", cause)
        })
    }

    /// Checks the sources of linked lenses again, each once per configured interval, until the engine shuts down.
    /// Returns at once without an interval.
    pub(crate) async fn refresh_lenses_forever(self: Arc<Self>) {
        let Some(every) = self.settings.refresh else {
            return;
        };
        let mut ticks = tokio::time::interval(every.clamp(Duration::from_secs(1), POLL_INTERVAL));
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            for entry in self.due(every) {
                let key = key_of(&entry);
                let chore = format!("lens {} {}", key.scope, key.lens);
                if self.peers.does_chore(&chore, every / 2).await
                    && let Some(turn) = self.lens_work.take(&key)
                {
                    self.reindex_entry(&entry, key, turn).await;
                }
            }
        }
    }

    /// Returns linked lenses, of every scope, whose source was last checked too long ago.
    fn due(&self, every: Duration) -> Vec<InForce> {
        let live = self.catalogue.live();
        let layers = live
            .snapshot
            .tenants
            .values()
            .chain([&live.snapshot.global]);
        let entries = layers.flat_map(|layer| layer.lenses.values());
        let linked = entries.filter(|entry| {
            let lens = &entry.document;
            lens.status == Status::Active && lens.source.source_type == LensSourceType::Url
        });
        let now = self.clock.now();
        let due = linked.filter(|entry| {
            let key = key_of(entry);
            let fetched = live
                .lenses
                .of(&key)
                .map(|shelved| shelved.indexed.fetched_at);
            let tried = self.lens_work.status(&key).1.map(|last| last.at);
            let seen: Option<Timestamp> = fetched.max(tried);
            seen.is_none_or(|seen| moments::span(seen, now) >= every)
        });
        due.cloned().collect()
    }
}

fn last_outcome(job: &LensJob) -> LensIndexingOutcome {
    let last = job.done.last();
    last.map_or(LensIndexingOutcome::FetchFailed, |done| {
        done.outcome.clone()
    })
}

fn failed(key: &LensKey, error: &dyn std::error::Error) -> WorkResult {
    tracing::warn!(lens = %key.lens, %error, "a lens was not indexed; keeping its previous index");
    WorkResult::Failed {
        failed: error.to_string(),
    }
}

fn busy(id: &LensId) -> EngineError {
    let message = format!("`{id}` is already being indexed");
    EngineError::new(ErrorCode::Overloaded, message)
}
