//! Everything about the engine that an operator may set. Plain values: where they come from is
//! the binary's business.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use charter_contract::ids::{TenantId, UserId};
use charter_contract::text::HttpsUrl;
use charter_domain::rate_limit::Rate;
use charter_effects::HostPattern;
use charter_search::WindowSettings;

use crate::ground::grants::ToolGrants;

/// The engine's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long the tags of a request are kept (ruling 18).
    pub tags_ttl: Duration,
    /// How long a session lives after its last turn.
    pub session_ttl: Duration,
    /// How many turns a session keeps.
    pub session_turns: usize,
    /// How many skills a broad verdict runs.
    pub broad_skills: usize,
    /// How many candidates a verdict carries.
    pub candidates: usize,
    /// The persona of requests that name none.
    pub persona: String,
    /// How long finished runs, requests and messages are kept.
    pub retention: Duration,
    /// How long payloads of evidence are kept; for ever when absent. Records and their leaves stay.
    pub evidence_retention: Option<Duration>,
    /// What this process does.
    pub duty: ProcessRole,
    /// A process's hold on a run or request; it is renewed at a third of this.
    pub lease: Duration,
    /// Runs that this process drives at once, as far as it may choose.
    pub driven_runs: usize,
    /// How long an approval waits for a person.
    pub approval_ttl: Duration,
    /// How long a worker's pass opens the way to data (B002-8).
    pub pass_ttl: Duration,
    /// Whether callers come by credentials that the store does not keep: keys of the configuration, or tokens of
    /// identity providers.
    pub credentials: bool,
    /// Whether a second person has to approve, also where the playbook does not ask for it. Where it is absent:
    /// if callers have credentials.
    pub four_eyes: Option<bool>,
    /// Who may approve by a credential that the store does not keep.
    pub approvers: Approvers,
    /// How memories are kept.
    pub memories: MemorySettings,
    /// Tool calls of this process that may be under way at once.
    pub tool_calls: usize,
    /// Tool results kept for reuse.
    pub cached_results: usize,
    /// What one tenant may ask.
    pub quotas: Quotas,
    /// What tools may be granted.
    pub grants: ToolGrants,
    /// Who runs the tools of clients that have an implementation.
    pub client_tools: ClientTools,
    /// How long an executor holds a call without a word.
    pub executor_lease: Duration,
    /// How lenses are fetched and cut.
    pub lenses: LensSettings,
    /// Where vectors of agent skills are searched.
    pub skill_vectors: SkillVectors,
    /// Where people reach this server by https: evidence that no other console shows leads to its run here.
    pub public_url: Option<HttpsUrl>,
}

/// Where vectors of agent skills are searched, where there is an index on a search node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillVectors {
    /// On the node, and in this process while the node does not answer.
    #[default]
    AlsoHere,
    /// On the node only: they take no memory here.
    Elsewhere,
}

/// How lenses are fetched and cut.
#[derive(Debug, Clone)]
pub struct LensSettings {
    /// Private addresses, and ports beside 80 and 443, that sources may be fetched from.
    pub egress: Vec<HostPattern>,
    /// Largest source, in bytes.
    pub max_bytes: usize,
    /// Longest time for fetching one source.
    pub timeout: Duration,
    /// Tokens that a passage repeats of the one before.
    pub overlap_tokens: usize,
    /// How often linked sources are looked at again; never when absent.
    pub refresh: Option<Duration>,
}

impl Default for LensSettings {
    fn default() -> Self {
        Self {
            egress: Vec::new(),
            max_bytes: 32 << 20,
            timeout: Duration::from_secs(60),
            overlap_tokens: WindowSettings::default().overlap_tokens,
            refresh: None,
        }
    }
}

/// Who may approve by a credential that the store does not keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// The users of the configuration's keys, by tenant.
    pub users: BTreeMap<TenantId, BTreeSet<UserId>>,
    /// The tenants in which an identity provider lets in people who may approve.
    pub provided: BTreeSet<TenantId>,
}

/// How memories are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySettings {
    /// How long the most important are kept that are not kept for good.
    pub retention: Duration,
    /// How long a proposal waits for a person.
    pub proposal_ttl: Duration,
    /// How many a tenant may have.
    pub most: u64,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(730 * 24 * 3_600),
            proposal_ttl: Duration::from_secs(30 * 24 * 3_600),
            most: 100_000,
        }
    }
}

/// What one tenant may ask. Nothing is bounded by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// How often it may call, over all protocols, in each process.
    pub calls: Option<Rate>,
    /// How many of its runs may be under way or wait, in all processes together.
    pub runs: Option<u64>,
}

/// The quotas of all tenants.
#[derive(Debug, Clone, Default)]
pub struct Quotas {
    /// Of each tenant that has none of its own.
    pub each: Quota,
    /// Of these.
    pub tenants: HashMap<TenantId, Quota>,
}

impl Quotas {
    pub(crate) fn for_tenant(&self, tenant: &TenantId) -> &Quota {
        self.tenants.get(tenant).unwrap_or(&self.each)
    }
}

/// What a process does among those over the same store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessRole {
    /// Everything.
    #[default]
    All,
    /// It answers callers and leaves runs to the workers.
    Api,
    /// It drives runs and does the chores.
    Worker,
}

/// Who runs tools whose `execution_target` is `client`. Those without an implementation are the executors' in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTools {
    /// This process, as it runs all others.
    Here,
    /// Executors of the tenant, which lease the calls.
    Executors,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tags_ttl: Duration::from_secs(3_600),
            session_ttl: Duration::from_secs(24 * 3_600),
            session_turns: 50,
            broad_skills: 3,
            candidates: 5,
            persona: "operator".to_owned(),
            retention: Duration::from_secs(30 * 24 * 3_600),
            evidence_retention: None,
            duty: ProcessRole::All,
            lease: Duration::from_secs(30),
            driven_runs: 1_000,
            approval_ttl: Duration::from_secs(24 * 3_600),
            pass_ttl: Duration::from_secs(3_600),
            credentials: false,
            four_eyes: None,
            approvers: Approvers::default(),
            memories: MemorySettings::default(),
            tool_calls: 16,
            cached_results: 1_000,
            quotas: Quotas::default(),
            grants: ToolGrants::default(),
            client_tools: ClientTools::Here,
            executor_lease: Duration::from_secs(15),
            lenses: LensSettings::default(),
            skill_vectors: SkillVectors::default(),
            public_url: None,
        }
    }
}
