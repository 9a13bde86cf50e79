//! A user signs in to the console at an identity provider, acts with the rights of the claims, and signs out. A page of
//! another site changes nothing.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charter_testkit::http_stub::{HttpStub, Reply, Request};
use charter_testkit::issuer::TokenKey;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::home::{Answer, Home, Server};

/// An identity provider at which `mia` signs in. Its codes are the nonce and the challenge of their request, so that it
/// needs no memory: `NONCE~CHALLENGE`.
fn provider() -> HttpStub {
    let key = TokenKey::ed25519("one").unwrap();
    let public = key.public().unwrap();
    HttpStub::start(move |request, _| {
        let issuer = format!("http://{}", request.headers["host"]);
        match request.path.as_str() {
            "/.well-known/openid-configuration" => {
                let document = json!({
                    "issuer": issuer, "jwks_uri": format!("{issuer}/keys"),
                    "authorization_endpoint": format!("{issuer}/authorize"), "token_endpoint": format!("{issuer}/token"),
                    "revocation_endpoint": format!("{issuer}/revoke"), "end_session_endpoint": format!("{issuer}/out"),
                    "authorization_response_iss_parameter_supported": true,
                });
                Reply::json(200, document.to_string())
            }
            "/keys" => Reply::json(200, json!({"keys": [public]}).to_string()),
            "/token" => issued(&key, &issuer, request),
            "/revoke" => Reply::empty(200),
            _ => Reply::empty(404),
        }
    })
    .unwrap()
}

/// The tokens for a code whose challenge the verifier fits (RFC 7636, section 4.6).
fn issued(key: &TokenKey, issuer: &str, request: &Request) -> Reply {
    let form = String::from_utf8(request.bytes.clone()).unwrap();
    let form: BTreeMap<&str, &str> = form
        .split('&')
        .filter_map(|field| field.split_once('='))
        .collect();
    let (nonce, challenge) = form["code"].split_once('~').unwrap();
    let fits = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"]));
    if challenge != fits {
        return Reply::json(400, json!({"error": "invalid_grant"}).to_string());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let claims = json!({
        "iss": issuer, "aud": "console", "sub": "mia", "exp": now.as_secs() + 600, "nonce": nonce, "org": "acme",
        "groups": ["charter-admins"],
    });
    let tokens = json!({
        "access_token": "at-0123456789", "refresh_token": "rt-0123456789", "token_type": "Bearer", "expires_in": 600,
        "id_token": key.sign(&claims).unwrap(),
    });
    Reply::json(200, tokens.to_string())
}

fn home(provider: &HttpStub) -> Home {
    let text = format!(
        "[[auth.oidc]]\nissuer = {:?}\naudiences = [\"charter\"]\ntenant_claim = \"org\"\ntenants = [\"acme\"]\n\
         [auth.oidc.console]\nlabel = \"Example\"\nclient_id = \"console\"\negress = [\"{}\"]\n\
         [[auth.oidc.grants]]\nclaim = \"groups\"\nvalue = \"charter-admins\"\nrole = \"admin\"\n",
        provider.url(""),
        provider.address(),
    );
    let home = Home::new().with("CHARTER_MODEL__SOURCE", "none").embedded();
    home.configured(&text)
}

/// A browser with its cookies, on a page of the console.
struct Browser<'s> {
    server: &'s Server,
    cookies: BTreeMap<String, String>,
    /// The origin of its page.
    origin: String,
    page_token: Option<String>,
}

impl<'s> Browser<'s> {
    fn new(server: &'s Server) -> Self {
        Self {
            server,
            cookies: BTreeMap::new(),
            origin: server.api.base.clone(),
            page_token: None,
        }
    }

    fn send(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let cookies = self.cookies.iter();
        let cookies = cookies.map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let mut headers = vec![
            ("cookie", cookies.as_str()),
            ("origin", self.origin.as_str()),
        ];
        if let Some(token) = &self.page_token {
            headers.push(("x-charter-session", token.as_str()));
        }
        let body = match method {
            "GET" => Vec::new(),
            _ => body.to_string().into_bytes(),
        };
        let (answer, set) = self
            .server
            .api
            .call_with_cookies(method, path, &headers, body);
        for cookie in set {
            let (pair, attributes) = cookie.split_once("; ").unwrap();
            assert!(
                attributes.starts_with("Path=/; HttpOnly; SameSite=Strict"),
                "{cookie}"
            );
            let (name, value) = pair.split_once('=').unwrap();
            match value {
                "" => drop(self.cookies.remove(name)),
                value => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        answer
    }

    fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &Value::Null)
    }

    /// Starts a sign-in; returns the parameters with which the provider sends the browser back.
    fn start(&mut self) -> Value {
        let started = self.send("POST", "/v1/sign-in", &json!({})).expect(200);
        let redirect = format!("{}/console/signed-in", self.server.api.base);
        assert_eq!(started["redirect_uri"], redirect);
        let url = started["authorization_url"].as_str().unwrap();
        let (issuer, query) = url.split_once("/authorize?").unwrap();
        let sent: BTreeMap<&str, &str> = query
            .split('&')
            .filter_map(|one| one.split_once('='))
            .collect();
        assert_eq!(
            (sent["code_challenge_method"], sent["scope"]),
            ("S256", "openid")
        );
        let code = format!("{}~{}", sent["nonce"], sent["code_challenge"]);
        json!({"code": code, "state": sent["state"], "iss": issuer})
    }

    fn complete(&mut self, parameters: &Value) -> Answer {
        self.send("POST", "/v1/sign-in/complete", parameters)
    }

    /// Signs in; returns the id of the session.
    fn sign_in(&mut self) -> String {
        let parameters = self.start();
        let session = self.complete(&parameters).expect(200);
        assert_eq!(
            (&session["user"], &session["tenant"]),
            (&json!("mia"), &json!("acme"))
        );
        self.page_token = Some(session["page_token"].as_str().unwrap().to_owned());
        self.cookies["charter_session"].clone()
    }
}

#[test]
fn a_user_signs_in_and_only_the_page_of_the_session_changes_something() {
    let provider = provider();
    let home = home(&provider);
    let server = home.serve();
    let mut browser = Browser::new(&server);
    let options = browser.get("/v1/sign-in").expect(200);
    let expected = json!({"providers": [{"issuer": provider.url(""), "label": "Example"}]});
    assert_eq!(options, expected);
    browser.get("/v1/caller").fails(401, "unauthenticated");
    check_what_opens_no_session(&mut browser);

    let first = browser.sign_in();
    let caller = browser.get("/v1/caller").expect(200);
    assert_eq!(
        (&caller["user"], &caller["role"]),
        (&json!("mia"), &json!("admin"))
    );
    check_who_changes_something(&mut browser);

    // A sign-in makes a new session, and the old one is over.
    let second = browser.sign_in();
    assert_ne!(first, second);
    let mut old = Browser::new(&server);
    old.cookies.insert("charter_session".to_owned(), first);
    old.get("/v1/caller").fails(401, "unauthenticated");

    // A session outlives the process that opened it.
    let Browser {
        cookies,
        page_token,
        ..
    } = browser;
    server.kill();
    let server = home.serve();
    let mut browser = Browser {
        cookies,
        page_token,
        ..Browser::new(&server)
    };
    let shown = browser.get("/v1/console-session").expect(200);
    assert_eq!(shown["page_token"], browser.page_token.clone().unwrap());
    check_sign_out(&mut browser, &provider);
    assert!(!server.log().contains("rt-0123456789"));
}

/// Sign-ins from another page or browser, or with another provider's answer (RFC 9207).
#[track_caller]
fn check_what_opens_no_session(browser: &mut Browser<'_>) {
    let own = browser.origin.clone();
    browser.origin = "https://evil.example".to_owned();
    let refused = browser.send("POST", "/v1/sign-in", &json!({}));
    refused.fails(403, "permission_denied");
    browser.origin = own;
    let parameters = browser.start();
    for (name, value) in [
        ("iss", json!("https://evil.example")),
        ("iss", Value::Null),
        ("state", json!("made-up")),
    ] {
        let mut changed = parameters.clone();
        changed[name] = value;
        browser.complete(&changed).fails(400, "invalid_request");
    }
    let mut other = Browser::new(browser.server);
    other.start();
    other.complete(&parameters).fails(400, "invalid_request");
    assert!(!other.cookies.contains_key("charter_session"));
    assert!(!browser.cookies.contains_key("charter_session"));
}

/// A change needs the origin of this server and the token of the session's page.
#[track_caller]
fn check_who_changes_something(browser: &mut Browser<'_>) {
    let order = json!({"name": "ci", "role": "user"});
    let (origin, token) = (browser.origin.clone(), browser.page_token.clone());
    let other_port = "http://127.0.0.1:1";
    for (from, with) in [
        ("https://evil.example", token.clone()),
        (other_port, token.clone()),
        ("null", token.clone()),
        (origin.as_str(), None),
        (origin.as_str(), Some("made-up".to_owned())),
    ] {
        from.clone_into(&mut browser.origin);
        browser.page_token = with;
        for (method, path) in [("POST", "/v1/keys"), ("DELETE", "/v1/console-session")] {
            let refused = browser.send(method, path, &order);
            refused.fails(403, "permission_denied");
        }
    }
    (browser.origin, browser.page_token) = (origin, token);
    assert_eq!(browser.get("/v1/keys").expect(200)["entries"], json!([]));
    let made = browser.send("POST", "/v1/keys", &order).expect(201);
    assert_eq!(made["created_by"], "mia");
}

#[track_caller]
fn check_sign_out(browser: &mut Browser<'_>, provider: &HttpStub) {
    let id = browser.cookies["charter_session"].clone();
    let out = browser
        .send("DELETE", "/v1/console-session", &json!({}))
        .expect(200);
    let url = out["sign_out_url"].as_str().unwrap();
    assert!(
        url.starts_with(&provider.url("/out?client_id=console&")),
        "{url}"
    );
    assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
    browser.cookies.insert("charter_session".to_owned(), id);
    browser.get("/v1/caller").fails(401, "unauthenticated");
    let seen = provider.seen();
    let revoked = seen
        .iter()
        .find(|request| request.path == "/revoke")
        .unwrap();
    let sent = String::from_utf8_lossy(&revoked.bytes).into_owned();
    assert!(sent.contains("token=rt-0123456789"), "{sent}");
}
