//! The configuration. Flags override the environment, which overrides the file, which overrides the defaults.

mod a2a;
mod approvals;
mod auth;
mod credentials;
mod evidence;
mod file;
mod installed;
mod mcp;
mod models;
mod notifications;
mod paths;
mod quotas;
mod remote;
mod replica;
mod search;
mod server_list;
mod skill_index;
mod store;
mod telemetry;
mod webhooks;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_contract::ids::{Label, TenantId};
use charter_embed::fetch::MODEL_DIRECTORY;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::platform::HOME;

pub(crate) use a2a::A2aConfig;
pub(crate) use approvals::ApprovalsConfig;
pub(crate) use auth::{AuthConfig, ConsoleClientConfig, GrantConfig, OidcConfig};
pub(crate) use credentials::{
    ClientAuthConfig, CredentialConfig, CredentialKindConfig, CredentialsConfig, StaticSecretConfig,
};
pub(crate) use evidence::EvidenceConfig;
use file::ConfigFile;
use installed::installed_model;
pub(crate) use mcp::{
    McpConfig, McpCredentialConfig, McpListingConfig, McpServerConfig, RegistryConfig,
};
pub(crate) use models::{
    ApiConfig, ModelsConfig, ProviderConfig, StructuredConfig, TemperatureConfig,
    TenantModelsConfig, TokenLimitConfig,
};
pub(crate) use notifications::{
    ChannelConfig, ChannelKindConfig, NotificationsConfig, PersonConfig, RuleConfig,
    SmtpSecurityConfig,
};
use paths::{FilePath, Located, ProgramPath};
use quotas::QuotasConfig;
pub(crate) use remote::{PlainHttpConfig, SecretConfig};
pub(crate) use replica::{ReplicaConfig, ReplicaRole};
pub(crate) use search::{SearchConfig, SearchProviderConfig};
pub(crate) use server_list::ServerList;
pub(crate) use skill_index::SkillIndexConfig;
pub(crate) use store::StoreConfig;
pub(crate) use telemetry::TelemetryConfig;
pub(crate) use webhooks::{SystemConfig, WebhooksConfig};

/// The variable that names the configuration file, as `--config` does.
pub(crate) const CONFIG_VARIABLE: &str = "CHARTER_CONFIG";

/// Variables of the AWS tools whose values are locations, not secrets.
const NOT_SECRET: [&str; 7] = [
    "AWS_CONFIG_FILE",
    "AWS_DEFAULT_OUTPUT",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SHARED_CREDENTIALS_FILE",
];

/// Shortest and longest lease of an executor, in milliseconds.
const LEASE_MS: std::ops::RangeInclusive<u64> = 1_000..=600_000;

/// The port on which a server listens by default.
const DEFAULT_PORT: u16 = 7407;

/// All settings of the operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The data directory. With `store.url` it holds only this machine's own data: keys, the model and the sandbox.
    #[schemars(with = "FilePath")]
    pub(crate) data_dir: PathBuf,
    /// Where everything is stored.
    pub(crate) store: StoreConfig,
    /// The role of this process among the replicas over the same store.
    pub(crate) replica: ReplicaConfig,
    /// The address on which the server listens.
    #[schemars(with = "String")]
    pub(crate) listen: SocketAddr,
    /// The server to which commands send requests; if absent, they open the data directory.
    pub(crate) server: Option<String>,
    /// The API key that commands send to that server.
    pub(crate) api_key: Option<String>,
    /// The embedding model.
    pub(crate) model: ModelConfig,
    /// The credentials that are accepted.
    pub(crate) auth: AuthConfig,
    /// Limits of the server.
    pub(crate) limits: LimitsConfig,
    /// Quotas of tenants.
    pub(crate) quotas: QuotasConfig,
    /// Grants of tools.
    pub(crate) tools: ToolsConfig,
    /// The credentials that tools act with; none by default.
    pub(crate) credentials: CredentialsConfig,
    /// How requests are answered.
    pub(crate) requests: RequestsConfig,
    /// How memories are kept.
    pub(crate) memory: MemoryConfig,
    /// Rules for approvals.
    pub(crate) approvals: ApprovalsConfig,
    /// Settings of missions.
    pub(crate) missions: MissionsConfig,
    /// How evidence is signed and how long its payloads are kept.
    pub(crate) evidence: EvidenceConfig,
    /// How this installation presents itself to other agents (A2A).
    pub(crate) a2a: A2aConfig,
    /// How lenses are fetched.
    pub(crate) lenses: LensesConfig,
    /// The MCP servers whose tools are imported.
    pub(crate) mcp: McpConfig,
    /// The language models, and which route leads to which.
    pub(crate) models: ModelsConfig,
    /// The provider of web searches for `charter.web.search`; none by default.
    pub(crate) search: SearchConfig,
    /// The index of agent skills on a search node; none by default.
    pub(crate) skill_index: SkillIndexConfig,
    /// The systems of record to which missions' proposals may be sent; none by default.
    pub(crate) webhooks: WebhooksConfig,
    /// Channels that reach people, and the rules that send events to them; none by default.
    pub(crate) notifications: NotificationsConfig,
    /// Traces and metrics for an OpenTelemetry collector; none by default.
    pub(crate) telemetry: TelemetryConfig,
    /// The log filter, e.g. `info` or `warn,charter_engine=debug`.
    pub(crate) log: String,
}

/// The embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelConfig {
    /// Where vectors come from.
    pub(crate) source: ModelKind,
    /// A directory that already holds the model's files.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) directory: Option<PathBuf>,
    /// The directory for a fetched model. If absent: `models` in the data directory. A model that a package installed is
    /// used unless one was fetched there.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) cache: Option<PathBuf>,
    /// Base URL of an OpenAI-compatible API, for a remote model.
    pub(crate) base_url: Option<String>,
    /// The remote model's name.
    pub(crate) name: Option<String>,
    /// The remote model's dimensions.
    pub(crate) dims: Option<usize>,
    /// Name of the environment variable that holds the remote API's key.
    pub(crate) api_key_variable: Option<String>,
    /// Prefix that the remote model expects on queries, for example `query: `. Vectors are stored by model, name and
    /// prefixes; after a change, run `charter reindex`.
    pub(crate) query_prefix: String,
    /// Prefix that the remote model expects on documents, for example `passage: `.
    pub(crate) document_prefix: String,
}

/// Where vectors come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelKind {
    /// all-MiniLM-L6-v2 in this process.
    Local,
    /// An OpenAI-compatible API.
    Remote,
    /// None: routing compares words only.
    None,
}

/// Limits of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    /// Largest body, in bytes.
    pub(crate) body_bytes: usize,
    /// Timeout of a request that is not streamed, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// Concurrent requests and open streams. Callers share them: one credential gets a quarter at most.
    pub(crate) concurrency: usize,
    /// Concurrent connections. A further connection closes the one for whose client the server has waited longest.
    pub(crate) connections: usize,
    /// Timeout for the head of a request, in milliseconds.
    pub(crate) header_ms: u64,
    /// Timeout for the body of a request, in milliseconds; plus eight seconds for each MiB of the body.
    pub(crate) body_ms: u64,
    /// Largest database file, in bytes.
    pub(crate) storage_bytes: Option<u64>,
}

/// Settings of missions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MissionsConfig {
    /// How long a worker's pass gives access to data, in seconds.
    pub(crate) pass_ttl_s: u64,
}

impl Default for MissionsConfig {
    fn default() -> Self {
        Self { pass_ttl_s: 3_600 }
    }
}

/// Grants of tools. A tool gets a resource only if the tool requests it and it is listed here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolsConfig {
    /// The Python interpreter; point it at a virtual environment to give tools its libraries.
    #[schemars(with = "ProgramPath")]
    pub(crate) python: PathBuf,
    /// Names of environment variables that tools may be granted.
    pub(crate) environment: Vec<String>,
    /// Variables among them whose values are not secrets, such as a region or a profile. The values of all others are
    /// removed from tools' results.
    pub(crate) plain: Vec<String>,
    /// Hosts that tools with network access may reach in addition to their own lists, e.g. `127.0.0.1:5005`.
    pub(crate) egress: Vec<String>,
    /// Addresses in place of those that packages name in the URLs of HTTP tools, by a name of the operator's.
    pub(crate) servers: BTreeMap<Label, ToolServerConfig>,
    /// Whether to run scripts on a kernel that cannot confine their access to files.
    pub(crate) require_confinement: bool,
    /// Concurrent tool calls.
    pub(crate) concurrency: usize,
    /// Where tools whose `execution_target` is `client` run.
    pub(crate) client_tools: ClientToolsConfig,
    /// How long an executor's lease on a call lasts without a renewal, in milliseconds; 1000 to 600000.
    pub(crate) executor_lease_ms: u64,
    /// Grants of the built-in tools, for every tenant; nothing by default.
    pub(crate) builtin: BuiltinConfig,
    /// Grants of tenants, in place of `environment`, `egress`, `servers` and `builtin`.
    pub(crate) tenants: BTreeMap<TenantId, TenantToolsConfig>,
}

/// Grants of a tenant. A setting that is absent here is that of all tenants.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantToolsConfig {
    /// Environment variables that its tools may be granted: the name that tools request, and the name of the server's
    /// variable with the value.
    pub(crate) environment: Option<BTreeMap<String, String>>,
    /// Hosts that its tools with network access may reach in addition to their own lists.
    pub(crate) egress: Option<Vec<String>>,
    /// Addresses in place of those that packages name in the URLs of its HTTP tools.
    pub(crate) servers: Option<BTreeMap<Label, ToolServerConfig>>,
    /// Grants of the built-in tools.
    pub(crate) builtin: Option<BuiltinConfig>,
}

/// The address of a server, in place of the one that packages name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolServerConfig {
    /// The beginning of the URLs of HTTP tools, as their documents write it, e.g. `https://api.github.com`.
    pub(crate) url: String,
    /// The address in its place, e.g. `https://git.example.com/api/v3`. Tools may reach its host.
    pub(crate) address: String,
}

/// Where tools whose `execution_target` is `client` run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientToolsConfig {
    /// On the server, like all others.
    Here,
    /// On a `charter executor` of the tenant.
    Executor,
}

/// Grants of the built-in tools.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BuiltinConfig {
    /// Directories for file tools and commands, by the name that calls use.
    pub(crate) roots: BTreeMap<String, RootConfig>,
    /// Names of environment variables that `env.get` returns. Their values appear in journals and answers, so list no
    /// secrets.
    pub(crate) environment: Vec<String>,
    /// Hosts that `net.get` and `net.request` may reach.
    pub(crate) hosts: Vec<String>,
    /// Programs that `command.run` may run, by the name that calls use.
    pub(crate) commands: BTreeMap<String, CommandConfig>,
}

/// A directory that built-in tools work in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootConfig {
    /// The directory's path.
    #[schemars(with = "FilePath")]
    pub(crate) path: PathBuf,
    /// The access that tools have to it.
    #[serde(default)]
    pub(crate) access: AccessConfig,
}

/// The access that tools have to a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AccessConfig {
    /// Read files.
    #[default]
    Read,
    /// Read and change files.
    Write,
}

/// A program that `command.run` may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandConfig {
    /// The program's file, as a path.
    #[schemars(with = "ProgramPath")]
    pub(crate) program: PathBuf,
    /// Arguments that come before those of the call.
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
}

/// How requests are answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RequestsConfig {
    /// The persona of requests without one.
    pub(crate) persona: String,
    /// How many skills a broad verdict runs.
    pub(crate) broad_skills: usize,
    /// How long the tags of a request are kept, in seconds.
    pub(crate) tags_ttl_s: u64,
    /// How long a session lives after its last turn, in seconds.
    pub(crate) session_ttl_s: u64,
    /// How long finished runs and requests are kept, in days.
    pub(crate) retention_days: u64,
}

/// How memories are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MemoryConfig {
    /// How long a memory is kept after its last version, in days, times its importance divided by ten. A memory of
    /// importance 10 is kept for ever.
    pub(crate) retention_days: u64,
    /// How long a proposal waits for a decision, in days.
    pub(crate) proposal_days: u64,
    /// The most memories that a tenant may have.
    pub(crate) most: u64,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            retention_days: 730,
            proposal_days: 30,
            most: 100_000,
        }
    }
}

/// How lenses are fetched and split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LensesConfig {
    /// Private addresses, and hosts with ports other than 80 and 443, from which sources may be fetched, e.g.
    /// `10.0.0.0/8` or `docs.example.com:8443`. The public web is always allowed.
    pub(crate) egress: Vec<String>,
    /// Largest source, in bytes.
    pub(crate) max_bytes: usize,
    /// Timeout of fetching one source, in seconds.
    pub(crate) timeout_s: u64,
    /// How many tokens of the previous passage a passage repeats; passages have 512.
    pub(crate) overlap_tokens: usize,
    /// How often the server checks linked sources for changes, in seconds; never if absent.
    pub(crate) refresh_s: Option<u64>,
}

impl Default for LensesConfig {
    fn default() -> Self {
        Self {
            egress: Vec::new(),
            max_bytes: 32 << 20,
            timeout_s: 60,
            overlap_tokens: 64,
            refresh_s: None,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: default_data_dir(),
            store: StoreConfig::default(),
            replica: ReplicaConfig::default(),
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            server: None,
            api_key: None,
            model: ModelConfig::default(),
            auth: AuthConfig::default(),
            limits: LimitsConfig::default(),
            quotas: QuotasConfig::default(),
            tools: ToolsConfig::default(),
            credentials: CredentialsConfig::default(),
            requests: RequestsConfig::default(),
            memory: MemoryConfig::default(),
            approvals: ApprovalsConfig::default(),
            missions: MissionsConfig::default(),
            evidence: EvidenceConfig::default(),
            a2a: A2aConfig::default(),
            lenses: LensesConfig::default(),
            mcp: McpConfig::default(),
            models: ModelsConfig::default(),
            search: SearchConfig::default(),
            skill_index: SkillIndexConfig::default(),
            webhooks: WebhooksConfig::default(),
            notifications: NotificationsConfig::default(),
            telemetry: TelemetryConfig::default(),
            log: "warn".to_owned(),
        }
    }
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            source: ModelKind::Local,
            directory: None,
            cache: None,
            base_url: None,
            name: None,
            dims: None,
            api_key_variable: None,
            query_prefix: String::new(),
            document_prefix: String::new(),
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            timeout_ms: 120_000,
            concurrency: 512,
            connections: 4_096,
            header_ms: 10_000,
            body_ms: 30_000,
            storage_bytes: None,
        }
    }
}

impl LimitsConfig {
    /// Refuses limits under which the server could answer no request.
    fn check(&self) -> anyhow::Result<()> {
        let connections = u64::try_from(self.connections).unwrap_or(u64::MAX);
        let concurrency = u64::try_from(self.concurrency).unwrap_or(u64::MAX);
        for (setting, value) in [
            ("concurrency", concurrency),
            ("connections", connections),
            ("header_ms", self.header_ms),
            ("body_ms", self.body_ms),
        ] {
            if value == 0 {
                bail!("limits.{setting} = 0: must be more than 0, or no request is answered");
            }
        }
        Ok(())
    }
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self {
            python: PathBuf::from("python3"),
            environment: Vec::new(),
            plain: NOT_SECRET.map(str::to_owned).to_vec(),
            egress: Vec::new(),
            servers: BTreeMap::new(),
            require_confinement: true,
            concurrency: 16,
            client_tools: ClientToolsConfig::Here,
            executor_lease_ms: 15_000,
            builtin: BuiltinConfig::default(),
            tenants: BTreeMap::new(),
        }
    }
}

impl Default for RequestsConfig {
    fn default() -> Self {
        Self {
            persona: "operator".to_owned(),
            broad_skills: 3,
            tags_ttl_s: 3_600,
            session_ttl_s: 24 * 3_600,
            retention_days: 30,
        }
    }
}

/// The values of command-line flags that override the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    pub(crate) file: Option<PathBuf>,
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) store: Option<String>,
    pub(crate) role: Option<ReplicaRole>,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) server: Option<String>,
}

impl Flags {
    /// The configuration file for a command that writes to it, which need not exist yet.
    ///
    /// # Errors
    /// When no file is named and there is no home for the default one.
    pub(crate) fn file_to_write(&self) -> anyhow::Result<PathBuf> {
        let file = self.file.clone().or_else(default_file);
        file.context("no configuration file is named: use --config FILE")
    }
}

impl Config {
    /// Reads the configuration: defaults, then the file, then `CHARTER_…` (with `__` between levels, e.g.
    /// `CHARTER_MODEL__SOURCE`), then flags. Paths in the file are relative to the file.
    pub(crate) fn load(flags: &Flags) -> anyhow::Result<Self> {
        let defaults =
            config::Config::try_from(&Self::default()).context("reading the defaults")?;
        let mut builder = config::Config::builder().add_source(defaults);
        if let Some(file) = config_file(flags) {
            let source = ConfigFile(file.clone());
            let located = Located::new(&file, source, schemars::schema_for!(Self));
            let finding = || format!("finding the configuration file {}", file.display());
            builder = builder.add_source(located.with_context(finding)?);
        }
        let environment = config::Environment::with_prefix("CHARTER")
            .prefix_separator("_")
            .separator("__")
            .list_separator(",")
            .with_list_parse_key("lenses.egress")
            .with_list_parse_key("tools.environment")
            .with_list_parse_key("tools.plain")
            .with_list_parse_key("tools.egress")
            .with_list_parse_key("tools.builtin.environment")
            .with_list_parse_key("tools.builtin.hosts")
            .try_parsing(true)
            .source(Some(variables()));
        let built = builder
            .add_source(environment)
            .build()
            .context("reading the configuration")?;
        let mut config: Self = built
            .try_deserialize()
            .context("the configuration is invalid")?;
        if let Some(data_dir) = &flags.data_dir {
            config.data_dir = data_dir.clone();
        }
        config.store.url = flags.store.clone().or(config.store.url);
        config.replica.role = flags.role.unwrap_or(config.replica.role);
        config.listen = flags.listen.unwrap_or(config.listen);
        config.server = flags.server.clone().or(config.server);
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> anyhow::Result<()> {
        let remote = (&self.model.base_url, &self.model.name, self.model.dims);
        if self.model.source == ModelKind::Remote && !matches!(remote, (Some(_), Some(_), Some(_)))
        {
            bail!("model.source = \"remote\" needs model.base_url, model.name and model.dims");
        }
        self.limits.check()?;
        self.evidence.check()?;
        self.approvals.check()?;
        let lease = self.tools.executor_lease_ms;
        if !LEASE_MS.contains(&lease) {
            let (least, most) = LEASE_MS.into_inner();
            bail!("tools.executor_lease_ms = {lease} is not between {least} and {most}");
        }
        let lease = self.replica.lease_ms;
        if !replica::LEASE_MS.contains(&lease) {
            let (least, most) = replica::LEASE_MS.into_inner();
            bail!("replica.lease_ms = {lease} is not between {least} and {most}");
        }
        if self.replica.runs == 0 {
            bail!("replica.runs = 0: must be more than 0, or no run is driven");
        }
        if self.store.standby_url.is_some() && self.store.url.is_none() {
            bail!("store.standby_url: a standby needs a database, but store.url is not set");
        }
        if self.replica.role != ReplicaRole::All && self.store.url.is_none() {
            bail!("replica.role: needs store.url: without it one process has every role");
        }
        Ok(())
    }

    /// The file with the seed of the key that signs evidence.
    pub(crate) fn evidence_key_file(&self) -> PathBuf {
        let named = self.evidence.key_file.clone();
        named.unwrap_or_else(|| self.data_dir.join("evidence.key"))
    }

    /// The file with the seed of the key that signs agent cards.
    pub(crate) fn card_key_file(&self) -> PathBuf {
        let named = self.a2a.key_file.clone();
        named.unwrap_or_else(|| self.data_dir.join("agent-card.key"))
    }

    /// The file with the key that seals connected accounts.
    pub(crate) fn credentials_key_file(&self) -> PathBuf {
        let named = self.credentials.key_file.clone();
        named.unwrap_or_else(|| self.data_dir.join("credentials.key"))
    }

    /// The directory of a model that is only read: the configured one, else an installed one if none was fetched.
    pub(crate) fn read_only_model(&self) -> Option<PathBuf> {
        if self.model.directory.is_some() {
            return self.model.directory.clone();
        }
        let fetched = self.model_cache().join(MODEL_DIRECTORY);
        if self.model.cache.is_some() || fetched.exists() {
            return None;
        }
        installed_model()
    }

    /// The directory for a fetched model.
    pub(crate) fn model_cache(&self) -> PathBuf {
        self.model
            .cache
            .clone()
            .unwrap_or_else(|| self.data_dir.join("models"))
    }
}

/// The environment without the variables that only flags and tests read.
fn variables() -> std::collections::HashMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name != CONFIG_VARIABLE && !name.starts_with("CHARTER_TEST_"))
        .collect()
}

/// The configuration file that a flag or variable names, else the default one if it exists.
fn config_file(flags: &Flags) -> Option<PathBuf> {
    let usual = || default_file().filter(|file| file.is_file());
    flags.file.clone().or_else(usual)
}

/// The default configuration file, which need not exist; none without a home.
fn default_file() -> Option<PathBuf> {
    let home = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os(HOME)?).join(".config")))?;
    Some(home.join("charter").join("config.toml"))
}

fn default_data_dir() -> PathBuf {
    let home = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os(HOME)?).join(".local/share")));
    home.unwrap_or_else(|| PathBuf::from(".")).join("charter")
}
