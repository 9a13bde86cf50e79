//! Credentials over a real store, with a scripted authorization server.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::tool::Tool;
use charter_contract::identity::Rights;
use charter_contract::link_graph::SkillGrants;
use charter_contract::validate::parse;
use charter_effects::{
    AuthorizationRequest, BoundClient, ClientAuth, ClientRegistration, OAuthClient, OAuthFailure,
    OAuthFault, PlainHttp, RegisteredClient, Secret, SecretSource, ServerLocation, StaticSecret,
    TokenGrant, TokenSet,
};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::clock::SimulatedClock;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::ground::credentials::TokenExchange;
use crate::ground::ids::RandomIds;
use crate::identity::authorization_code::ConnectionCode;
use crate::{AccessScopes, CatalogueRole, CredentialId, Tier};

/// Issues numbered tokens that name what they were issued for, and counts its requests.
#[derive(Default)]
struct ScriptedServer {
    requests: Mutex<Vec<String>>,
    revoked: Mutex<Vec<String>>,
    /// Whether refresh tokens are refused.
    refuses: Mutex<bool>,
    /// What a request for tokens waits for.
    held: Mutex<Option<Arc<Notify>>>,
}

impl ScriptedServer {
    fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl AuthorizationServers for ScriptedServer {
    async fn authorization_url(
        &self,
        _: &OAuthClient,
        request: &AuthorizationRequest,
    ) -> Result<String, OAuthFailure> {
        Ok(format!(
            "https://idp.example/authorize?state={}",
            request.state
        ))
    }

    async fn bind_client(&self, _: &OAuthClient, _: &str) -> Result<BoundClient, OAuthFailure> {
        Ok(BoundClient {
            issuer: Some("https://named.example".to_owned()),
            resource: None,
            registered: Some(RegisteredClient {
                client_id: "made-1".to_owned(),
                client_secret: None,
                client_auth: ClientAuth::Basic,
            }),
            scopes: Vec::new(),
        })
    }

    async fn request_token(
        &self,
        client: &OAuthClient,
        grant: &TokenGrant,
    ) -> Result<TokenSet, OAuthFailure> {
        let what = match grant {
            TokenGrant::ClientCredentials => "client".to_owned(),
            TokenGrant::AuthorizationCode { code, .. } => code.clone(),
            TokenGrant::Refresh { refresh_token } => format!("refreshed-{refresh_token}"),
            TokenGrant::Exchange { subject_token, .. } => format!("exchanged-{subject_token}"),
        };
        let by = match client.client_id.as_str() {
            "charter" => String::new(),
            other => format!(" by {other}"),
        };
        self.requests.lock().unwrap().push(format!("{what}{by}"));
        // Long enough for another call to come in between.
        tokio::task::yield_now().await;
        let held = self.held.lock().unwrap().clone();
        if let Some(held) = held {
            held.notified().await;
        }
        let refuses = *self.refuses.lock().unwrap();
        match grant {
            TokenGrant::Refresh { .. } if refuses => {
                Err(OAuthFailure::new(OAuthFault::Refused, "invalid_grant"))
            }
            TokenGrant::ClientCredentials
            | TokenGrant::AuthorizationCode { .. }
            | TokenGrant::Refresh { .. }
            | TokenGrant::Exchange { .. } => Ok(TokenSet {
                access_token: format!("at-{what}"),
                expires_in: Some(Duration::from_secs(300)),
                refresh_token: Some(format!("rt-{what}")),
                scope: None,
                id_token: None,
            }),
        }
    }

    async fn revoke_token(&self, _: &OAuthClient, token: &str) -> Result<(), OAuthFailure> {
        self.revoked.lock().unwrap().push(token.to_owned());
        Ok(())
    }

    async fn sign_out_url(&self, _: &OAuthClient, _: &str) -> Result<Option<String>, OAuthFailure> {
        Ok(None)
    }
}

struct Rig {
    service: Arc<CredentialService>,
    server: Arc<ScriptedServer>,
    clock: SimulatedClock,
    store: Arc<SqliteStore>,
    dir: tempfile::TempDir,
}

fn client() -> OAuthClient {
    OAuthClient {
        server: ServerLocation::Discovered {
            issuer: "https://idp.example".to_owned(),
        },
        registration: ClientRegistration::Configured,
        client_id: "charter".to_owned(),
        client_secret: None,
        client_auth: ClientAuth::Basic,
        scopes: Vec::new(),
        resource: None,
        parameters: BTreeMap::new(),
        egress: Vec::new(),
        plain_http: PlainHttp::Loopback,
        timeout: OAuthClient::TIMEOUT,
    }
}

fn definition(kind: CredentialKind, host: &str) -> CredentialDefinition {
    CredentialDefinition {
        hosts: vec![host.parse().unwrap()],
        kind,
    }
}

fn label(name: &str) -> Label {
    Label::parse(name).unwrap()
}

fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap());
    let clock = SimulatedClock::at(Timestamp::parse("2026-04-14T12:00:00Z").unwrap());
    let server = Arc::<ScriptedServer>::default();
    let exchange = TokenExchange {
        client: client(),
        subject_issuer: "https://people.example".to_owned(),
        audience: Some("files".to_owned()),
        resource: None,
    };
    let unregistered = OAuthClient {
        registration: ClientRegistration::Dynamic,
        client_id: String::new(),
        ..client()
    };
    let fixed = |value: &str| {
        CredentialKind::Static(StaticSecret::Value(Secret::new(
            value,
            SecretSource::Variable("V".to_owned()),
        )))
    };
    let tenant = BTreeMap::from([(label("fixed"), definition(fixed("of-acme"), "acme.example"))]);
    let settings = CredentialSettings {
        definitions: BTreeMap::from([
            (label("fixed"), definition(fixed("of-all"), "api.example")),
            (
                label("github"),
                definition(CredentialKind::AuthorizationCode(client()), "api.example"),
            ),
            (
                label("open"),
                definition(
                    CredentialKind::AuthorizationCode(unregistered),
                    "api.example",
                ),
            ),
            (
                label("robot"),
                definition(CredentialKind::ClientCredentials(client()), "api.example"),
            ),
            (
                label("files"),
                definition(CredentialKind::TokenExchange(exchange), "files.example"),
            ),
        ]),
        tenants: BTreeMap::from([(TenantId::parse("acme").unwrap(), tenant)]),
        keys: Some(SealingKeys::new([1; 32], Vec::new())),
        public_url: Some("https://charter.example/".to_owned()),
        plain: BTreeSet::from(["AWS_REGION".to_owned()]),
    };
    let ports = CredentialPorts {
        core: CorePorts {
            store: Arc::<SqliteStore>::clone(&store),
            clock: Arc::new(clock.clone()),
            ids: Arc::new(RandomIds),
        },
        background: BackgroundTasks {
            shutdown: CancellationToken::new(),
            tasks: TaskTracker::new(),
        },
        news: Arc::new(Notify::new()),
        servers: Arc::<ScriptedServer>::clone(&server),
    };
    Rig {
        service: Arc::new(CredentialService::new(ports, &settings)),
        server,
        clock,
        store,
        dir,
    }
}

fn caller(tenant: &str, user: &str) -> Caller {
    let rights = Rights {
        role: Role::User,
        tier: Tier::Basic,
        catalogue: CatalogueRole::Viewer,
        agent_skills: SkillGrants::All,
        scopes: AccessScopes::All,
        profile: None,
    };
    let (tenant, user) = (
        TenantId::parse(tenant).unwrap(),
        UserId::parse(user).unwrap(),
    );
    Caller::new(tenant, user, rights)
}

fn tool(credentials: &serde_json::Value) -> Tool {
    let tool = json!({
        "tool_id": "x.read", "name": "read", "provider": "x", "tool_class": "readonly", "domain": "d",
        "description": "Reads.", "language": "http", "execution_target": "server",
        "egress": ["api.example"], "credentials": credentials,
        "implementation": {"type": "http", "method": "GET", "url": "https://api.example/"},
    });
    parse::<Tool>(tool.to_string().as_bytes()).unwrap()
}

fn named(name: &str) -> Tool {
    tool(&json!([{"name": name, "variable": "TOKEN"}]))
}

impl Rig {
    /// The secret that a call of a tool with one credential gets.
    async fn secret(&self, caller: &Caller, name: &str) -> Result<String, EngineError> {
        let tool = named(name);
        let found = self
            .service
            .for_call(&caller.tenant, &caller.user, &tool)
            .await?;
        Ok(found.variables[0].1.clone())
    }

    async fn started(&self, caller: &Caller) -> String {
        let order = ConnectionOrder {
            redirect_uri: Some("http://127.0.0.1:8123/".to_owned()),
        };
        let started = self.service.connect(caller, &label("github"), order).await;
        let started = started.unwrap();
        let state = started.authorization_url.split_once("state=").unwrap().1;
        state.to_owned()
    }

    async fn completed(
        &self,
        caller: &Caller,
        state: String,
    ) -> Result<CredentialView, EngineError> {
        let code = ConnectionCode {
            code: caller.user.to_string(),
            state,
            iss: None,
        };
        self.service.complete(caller, &label("github"), code).await
    }

    async fn connected(&self, caller: &Caller) {
        let state = self.started(caller).await;
        let view = self.completed(caller, state).await.unwrap();
        assert_eq!(view.state, CredentialState::Connected);
    }
}

#[tokio::test]
async fn each_user_acts_with_the_account_that_the_user_connected() {
    let rig = rig();
    let (mia, ben) = (caller("acme", "mia"), caller("acme", "ben"));
    let refused = rig.secret(&mia, "github").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::CredentialRequired);
    let details = json!({"credential": "github", "connect_url": "https://charter.example/console/connect/github"});
    assert_eq!(refused.details, Some(details));
    rig.connected(&mia).await;
    assert_eq!(rig.secret(&mia, "github").await.unwrap(), "at-mia");
    for other in [&ben, &caller("other", "mia")] {
        let refused = rig.secret(other, "github").await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::CredentialRequired);
    }
    rig.connected(&ben).await;
    assert_eq!(rig.secret(&ben, "github").await.unwrap(), "at-ben");
    assert_eq!(rig.secret(&mia, "github").await.unwrap(), "at-mia");
}

/// A link that one user started does not connect the account of another who follows it.
#[tokio::test]
async fn a_connection_is_completed_by_the_user_who_started_it_in_time() {
    let rig = rig();
    let (mia, ben) = (caller("acme", "mia"), caller("acme", "ben"));
    let state = rig.started(&mia).await;
    for other in [&ben, &caller("other", "mia")] {
        let refused = rig.completed(other, state.clone()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
    }
    assert!(rig.completed(&mia, "made-up".to_owned()).await.is_err());
    rig.clock.advance(Duration::from_secs(601)).unwrap();
    assert!(rig.completed(&mia, state).await.is_err());
    assert_eq!(rig.server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_for_all_calls() {
    let rig = rig();
    let mia = caller("acme", "mia");
    rig.connected(&mia).await;
    rig.clock.advance(Duration::from_secs(280)).unwrap();
    let calls = (0..4).map(|_| rig.secret(&mia, "github"));
    for found in join_all(calls).await {
        assert_eq!(found.unwrap(), "at-refreshed-rt-mia");
    }
    assert_eq!(rig.server.requests(), ["mia", "refreshed-rt-mia"]);
}

/// A client that registers itself does so for each account, which stays with its registration.
#[tokio::test]
async fn an_account_is_renewed_by_the_client_that_connected_it() {
    let rig = rig();
    let (mia, open) = (caller("acme", "mia"), label("open"));
    let order = ConnectionOrder {
        redirect_uri: Some("http://127.0.0.1:8123/".to_owned()),
    };
    let started = rig.service.connect(&mia, &open, order).await.unwrap();
    let state = started.authorization_url.split_once("state=").unwrap().1;
    let code = ConnectionCode {
        code: "mia".to_owned(),
        state: state.to_owned(),
        iss: None,
    };
    rig.service.complete(&mia, &open, code).await.unwrap();
    rig.clock.advance(Duration::from_secs(280)).unwrap();
    let token = rig.secret(&mia, "open").await.unwrap();
    assert_eq!(token, "at-refreshed-rt-mia");
    assert_eq!(
        rig.server.requests(),
        ["mia by made-1", "refreshed-rt-mia by made-1"]
    );
}

/// A wait for an account ends when the account is connected.
#[tokio::test]
async fn a_call_that_lacks_an_account_waits_for_it() {
    let rig = rig();
    let (mia, github) = (caller("acme", "mia"), label("github"));
    let none = rig
        .service
        .wait_until_connected(&mia, &github, Duration::ZERO);
    assert!(!none.await.unwrap());
    let long = Duration::from_secs(60);
    let waiting = rig.service.wait_until_connected(&mia, &github, long);
    let (waited, ()) = tokio::join!(waiting, rig.connected(&mia));
    assert!(waited.unwrap());
}

#[tokio::test]
async fn a_refused_renewal_asks_the_user_again() {
    let rig = rig();
    let mia = caller("acme", "mia");
    rig.connected(&mia).await;
    rig.clock.advance(Duration::from_secs(300)).unwrap();
    *rig.server.refuses.lock().unwrap() = true;
    for _ in 0..2 {
        let refused = rig.secret(&mia, "github").await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::CredentialRequired);
    }
    // The refused token is not sent again.
    assert_eq!(rig.server.requests(), ["mia", "refreshed-rt-mia"]);
    let view = rig.service.get(&mia, &label("github")).await.unwrap();
    assert_eq!(view.state, CredentialState::Ended);
}

#[tokio::test]
async fn a_disconnected_account_is_revoked_and_refused_at_once() {
    let rig = rig();
    let (mia, ben) = (caller("acme", "mia"), caller("acme", "ben"));
    rig.connected(&mia).await;
    let github = label("github");
    let refused = rig.service.disconnect(&ben, &github, Some(&mia.user)).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::PermissionDenied);
    let view = rig.service.disconnect(&mia, &github, None).await.unwrap();
    assert_eq!(view.state, CredentialState::NotConnected);
    assert_eq!(*rig.server.revoked.lock().unwrap(), ["rt-mia"]);
    assert!(rig.secret(&mia, "github").await.is_err());
}

/// Their server would accept them for as long as they last.
#[tokio::test]
async fn tokens_that_are_issued_while_their_account_is_disconnected_are_revoked() {
    let rig = rig();
    let mia = caller("acme", "mia");
    rig.connected(&mia).await;
    rig.clock.advance(Duration::from_secs(280)).unwrap();
    let held = Arc::new(Notify::new());
    *rig.server.held.lock().unwrap() = Some(Arc::clone(&held));
    let disconnecting = async {
        while rig.server.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        let gone = rig.service.disconnect(&mia, &label("github"), None).await;
        assert_eq!(gone.unwrap().state, CredentialState::NotConnected);
        held.notify_one();
    };
    let (refused, ()) = tokio::join!(rig.secret(&mia, "github"), disconnecting);
    assert_eq!(refused.unwrap_err().code, ErrorCode::CredentialRequired);
    let revoked = rig.server.revoked.lock().unwrap().clone();
    assert_eq!(revoked, ["rt-mia", "rt-refreshed-rt-mia"]);
}

#[tokio::test]
async fn shared_secrets_are_those_of_the_tenant_and_tokens_are_reused() {
    let rig = rig();
    let (acme, other) = (caller("acme", "mia"), caller("other", "mia"));
    assert_eq!(rig.secret(&acme, "fixed").await.unwrap(), "of-acme");
    assert_eq!(rig.secret(&other, "fixed").await.unwrap(), "of-all");
    for caller in [&acme, &other] {
        assert_eq!(rig.secret(caller, "robot").await.unwrap(), "at-client");
    }
    rig.clock.advance(Duration::from_secs(290)).unwrap();
    rig.secret(&acme, "robot").await.unwrap();
    assert_eq!(rig.server.requests(), ["client", "client"]);
    let absent = rig.secret(&acme, "gitub").await.unwrap_err();
    assert_eq!(absent.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn the_token_of_the_callers_provider_is_exchanged() {
    let rig = rig();
    let with = |issuer: &str| {
        caller("acme", "mia").with_credential(CredentialId::Token {
            issuer: issuer.to_owned(),
            subject: "mia".to_owned(),
        })
    };
    let mia = with("https://people.example");
    rig.service
        .remember_token(&with("https://other.example"), "foreign")
        .await;
    assert!(rig.secret(&mia, "files").await.is_err());
    rig.service.remember_token(&mia, "sub-1").await;
    assert_eq!(
        rig.secret(&mia, "files").await.unwrap(),
        "at-exchanged-sub-1"
    );
    // After its refresh token is refused, the newest token of the provider counts.
    rig.service.remember_token(&mia, "sub-2").await;
    rig.clock.advance(Duration::from_secs(300)).unwrap();
    *rig.server.refuses.lock().unwrap() = true;
    assert_eq!(
        rig.secret(&mia, "files").await.unwrap(),
        "at-exchanged-sub-2"
    );
}

#[tokio::test]
async fn a_secret_reaches_only_hosts_that_it_is_for() {
    let rig = rig();
    let (tenant, user) = (
        TenantId::parse("other").unwrap(),
        UserId::parse("mia").unwrap(),
    );
    let hosts = async |credentials| {
        let found = rig
            .service
            .for_call(&tenant, &user, &tool(&credentials))
            .await;
        found.map(|found| found.hosts)
    };
    let api: Vec<charter_effects::HostPattern> = vec!["api.example".parse().unwrap()];
    let both = json!([{"name": "fixed", "variable": "A"}, {"name": "robot", "variable": "B"}]);
    assert_eq!(hosts(both).await.unwrap(), Some(api));
    assert_eq!(hosts(json!([])).await.unwrap(), None);
    let plain = json!([{"name": "fixed", "variable": "AWS_REGION"}]);
    assert_eq!(
        hosts(plain).await.unwrap_err().code,
        ErrorCode::InvalidDocument
    );
}

/// No token is in the database's files, nor in what is shown and announced.
#[tokio::test]
async fn no_token_is_stored_or_shown_in_the_clear() {
    let rig = rig();
    let mia = caller("acme", "mia");
    rig.connected(&mia).await;
    let listed = json!(rig.service.list(&mia).await.unwrap()).to_string();
    let told = json!(
        charter_store::outbox::Outbox::messages(&*rig.store, 0, 10)
            .await
            .unwrap()
            .iter()
            .map(|message| message.message.payload.clone())
            .collect::<Vec<_>>()
    );
    assert!(!listed.contains("at-mia") && !told.to_string().contains("at-mia"));
    for file in std::fs::read_dir(rig.dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for token in [&b"at-mia"[..], b"rt-mia"] {
            assert!(!bytes.windows(token.len()).any(|part| part == token));
        }
    }
}
