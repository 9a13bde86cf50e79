//! The engine's configurable settings. Plain values: the binary reads them from their sources.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use charter_contract::catalogue::pin::Pin;
use charter_contract::catalogue::tool::ConsolePage;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_contract::text::HttpsUrl;
use charter_domain::rate_limit::Rate;
use charter_effects::HostPattern;
use charter_search::WindowSettings;

use crate::ground::credentials::CredentialSettings;
use crate::ground::grants::ToolGrants;
use crate::ground::notifications::NotificationSettings;

/// The engine's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long the tags of a request are kept (ruling 18).
    pub tags_ttl: Duration,
    /// How long a session lives after its last turn.
    pub session_ttl: Duration,
    /// Maximum turns that a session keeps.
    pub session_turns: usize,
    /// Maximum skills that a broad verdict runs.
    pub broad_skills: usize,
    /// Maximum candidates of a verdict.
    pub candidates: usize,
    /// The persona of requests that name none.
    pub persona: String,
    /// How long finished runs, requests and messages are kept.
    pub retention: Duration,
    /// How long payloads of evidence are kept; forever when absent. Records and their leaves stay.
    pub evidence_retention: Option<Duration>,
    /// The role of this process among the replicas.
    pub duty: ProcessRole,
    /// Term of a process's lease on a run or request; it is renewed at a third of this.
    pub lease: Duration,
    /// Maximum runs that this process claims to drive at once.
    pub driven_runs: usize,
    /// How long an approval waits for a decision.
    pub approval_ttl: Duration,
    /// Term of a worker's pass to data (B002-8).
    pub pass_ttl: Duration,
    /// Whether callers have credentials outside the store: keys of the configuration, or tokens of identity providers.
    pub credentials: bool,
    /// Whether a second person must approve even if the playbook does not require it. When absent: if callers have
    /// credentials.
    pub four_eyes: Option<bool>,
    /// Users who may approve with a credential outside the store.
    pub approvers: Approvers,
    /// Groups that approvals go to, one after the other. Without one, every approver of a tenant may decide.
    pub approver_groups: Vec<ApproverGroup>,
    /// Settings of memories.
    pub memories: MemorySettings,
    /// Maximum concurrent tool calls of this process.
    pub tool_calls: usize,
    /// Maximum cached tool results.
    pub cached_results: usize,
    /// Quotas of tenants.
    pub quotas: Quotas,
    /// The operator's grants to tools.
    pub grants: ToolGrants,
    /// Grants of tenants, in place of these.
    pub tenant_grants: BTreeMap<TenantId, ToolGrants>,
    /// The credentials that tools may name.
    pub tool_credentials: CredentialSettings,
    /// How long console sessions last.
    pub console_sessions: ConsoleSessionSettings,
    /// Where client tools with an implementation run.
    pub client_tools: ClientTools,
    /// How long an executor's lease lasts without a renewal.
    pub executor_lease: Duration,
    /// Settings for fetching and cutting lenses.
    pub lenses: LensSettings,
    /// Where vectors of agent skills are searched.
    pub skill_vectors: SkillVectors,
    /// This server's public https address: evidence without another console links to its run here.
    pub public_url: Option<HttpsUrl>,
    /// Pages that show the source of submitted evidence, by system.
    pub evidence_pages: BTreeMap<Label, ConsolePage>,
    /// The documents that clients of the Model Context Protocol are offered beside this project's own tools.
    pub pins: Pins,
    /// Channels, and the rules that send events to them.
    pub notifications: NotificationSettings,
}

/// The documents that clients of the Model Context Protocol are offered beside this project's own tools; none by
/// default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    /// For each tenant that is not named below.
    pub each: TenantPins,
    /// For these tenants, in place of the above.
    pub tenants: BTreeMap<TenantId, TenantPins>,
}

/// The documents that the clients of one tenant are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenantPins {
    /// Tools, skills and playbooks that are tools of their own.
    pub pinned: Vec<Pin>,
    /// The MCP servers whose resources and prompts are offered.
    pub offered: BTreeSet<Label>,
    /// Whether the pins in registered agents apply.
    pub of_agents: bool,
}

impl Pins {
    /// Returns what the clients of a tenant are offered.
    #[must_use]
    pub fn of(&self, tenant: &TenantId) -> &TenantPins {
        self.tenants.get(tenant).unwrap_or(&self.each)
    }

    /// Returns what is offered in any tenant.
    pub fn all(&self) -> impl Iterator<Item = &TenantPins> {
        std::iter::once(&self.each).chain(self.tenants.values())
    }
}

/// Where vectors of agent skills are searched, if a search node has an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillVectors {
    /// On the node, and in this process while the node does not answer.
    #[default]
    AlsoHere,
    /// Only on the node: they use no memory here.
    Elsewhere,
}

/// Settings for fetching and cutting lenses.
#[derive(Debug, Clone)]
pub struct LensSettings {
    /// Private addresses, and ports besides 80 and 443, that sources may be fetched from.
    pub egress: Vec<HostPattern>,
    /// Largest source, in bytes.
    pub max_bytes: usize,
    /// Longest time for fetching one source.
    pub timeout: Duration,
    /// Tokens that a passage repeats from the one before.
    pub overlap_tokens: usize,
    /// How often linked sources are checked again; never when absent.
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

/// Users who may approve with a credential outside the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// The users of the configuration's keys, by tenant.
    pub users: BTreeMap<TenantId, BTreeSet<UserId>>,
    /// The tenants in which an identity provider admits possible approvers.
    pub provided: BTreeSet<TenantId>,
}

/// A group of approvers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApproverGroup {
    /// Its name.
    pub name: Label,
    /// The tenant whose approvals it gets; those of every tenant when absent.
    pub tenant: Option<TenantId>,
    /// Its members.
    pub users: BTreeSet<UserId>,
    /// How long an approval waits for the group before it goes to the next one.
    pub answers_within: Duration,
}

/// How long console sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleSessionSettings {
    /// How long a session lasts without a use.
    pub idle: Duration,
    /// How long a session lasts in any case.
    pub lifetime: Duration,
    /// How long claims count before the refresh token renews them.
    pub recheck: Duration,
}

impl Default for ConsoleSessionSettings {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(3_600),
            lifetime: Duration::from_secs(12 * 3_600),
            recheck: Duration::from_secs(300),
        }
    }
}

/// Settings of memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySettings {
    /// How long the most important memories with an expiry are kept.
    pub retention: Duration,
    /// How long a proposal waits for a decision.
    pub proposal_ttl: Duration,
    /// Maximum memories of a tenant.
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

/// The quotas of one tenant. Nothing is bounded by default.
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

/// The role of a process among the replicas over the same store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessRole {
    /// Everything.
    #[default]
    All,
    /// Answers callers and leaves runs to the workers.
    Api,
    /// Drives runs and does the chores.
    Worker,
}

/// Where tools run whose `execution_target` is `client`. Executors always run those without an implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTools {
    /// In this process, like all other tools.
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
            approver_groups: Vec::new(),
            memories: MemorySettings::default(),
            tool_calls: 16,
            cached_results: 1_000,
            quotas: Quotas::default(),
            grants: ToolGrants::default(),
            tenant_grants: BTreeMap::new(),
            tool_credentials: CredentialSettings::default(),
            console_sessions: ConsoleSessionSettings::default(),
            client_tools: ClientTools::Here,
            executor_lease: Duration::from_secs(15),
            lenses: LensSettings::default(),
            skill_vectors: SkillVectors::default(),
            public_url: None,
            evidence_pages: BTreeMap::new(),
            pins: Pins::default(),
            notifications: NotificationSettings::default(),
        }
    }
}
