//! Tokens of an identity provider on this machine are accepted: with the rights granted for their claims, for their
//! tenant, until they expire.

use std::time::{SystemTime, UNIX_EPOCH};

use charter_testkit::issuer::{IssuerServer, TokenKey};
use serde_json::{Value, json};

use crate::home::{Api, Home, Server, eventually};
use crate::packages::{SKILL, backups};
use crate::playbooks::{decide, purge, settled, waiting_run_of, waiting_run_on};
use crate::service::Service;

const GRANTS: &str = r#"
[[auth.oidc.grants]]
claim = "groups"
value = "charter-admins"
role = "admin"

[[auth.oidc.grants]]
claim = "groups"
value = "charter-readers"
role = "user"
scopes = ["catalogue:read"]
"#;

struct Rig {
    provider: IssuerServer,
    key: TokenKey,
    server: Server,
    _home: Home,
}

impl Rig {
    /// A server with a configured key in addition.
    fn new() -> Self {
        let key = TokenKey::ed25519("one").unwrap();
        let provider = IssuerServer::start(vec![key.public().unwrap()]).unwrap();
        let home = Home::with_keys(&[("ann", "acme", "ann", "admin")])
            .with("CHARTER_MODEL__SOURCE", "none");
        let file = home.path("config.toml");
        let keys = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{keys}{}", configuration(&provider))).unwrap();
        Self {
            server: home.serve(),
            provider,
            key,
            _home: home,
        }
    }

    /// Claims of an admin of `acme`, with these changes.
    fn claims(&self, changed: Value) -> Value {
        let mut claims = json!({
            "iss": self.provider.issuer(), "aud": "charter", "exp": now() + 600, "sub": "mallory",
            "org": "acme", "groups": ["staff", "charter-admins"],
        });
        for (claim, value) in changed.as_object().unwrap() {
            claims[claim] = value.clone();
        }
        claims
    }

    fn with(&self, changed: Value) -> Api {
        let token = self.key.sign(&self.claims(changed)).unwrap();
        self.server.key(&token)
    }
}

fn configuration(provider: &IssuerServer) -> String {
    format!(
        "[[auth.oidc]]\nissuer = {:?}\naudiences = [\"charter\"]\ntenant_claim = \"org\"\n\
         tenants = [\"acme\", \"umbra\"]\nleeway_s = 0\nrefresh_s = 0\n{GRANTS}",
        provider.issuer()
    )
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs()
}

/// Identity, tenant and rights come from the token.
#[test]
fn a_token_lets_in_with_what_its_claims_are_granted() {
    let rig = Rig::new();
    let admin = rig.with(json!({}));
    admin.register(&backups());
    assert_eq!(
        admin.brought("skill"),
        rig.server.key("ann").brought("skill")
    );
    let made = admin
        .post("/v1/keys", &json!({"name": "ci", "role": "user"}))
        .expect(201);
    assert_eq!(made["created_by"], "mallory");

    let reader = rig.with(json!({"groups": "charter-readers"}));
    assert_eq!(reader.brought("skill"), [SKILL]);
    reader.get("/v1/runs").fails(403, "permission_denied");
    reader.get("/v1/keys").fails(403, "permission_denied");

    let other = rig.with(json!({"org": "umbra"}));
    assert_eq!(other.brought("skill"), [""; 0]);
    check_who_approves(&rig);
}

/// Ruling 33: a user of the provider has no maker. They approve another user's request but not their own; nor does a
/// key that they created.
#[track_caller]
fn check_who_approves(rig: &Rig) {
    let service = Service::start();
    let (ann, mallory) = (rig.server.key("ann"), rig.with(json!({})));
    ann.register(&purge(&service).version("1.0.0", "1.1.0"));
    let order = json!({"name": "zoe", "user": "zoe", "role": "operator"});
    let made = mallory.post("/v1/keys", &order).expect(201);
    let zoe = rig.server.key(made["secret"].as_str().unwrap());
    let can_approve = |by: &Api, run: &Value| {
        let id = run["approvals"][0]["approval_id"].as_str().unwrap();
        by.get(&format!("/v1/approvals/{id}")).expect(200)["can_approve"].clone()
    };
    let own = waiting_run_of(&mallory);
    for by in [&mallory, &zoe] {
        assert_eq!(can_approve(by, &own), false);
        decide(by, &own["approvals"][0], "approve").fails(403, "permission_denied");
    }
    let of_ann = waiting_run_on(&ann, "other");
    for (by, run) in [(&mallory, &of_ann), (&ann, &own)] {
        assert_eq!(can_approve(by, run), true);
        decide(by, &run["approvals"][0], "approve").expect(200);
        service.next().answer_with("{}");
        settled(by, run, "completed");
    }
    assert!(!service.was_called());
}

/// A token is one of several credentials: it works over MCP and A2A, beside keys, which stay valid.
#[test]
fn a_token_opens_every_protocol() {
    let rig = Rig::new();
    let admin = rig.with(json!({}));
    admin.register(&backups());
    let session = admin.open_mcp_session();
    assert!(!session.is_empty());
    let card = |api: &Api| {
        let version = [("a2a-version", "1.0")];
        let card = api.call_plainly("GET", "/a2a/v1/extendedAgentCard", &version, vec![]);
        card.status
    };
    assert_eq!(card(&admin), 200);
    let other = rig.with(json!({"aud": "other"}));
    assert_eq!(card(&other), 401);
    check_what_leads_to_the_provider(&rig, &other);
}

/// A refusal refers a client to the provider (RFC 9728), and names the fault of its token (RFC 6750).
fn check_what_leads_to_the_provider(rig: &Rig, other: &Api) {
    let anyone = &rig.server.api;
    let place = "/.well-known/oauth-protected-resource";
    for (path, resource) in [("/mcp", "/mcp"), ("/v1/runs", "")] {
        let metadata = format!("resource_metadata=\"{}{place}{resource}\"", anyone.base);
        let challenge = |api: &Api| api.header_of(path, "www-authenticate").unwrap();
        assert_eq!(challenge(anyone), format!("Bearer {metadata}"));
        let refused = format!("Bearer error=\"invalid_token\", {metadata}");
        assert_eq!(challenge(other), refused);
        let stranger = rig.with(json!({"groups": ["staff"]}));
        let refused = format!("Bearer error=\"insufficient_scope\", {metadata}");
        assert_eq!(challenge(&stranger), refused);
        let shown = anyone.get(&format!("{place}{resource}")).expect(200);
        assert_eq!(
            shown,
            json!({
                "resource": format!("{}{resource}", anyone.base),
                "authorization_servers": [rig.provider.issuer()],
                "scopes_supported": ["openid"],
                "bearer_methods_supported": ["header"],
                "resource_name": "Charter",
            })
        );
    }
    let reader = rig.with(json!({"groups": "charter-readers"}));
    let lacks = reader.header_of("/v1/runs", "www-authenticate").unwrap();
    assert!(lacks.contains("insufficient_scope"), "{lacks}");
    anyone
        .get(&format!("{place}/other"))
        .fails(404, "not_found");
}

/// Each fault of a token is reported, and the token refused.
#[test]
fn an_invalid_token_is_refused() {
    let rig = Rig::new();
    for (changed, why) in [
        (json!({"exp": now() - 1}), "expired"),
        (json!({"nbf": now() + 600}), "not valid yet"),
        (json!({"aud": "another"}), "another audience"),
        (json!({"iss": "https://id.example.com"}), "issuer"),
        (json!({"org": "global"}), "tenant"),
        (json!({"org": "nobody"}), "tenant"),
        (json!({"sub": null}), "user"),
    ] {
        let refused = rig.with(changed).get("/v1/runs");
        let said = refused.fails(401, "unauthenticated");
        assert!(said.contains(why), "{said}");
    }
    rig.with(json!({"groups": ["staff"]}))
        .get("/v1/runs")
        .fails(403, "permission_denied");
    let foreign = TokenKey::ed25519("one").unwrap();
    let forged = foreign.sign(&rig.claims(json!({}))).unwrap();
    for token in [
        forged.as_str(),
        "a.b.c",
        "..",
        "ann.",
        "eyJhbGciOiJub25lIn0.e30.",
    ] {
        let refused = rig.server.key(token).get("/v1/runs");
        refused.fails(401, "unauthenticated");
    }
    let log = rig.server.log();
    assert!(!log.contains(&forged), "a token is in the log");
}

/// A provider's key rotation is followed. While the provider does not answer, known keys stay valid, and the error for
/// a token with another key does not blame the token.
#[test]
fn the_providers_keys_are_followed() {
    let rig = Rig::new();
    rig.with(json!({})).get("/v1/runs").expect(200);
    let next = TokenKey::p256("two").unwrap();
    let token = next.sign(&rig.claims(json!({}))).unwrap();
    let newer = rig.server.key(&token);
    rig.provider.set_failing(true);
    rig.with(json!({})).get("/v1/runs").expect(200);
    newer.get("/v1/runs").fails(503, "unavailable");
    rig.provider.set_failing(false);
    rig.provider.set_keys(vec![next.public().unwrap()]);
    eventually("the new key", || {
        (newer.get("/v1/runs").status == 200).then_some(())
    });
    rig.with(json!({}))
        .get("/v1/runs")
        .fails(401, "unauthenticated");
}

/// A token is valid until it expires.
#[test]
fn a_token_ends() {
    let rig = Rig::new();
    // A slow machine may need several attempts until a token arrives before it expires.
    let (short, exp) = eventually("a token that lets in", || {
        let exp = now() + 1;
        let short = rig.with(json!({"exp": exp}));
        (short.get("/v1/runs").status == 200).then_some((short, exp))
    });
    let refused = eventually("the token's end", || {
        let asked = now();
        let answer = short.get("/v1/runs");
        // `exp` counts whole seconds, and the token is valid until that second has passed.
        assert!(answer.status != 200 || asked <= exp, "let in after `exp`");
        (answer.status != 200).then_some(answer)
    });
    let said = refused.fails(401, "unauthenticated");
    assert!(said.contains("expired"), "{said}");
}

/// With a provider no caller is anonymous any more, and invalid configuration stops the start.
#[test]
fn a_provider_is_configured_whole_or_not_at_all() {
    let provider = IssuerServer::start(vec![]).unwrap();
    let good = configuration(&provider);
    let home = Home::new().with("CHARTER_MODEL__SOURCE", "none");
    let file = home.path("config.toml");
    let home = home.with("CHARTER_CONFIG", file.to_str().unwrap());
    std::fs::write(&file, &good).unwrap();
    let server = home.serve();
    server.api.get("/v1/runs").fails(401, "unauthenticated");
    drop(server);
    for (from, to, why) in [
        ("tenants = [\"acme\", \"umbra\"]\n", "", "tenant_claim"),
        ("tenant_claim = \"org\"\n", "", "tenant_claim"),
        ("audiences = [\"charter\"]", "audiences = []", "audience"),
        (GRANTS, "grants = []", "grants"),
        ("value = \"charter-admins\"\n", "", "value"),
        ("leeway_s = 0", "algorithms = [\"HS256\"]", "HS256"),
        (
            "issuer = \"http://",
            "issuer = \"http://id.example.com/",
            "http",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        std::fs::write(&file, good.replacen(from, to, 1)).unwrap();
        let refused = home.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_ne!(refused.code, Some(0), "{to}");
        assert!(refused.err.contains(why), "{to}: {}", refused.err);
    }
}
