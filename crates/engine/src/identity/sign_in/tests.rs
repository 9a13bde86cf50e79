//! Sign-in over a real store and real signatures, with a scripted token endpoint.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use charter_contract::bounds::CONSOLE_SESSIONS;
use charter_contract::identity::Rights;
use charter_contract::ids::TenantId;
use charter_domain::clock::Clock;
use charter_effects::{
    AuthorizationRequest, BoundClient, ClientAuth, ClientRegistration, IssuerOptions, OAuthClient,
    PlainHttp, ServerLocation, TokenAlgorithm, TokenGrant, TokenSet,
};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::clock::SimulatedClock;
use charter_testkit::issuer::{IssuerServer, TokenKey};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::ground::credentials::CredentialSettings;
use crate::ground::ids::RandomIds;
use crate::identity::credentials::CredentialPorts;
use crate::{
    AccessScopes, CatalogueRole, Claim, ClaimGrant, Provider, Role, SkillGrants, Tenancy, Tier,
};

const BASE: &str = "https://charter.example";
const RECHECK: Duration = Duration::from_secs(300);

/// Issues an ID token for the nonce that a code names, and for each refresh token.
struct TokenEndpoint {
    key: TokenKey,
    issuer: String,
    clock: SimulatedClock,
    requests: Mutex<Vec<String>>,
    revoked: Mutex<Vec<String>>,
    /// The failure of refreshes, if they fail.
    fails: Mutex<Option<OAuthFault>>,
    /// Claims of the next tokens.
    claims: Mutex<Value>,
}

impl TokenEndpoint {
    fn id_token(&self, nonce: Option<&str>) -> String {
        let now = self.clock.now().as_micros() / 1_000_000;
        let mut claims = json!({
            "iss": self.issuer, "aud": "console", "sub": "mia", "exp": now + 600, "org": "acme",
            "groups": ["admins"],
        });
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        for (claim, value) in self.claims.lock().unwrap().as_object().unwrap() {
            claims[claim] = value.clone();
        }
        self.key.sign(&claims).unwrap()
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// The time by the machine's clock, by which signatures are checked. The simulated clock begins there.
fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

#[async_trait]
impl AuthorizationServers for TokenEndpoint {
    async fn authorization_url(
        &self,
        _: &OAuthClient,
        request: &AuthorizationRequest,
    ) -> Result<String, OAuthFailure> {
        let nonce = request.nonce.as_deref().unwrap_or_default();
        Ok(format!("{nonce} {}", request.state))
    }

    async fn bind_client(&self, _: &OAuthClient, _: &str) -> Result<BoundClient, OAuthFailure> {
        panic!("the client of sign-in is registered")
    }

    async fn request_token(
        &self,
        _: &OAuthClient,
        grant: &TokenGrant,
    ) -> Result<TokenSet, OAuthFailure> {
        let (what, id_token) = match grant {
            TokenGrant::AuthorizationCode { code, .. } => {
                ("code".to_owned(), self.id_token(Some(code)))
            }
            TokenGrant::Refresh { refresh_token } => {
                if let Some(fault) = *self.fails.lock().unwrap() {
                    return Err(OAuthFailure::new(fault, "no"));
                }
                (refresh_token.clone(), self.id_token(None))
            }
            TokenGrant::ClientCredentials | TokenGrant::Exchange { .. } => {
                panic!("sign-in makes no such request")
            }
        };
        let mut requests = self.requests.lock().unwrap();
        requests.push(what);
        Ok(TokenSet {
            access_token: "at-secret".to_owned(),
            expires_in: Some(RECHECK),
            refresh_token: Some(format!("rt-secret-{}", requests.len())),
            scope: None,
            id_token: Some(id_token),
        })
    }

    async fn revoke_token(&self, _: &OAuthClient, token: &str) -> Result<(), OAuthFailure> {
        self.revoked.lock().unwrap().push(token.to_owned());
        Ok(())
    }

    async fn sign_out_url(
        &self,
        _: &OAuthClient,
        back_to: &str,
    ) -> Result<Option<String>, OAuthFailure> {
        Ok(Some(format!("{}/out?to={back_to}", self.issuer)))
    }
}

struct Rig {
    service: Arc<SignInService>,
    endpoint: Arc<TokenEndpoint>,
    clock: SimulatedClock,
    store: Arc<SqliteStore>,
    tasks: TaskTracker,
    dir: tempfile::TempDir,
    _issuer: IssuerServer,
}

fn provider(issuer: &str) -> Provider {
    let rights = Rights {
        role: Role::Admin,
        tier: Tier::Basic,
        catalogue: CatalogueRole::Admin,
        agent_skills: SkillGrants::All,
        scopes: AccessScopes::All,
        profile: None,
    };
    let minute = Duration::from_secs(60);
    Provider {
        issuer: IssuerOptions {
            issuer: issuer.to_owned(),
            audiences: vec!["charter".to_owned()],
            jwks_url: None,
            algorithms: vec![TokenAlgorithm::EdDsa],
            leeway: minute,
            max_age: minute,
            stale: minute,
            refresh: Duration::ZERO,
            timeout: minute,
        },
        tenancy: Tenancy::Claimed {
            claim: Claim::new("org".to_owned()),
            tenants: [TenantId::parse("acme").unwrap()].into(),
        },
        user: Claim::new("sub".to_owned()),
        grants: vec![ClaimGrant {
            when: Some((Claim::new("groups".to_owned()), "admins".to_owned())),
            rights,
        }],
        scopes: Vec::new(),
        console: Some(ConsoleClient {
            label: "Example".to_owned(),
            client: OAuthClient {
                server: ServerLocation::Discovered {
                    issuer: issuer.to_owned(),
                },
                registration: ClientRegistration::Configured,
                client_id: "console".to_owned(),
                client_secret: None,
                client_auth: ClientAuth::Basic,
                scopes: vec!["openid".to_owned()],
                resource: None,
                parameters: BTreeMap::new(),
                egress: Vec::new(),
                plain_http: PlainHttp::Loopback,
                timeout: OAuthClient::TIMEOUT,
            },
        }),
    }
}

fn rig() -> Rig {
    let key = TokenKey::ed25519("one").unwrap();
    let issuer = IssuerServer::start(vec![key.public().unwrap()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap());
    let clock = SimulatedClock::at(Timestamp::from_micros(now_s() * 1_000_000).unwrap());
    let endpoint = Arc::new(TokenEndpoint {
        key,
        issuer: issuer.issuer(),
        clock: clock.clone(),
        requests: Mutex::default(),
        revoked: Mutex::default(),
        fails: Mutex::default(),
        claims: Mutex::new(json!({})),
    });
    let tasks = TaskTracker::new();
    let core = CorePorts {
        store: Arc::<SqliteStore>::clone(&store),
        clock: Arc::new(clock.clone()),
        ids: Arc::new(RandomIds),
    };
    let background = BackgroundTasks {
        shutdown: CancellationToken::new(),
        tasks: tasks.clone(),
    };
    let keys = Some(SealingKeys::new([1; 32], Vec::new()));
    let servers: Arc<dyn AuthorizationServers> = Arc::<TokenEndpoint>::clone(&endpoint);
    let credentials = CredentialPorts {
        core: core.clone(),
        background: background.clone(),
        news: Arc::new(Notify::new()),
        servers: Arc::clone(&servers),
    };
    let credentials = CredentialService::new(credentials, &CredentialSettings::default());
    let service = SignInService::new(SignInParts {
        core,
        background,
        servers,
        providers: Arc::new(Providers::new(vec![provider(&issuer.issuer())]).unwrap()),
        credentials: Arc::new(credentials),
        keys,
        settings: ConsoleSessionSettings::default(),
    });
    Rig {
        service: Arc::new(service),
        endpoint,
        clock,
        store,
        tasks,
        dir,
        _issuer: issuer,
    }
}

impl Rig {
    /// A started sign-in: the secret of the browser, and the parameters of the redirect.
    async fn started(&self) -> (SessionSecret, ConnectionCode) {
        let started = self.service.start(BASE, SignInOrder::default()).await;
        let started = started.unwrap();
        let redirect = "https://charter.example/console/signed-in";
        assert_eq!(started.start.redirect_uri, redirect);
        let (nonce, state) = started.start.authorization_url.split_once(' ').unwrap();
        let code = ConnectionCode {
            code: nonce.to_owned(),
            state: state.to_owned(),
            iss: None,
        };
        (started.browser, code)
    }

    async fn signed_in(&self, before: Option<&SessionSecret>) -> SessionSecret {
        let (browser, code) = self.started().await;
        let opened = self.service.complete(&browser, before, code).await;
        opened.unwrap().id
    }

    async fn user(&self, id: &SessionSecret) -> Result<String, ErrorCode> {
        let caller = self.service.caller_of_session(id, SessionUse::Request);
        let caller = caller.await.map_err(|error| error.code)?;
        Ok(format!("{} of {}", caller.user, caller.tenant))
    }

    async fn wait_for_renewals(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds)).unwrap();
    }
}

const MIA: Result<&str, ErrorCode> = Ok("mia of acme");

fn as_text(user: &Result<String, ErrorCode>) -> Result<&str, ErrorCode> {
    user.as_deref().map_err(|code| *code)
}

#[tokio::test]
async fn a_user_signs_in_with_the_rights_of_the_claims() {
    let rig = rig();
    let options = rig.service.options().providers;
    assert_eq!(options.len(), 1);
    assert_eq!(options[0].label, "Example");
    let id = rig.signed_in(None).await;
    let caller = rig
        .service
        .caller_of_session(&id, SessionUse::Request)
        .await;
    assert_eq!(caller.unwrap().role, Role::Admin);
    let shown = rig.service.show(&id).await.unwrap();
    assert!(id.has_page_token(&shown.page_token));
    let unknown = SessionSecret::draw().unwrap();
    assert_eq!(rig.user(&unknown).await, Err(ErrorCode::Unauthenticated));
}

/// A user who follows a link with another user's code and state is not signed in to that user's session.
#[tokio::test]
async fn a_sign_in_is_completed_by_the_browser_that_started_it_in_time() {
    let rig = rig();
    let (browser, code) = rig.started().await;
    let other = SessionSecret::draw().unwrap();
    let late = code.clone();
    let refused = rig.service.complete(&other, None, code).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidRequest);
    let made_up = ConnectionCode {
        state: "made-up".to_owned(),
        ..late.clone()
    };
    assert!(rig.service.complete(&browser, None, made_up).await.is_err());
    rig.pass(601);
    assert!(rig.service.complete(&browser, None, late).await.is_err());
    assert_eq!(rig.endpoint.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn an_id_token_for_another_request_or_without_access_opens_no_session() {
    let rig = rig();
    for (claims, code) in [
        (json!({"nonce": "another"}), ErrorCode::Unauthenticated),
        (json!({"aud": "other"}), ErrorCode::Unauthenticated),
        (json!({"org": "umbra"}), ErrorCode::Unauthenticated),
        (json!({"groups": []}), ErrorCode::PermissionDenied),
    ] {
        *rig.endpoint.claims.lock().unwrap() = claims.clone();
        let (browser, parameters) = rig.started().await;
        let refused = rig.service.complete(&browser, None, parameters).await;
        assert_eq!(refused.unwrap_err().code, code, "{claims}");
    }
}

/// A session id that someone else put into the browser does not survive the sign-in (session fixation).
#[tokio::test]
async fn a_sign_in_makes_a_new_session_id_and_ends_the_old_session() {
    let rig = rig();
    let first = rig.signed_in(None).await;
    let second = rig.signed_in(Some(&first)).await;
    assert_ne!(first, second);
    assert_eq!(rig.user(&first).await, Err(ErrorCode::Unauthenticated));
    assert_eq!(as_text(&rig.user(&second).await), MIA);
}

/// The new tokens of a user may depend on the old ones at the provider. A session of another user leaves no valid
/// refresh token there.
#[tokio::test]
async fn the_tokens_of_a_replaced_session_of_another_user_are_revoked() {
    let rig = rig();
    let first = rig.signed_in(None).await;
    let second = rig.signed_in(Some(&first)).await;
    *rig.endpoint.claims.lock().unwrap() = json!({"sub": "noa"});
    rig.signed_in(Some(&second)).await;
    rig.wait_for_renewals().await;
    assert_eq!(*rig.endpoint.revoked.lock().unwrap(), ["rt-secret-2"]);
}

#[tokio::test]
async fn the_tokens_of_sessions_beyond_the_limit_are_revoked() {
    let rig = rig();
    for _ in 0..CONSOLE_SESSIONS + 2 {
        rig.signed_in(None).await;
        rig.pass(1);
    }
    rig.wait_for_renewals().await;
    let mut revoked = rig.endpoint.revoked.lock().unwrap().clone();
    revoked.sort();
    assert_eq!(revoked, ["rt-secret-1", "rt-secret-2"]);
}

#[tokio::test]
async fn a_session_ends_unused_and_at_its_longest() {
    let rig = rig();
    let unused = rig.signed_in(None).await;
    let checked = rig.signed_in(None).await;
    let used = rig.signed_in(None).await;
    for _ in 0..2 {
        rig.pass(1_900);
        assert_eq!(as_text(&rig.user(&used).await), MIA);
        let check = rig.service.caller_of_session(&checked, SessionUse::Check);
        drop(check.await);
    }
    // An open stream does not prolong a session.
    for ended in [&unused, &checked] {
        assert_eq!(rig.user(ended).await, Err(ErrorCode::Unauthenticated));
    }
    for _ in 0..22 {
        rig.pass(1_900);
        drop(rig.user(&used).await);
    }
    assert_eq!(rig.user(&used).await, Err(ErrorCode::Unauthenticated));
}

/// Claims that expired are renewed once for all requests, and a changed claim counts.
#[tokio::test]
async fn expired_claims_are_renewed_before_they_count() {
    let rig = rig();
    let id = rig.signed_in(None).await;
    rig.pass(700);
    let requests = (0..4).map(|_| rig.user(&id));
    for user in join_all(requests).await {
        assert_eq!(as_text(&user), MIA);
    }
    assert_eq!(rig.endpoint.requests(), ["code", "rt-secret-1"]);
}

/// A user whom the provider takes out of a group loses access within the time between two checks.
#[tokio::test]
async fn a_renewal_in_the_background_brings_new_claims() {
    let rig = rig();
    let id = rig.signed_in(None).await;
    *rig.endpoint.claims.lock().unwrap() = json!({"groups": []});
    rig.pass(301);
    assert_eq!(as_text(&rig.user(&id).await), MIA);
    rig.wait_for_renewals().await;
    assert_eq!(rig.user(&id).await, Err(ErrorCode::PermissionDenied));
}

#[tokio::test]
async fn a_provider_that_refuses_a_renewal_ends_the_session() {
    let rig = rig();
    let id = rig.signed_in(None).await;
    *rig.endpoint.fails.lock().unwrap() = Some(OAuthFault::Refused);
    rig.pass(700);
    assert_eq!(rig.user(&id).await, Err(ErrorCode::Unauthenticated));
    *rig.endpoint.fails.lock().unwrap() = None;
    assert_eq!(rig.user(&id).await, Err(ErrorCode::Unauthenticated));
}

#[tokio::test]
async fn claims_count_until_they_expire_while_the_provider_does_not_answer() {
    let rig = rig();
    let id = rig.signed_in(None).await;
    *rig.endpoint.fails.lock().unwrap() = Some(OAuthFault::Unavailable);
    rig.pass(301);
    assert_eq!(as_text(&rig.user(&id).await), MIA);
    rig.wait_for_renewals().await;
    assert_eq!(as_text(&rig.user(&id).await), MIA);
    rig.pass(300);
    assert_eq!(rig.user(&id).await, Err(ErrorCode::Unavailable));
    *rig.endpoint.fails.lock().unwrap() = None;
    assert_eq!(as_text(&rig.user(&id).await), MIA);
}

#[tokio::test]
async fn a_renewal_for_another_user_ends_the_session() {
    let rig = rig();
    let id = rig.signed_in(None).await;
    *rig.endpoint.claims.lock().unwrap() = json!({"sub": "ben"});
    rig.pass(700);
    assert_eq!(rig.user(&id).await, Err(ErrorCode::Unauthenticated));
}

#[tokio::test]
async fn a_sign_out_ends_the_session_and_revokes_its_tokens() {
    let rig = rig();
    let id = rig.signed_in(None).await;
    let ended = rig.service.end(&id, BASE).await.unwrap();
    let url = ended.sign_out_url.unwrap();
    assert!(
        url.ends_with("/out?to=https://charter.example/console/"),
        "{url}"
    );
    assert_eq!(*rig.endpoint.revoked.lock().unwrap(), ["rt-secret-1"]);
    assert_eq!(rig.user(&id).await, Err(ErrorCode::Unauthenticated));
    let again = rig.service.end(&id, BASE).await.unwrap();
    assert_eq!(again.sign_out_url, None);
}

/// A copy of the database opens no session, and has no token.
#[tokio::test]
async fn neither_the_id_nor_a_token_of_a_session_is_stored_in_the_clear() {
    let rig = rig();
    let id = rig.signed_in(None).await;
    assert_eq!(as_text(&rig.user(&id).await), MIA);
    for file in std::fs::read_dir(rig.dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for secret in [id.reveal(), "rt-secret", "at-secret"] {
            let found = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{secret}");
        }
    }
    drop(rig.store);
}
