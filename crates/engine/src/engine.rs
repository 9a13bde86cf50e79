//! The engine: its ports, and what every use case needs of them.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use charter_contract::ids::{TenantId, ToolId};
use charter_contract::time::Timestamp;
use charter_domain::catalogue::Origin;
use charter_domain::clock::Clock;
use charter_effects::webhook::Webhooks;
use charter_effects::{Imports, Models, PackageFiles, Sources, ToolCall, ToolRunner};
use charter_search::embed::{Embedder, Vector};
use charter_store::SharedStore;
use charter_store::catalogue::ContentHash;
use charter_store::skill_index::SkillIndex;
use quick_cache::sync::Cache;
use tokio::sync::{Mutex, Notify, OnceCell, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::EngineError;
use crate::EvidenceKey;
use crate::catalogue::imports::PastImports;
use crate::catalogue::live::LiveCatalogue;
use crate::conversation::candidates::Generator;
use crate::conversation::requests::ActiveRequests;
use crate::execution::executors::{self, ClientCalls, TargetRouter};
use crate::execution::outputs::{self, OutputBudgetRunner};
use crate::execution::replicas::PeerReplicas;
use crate::execution::runs::Drivers;
use crate::execution::runs::orders::Orders;
use crate::execution::tool_results::ToolResults;
use crate::ground::checks;
use crate::ground::confined;
use crate::ground::fair_slots::{FairSlots, Slot};
use crate::ground::moments::MonotonicDeadlines;
use crate::ground::questions;
use crate::ground::settings::Settings;
use crate::identity::keys::KeyPresenceCache;
use crate::identity::providers::Providers;
use crate::identity::quotas::TenantQuotas;
use crate::identity::rate_limits::RateLimits;
use crate::identity::shares::Shares;
use crate::knowledge::agent_skills::{Mirror, SkillIndexes};
use crate::knowledge::lenses::{LensWork, SentenceVectors};
use crate::knowledge::memory::MemoryIndexes;

/// Package versions whose files are kept in memory.
const KEPT_PACKAGES: usize = 64;

/// Archives of skills whose digest is kept in memory.
const KEPT_ARCHIVE_DIGESTS: usize = 16_384;

/// Fresh ids. Injected, so that tests know them beforehand.
pub trait IdSource: Send + Sync {
    /// A uuid that was never given before.
    fn uuid(&self) -> Uuid;
}

/// Version 7 uuids: they sort by the time they were made, and their other bits are random.
#[derive(Debug, Clone, Copy)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// An index of skills, and what makes the vectors that it is asked by.
type IndexAndModel<'e> = (&'e Arc<dyn SkillIndex>, &'e Arc<dyn Embedder>);

/// What the engine works with.
#[derive(Clone)]
pub struct Ports {
    /// Storage.
    pub store: SharedStore,
    /// Embeddings; absent means lexical routing only, which every verdict then says.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The index of agent skills on a search node, where there is one.
    pub skill_index: Option<Arc<dyn SkillIndex>>,
    /// Tools.
    pub tools: Arc<dyn ToolRunner>,
    /// The tools that are imported from MCP servers, as they change.
    pub imports: watch::Receiver<Arc<Imports>>,
    /// Where lenses come from.
    pub sources: Arc<dyn Sources>,
    /// Language models, by the routes of tenants.
    pub models: Arc<dyn Models>,
    /// Systems of record that proposals are sent to.
    pub webhooks: Arc<dyn Webhooks>,
    /// The identity providers whose tokens let in.
    pub providers: Arc<Providers>,
    /// What makes candidates on a miss.
    pub generator: Arc<dyn Generator>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
    /// What signs the evidence log.
    pub evidence_key: EvidenceKey,
}

/// The use cases of one process over one store.
pub struct Engine {
    ports: Ports,
    /// The port for tools, with the way to executors before it, and what admits outputs.
    tools: Arc<dyn ToolRunner>,
    executors: Arc<ClientCalls>,
    settings: Settings,
    live: ArcSwap<LiveCatalogue>,
    /// Vectors of everyday topics, made when they are first compared with.
    topics: OnceCell<Vec<Vector>>,
    /// Vectors of sentences of passages, by their text.
    sentences: SentenceVectors,
    skills: SkillIndexes,
    mirror: Mirror,
    archive_digests: Cache<[u8; 32], ContentHash>,
    registration: Mutex<()>,
    results: ToolResults,
    files: Cache<Origin, Arc<PackageFiles>>,
    past_imports: PastImports,
    slots: FairSlots,
    computation_slots: FairSlots,
    check_slots: FairSlots,
    question_slots: FairSlots,
    values: Shares,
    run_values: Shares,
    in_hand: ActiveRequests,
    drivers: Drivers,
    rate_limits: RateLimits<(TenantId, ToolId)>,
    quotas: TenantQuotas,
    lens_work: Arc<LensWork>,
    memories: MemoryIndexes,
    keys_made: KeyPresenceCache,
    moments: MonotonicDeadlines,
    news: Notify,
    others: PeerReplicas,
    orders: Orders,
    draining: CancellationToken,
    holder: String,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine that serves the catalogue as the store has it now.
    ///
    /// # Errors
    /// When the catalogue cannot be read or a stored vector is missing and cannot be made.
    pub async fn start(ports: Ports, settings: Settings) -> Result<Arc<Self>, EngineError> {
        let engine = Self::unloaded(ports, settings);
        engine.begin_following().await?;
        engine.reload_catalogue().await?;
        engine.load_skills().await?;
        engine
            .tasks()
            .spawn(Arc::clone(&engine).renew_leases_forever());
        Ok(engine)
    }

    /// An engine that serves an empty catalogue: for [`Engine::reindex`], which loads it in the end.
    #[must_use]
    pub fn unloaded(ports: Ports, settings: Settings) -> Arc<Self> {
        let holder = format!("worker-{}", ports.ids.uuid().simple());
        let shutdown = CancellationToken::new();
        let executors = Arc::new(ClientCalls::new(settings.executor_lease));
        let tools = TargetRouter::new(
            Arc::clone(&ports.tools),
            Arc::clone(&executors),
            settings.client_tools,
        );
        let tools = Arc::new(OutputBudgetRunner(Arc::new(tools)));
        Arc::new(Self {
            results: ToolResults::new(settings.cached_results),
            files: Cache::new(KEPT_PACKAGES),
            past_imports: PastImports::default(),
            slots: FairSlots::new(settings.tool_calls),
            computation_slots: FairSlots::new(confined::at_once()),
            check_slots: FairSlots::new(checks::MAX_CONCURRENT),
            question_slots: FairSlots::new(questions::MAX_CONCURRENT),
            values: outputs::values(),
            run_values: outputs::run_values(),
            in_hand: ActiveRequests::default(),
            drivers: Drivers::default(),
            rate_limits: RateLimits::default(),
            quotas: TenantQuotas::new(
                settings.quotas.clone(),
                Arc::clone(&ports.store),
                Arc::clone(&ports.clock),
            ),
            lens_work: Arc::default(),
            memories: MemoryIndexes::default(),
            keys_made: KeyPresenceCache::default(),
            moments: MonotonicDeadlines::default(),
            news: Notify::new(),
            others: PeerReplicas::default(),
            orders: Orders::default(),
            live: ArcSwap::default(),
            topics: OnceCell::new(),
            sentences: SentenceVectors::default(),
            skills: SkillIndexes::default(),
            mirror: Mirror::default(),
            archive_digests: Cache::new(KEPT_ARCHIVE_DIGESTS),
            registration: Mutex::new(()),
            draining: shutdown.child_token(),
            shutdown,
            tasks: TaskTracker::new(),
            holder,
            tools,
            executors,
            ports,
            settings,
        })
    }

    /// Ends what is under way, without waiting: requests answer `unavailable`, stay open, and are
    /// taken up at the next start.
    pub fn interrupt(&self) {
        self.shutdown.cancel();
    }

    /// Ends what is under way, as [`Engine::interrupt`] does, and waits for it.
    pub async fn stop(&self) {
        self.interrupt();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Whether storage answers.
    ///
    /// # Errors
    /// What storage says.
    pub async fn check_storage(&self) -> Result<(), EngineError> {
        self.store().revision().await?;
        Ok(())
    }

    /// The catalogue that is served now.
    #[must_use]
    pub fn live(&self) -> Arc<LiveCatalogue> {
        self.live.load_full()
    }

    /// Vectors of everyday topics, once they were made.
    pub(crate) fn topics(&self) -> &OnceCell<Vec<Vector>> {
        &self.topics
    }

    /// Vectors of sentences that were compared with questions.
    pub(crate) fn sentences(&self) -> &SentenceVectors {
        &self.sentences
    }

    /// The skills of the link graph that are served now.
    pub(crate) fn skills(&self) -> &SkillIndexes {
        &self.skills
    }

    /// The index of skills on a search node, where there is one and a model to search it by.
    pub(crate) fn skill_index(&self) -> Option<IndexAndModel<'_>> {
        Some((self.ports.skill_index.as_ref()?, self.embedder()?))
    }

    /// What is known of it.
    pub(crate) fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Digests of skills' archives, by what is in them.
    pub(crate) fn archive_digests(&self) -> &Cache<[u8; 32], ContentHash> {
        &self.archive_digests
    }

    pub(crate) fn serve(&self, live: LiveCatalogue) {
        self.live.store(Arc::new(live));
    }

    /// The engine's settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The embedding model in use, if there is one.
    #[must_use]
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.ports.embedder.as_ref()
    }

    /// Whether keys were made, as far as this process knows.
    pub(crate) fn key_presence(&self) -> &KeyPresenceCache {
        &self.keys_made
    }

    /// Systems of record that proposals are sent to.
    pub(crate) fn webhooks(&self) -> &Arc<dyn Webhooks> {
        &self.ports.webhooks
    }

    /// The identity providers whose tokens let in.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.ports.providers
    }

    /// Milliseconds since a moment.
    pub(crate) fn milliseconds_since(&self, moment: Timestamp) -> u64 {
        let passed = self.span(moment, self.now()).as_millis();
        u64::try_from(passed).unwrap_or(u64::MAX)
    }

    /// The language models, by the routes of tenants.
    #[must_use]
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.ports.models
    }

    pub(crate) fn store(&self) -> &SharedStore {
        &self.ports.store
    }

    pub(crate) fn generator(&self) -> &dyn Generator {
        self.ports.generator.as_ref()
    }

    pub(crate) fn tools(&self) -> &Arc<dyn ToolRunner> {
        &self.tools
    }

    /// The calls that wait for executors.
    pub(crate) fn executors(&self) -> &ClientCalls {
        &self.executors
    }

    pub(crate) fn log_key(&self) -> &EvidenceKey {
        &self.ports.evidence_key
    }

    /// The time, by the engine's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.ports.clock.as_ref()
    }

    pub(crate) fn moments(&self) -> &MonotonicDeadlines {
        &self.moments
    }

    /// A moment later, or the last that can be written.
    pub(crate) fn after(&self, at: Timestamp, span: Duration) -> Timestamp {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(at.as_micros().saturating_add(micros)).unwrap_or(at)
    }

    /// A moment earlier, or the first that can be written.
    pub(crate) fn before(&self, at: Timestamp, span: Duration) -> Timestamp {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(at.as_micros().saturating_sub(micros)).unwrap_or(at)
    }

    /// The time from one moment to a later one; nothing when it is not later.
    pub(crate) fn span(&self, from: Timestamp, to: Timestamp) -> Duration {
        let micros = to.as_micros().saturating_sub(from.as_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    pub(crate) fn new_uuid(&self) -> Uuid {
        self.ports.ids.uuid()
    }

    /// Notified when there may be new events.
    pub(crate) fn change_notify(&self) -> &Notify {
        &self.news
    }

    /// Wakes the readers of events.
    pub(crate) fn notify_watchers(&self) {
        self.news.notify_waiters();
    }

    /// What this process knows of the others over the same store.
    pub(crate) fn peer_replicas(&self) -> &PeerReplicas {
        &self.others
    }

    /// Orders that other processes carry out for this one.
    pub(crate) fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Cancelled when nothing new is to begin any more.
    pub(crate) fn draining(&self) -> &CancellationToken {
        &self.draining
    }

    /// Whether this process is on its way out.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    pub(crate) fn holder(&self) -> &str {
        &self.holder
    }

    pub(crate) fn registration(&self) -> &Mutex<()> {
        &self.registration
    }

    pub(crate) fn tool_results(&self) -> &ToolResults {
        &self.results
    }

    pub(crate) fn files(&self) -> &Cache<Origin, Arc<PackageFiles>> {
        &self.files
    }

    /// Waits for a place among the tool calls of this process, which tenants have in turn. A call that
    /// somebody else runs takes none: one tenant without an executor must not hold up the others.
    pub(crate) async fn tool_slot(&self, tenant: &TenantId, call: &ToolCall) -> Option<Slot> {
        if executors::goes_to_executors(call, self.settings.client_tools) {
            return None;
        }
        Some(self.slots.take(tenant).await)
    }

    /// The number of tool calls that wait for a place in this process, over all tenants.
    #[must_use]
    pub fn queued_tool_calls(&self) -> usize {
        self.slots.queued()
    }

    /// The places for filters and templates with expressions, which tenants have in turn.
    pub(crate) fn computation_slots(&self) -> &FairSlots {
        &self.computation_slots
    }

    /// The places for checks in this process, which tenants get in turn.
    pub(crate) fn check_slots(&self) -> &FairSlots {
        &self.check_slots
    }

    /// The places for long questions to the gate, which tenants get in turn.
    pub(crate) fn question_slots(&self) -> &FairSlots {
        &self.question_slots
    }

    /// The memory for large outputs and journals, in shares of tenants.
    pub(crate) fn values(&self) -> &Shares {
        &self.values
    }

    /// The memory for the values of runs that are carried on, in shares of tenants.
    pub(crate) fn run_values(&self) -> &Shares {
        &self.run_values
    }

    /// What is imported from MCP servers, as it changes.
    pub(crate) fn imports(&self) -> watch::Receiver<Arc<Imports>> {
        self.ports.imports.clone()
    }

    pub(crate) fn past_imports(&self) -> &PastImports {
        &self.past_imports
    }

    pub(crate) fn active_requests(&self) -> &ActiveRequests {
        &self.in_hand
    }

    pub(crate) fn sources(&self) -> &dyn Sources {
        self.ports.sources.as_ref()
    }

    pub(crate) fn lens_work(&self) -> &Arc<LensWork> {
        &self.lens_work
    }

    /// How often tools are called.
    pub(crate) fn rate_limits(&self) -> &RateLimits<(TenantId, ToolId)> {
        &self.rate_limits
    }

    /// What tenants may ask of this installation, and what they have asked.
    #[must_use]
    pub fn quotas(&self) -> &TenantQuotas {
        &self.quotas
    }

    pub(crate) fn memory_indexes(&self) -> &MemoryIndexes {
        &self.memories
    }

    pub(crate) fn drivers(&self) -> &Drivers {
        &self.drivers
    }

    /// Cancelled when the engine is told to stop: whatever waits for it ends then.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.shutdown.child_token()
    }

    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }
}

#[cfg(test)]
pub(crate) mod tests;
