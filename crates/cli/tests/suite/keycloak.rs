//! Token exchange (RFC 8693) at Keycloak: two callers with tokens of its realm, and an API for which their tokens are
//! exchanged. `make check-keycloak` runs it.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use charter_testkit::http_stub::{HttpStub, Reply, Request};
use serde_json::{Value, json};

use crate::credentials::holding;
use crate::home::{Api, Home, request_of};
use crate::packages::{SKILL, TOOL_FILE};
use crate::service::package_calling;

const SECRET: &str = "secret-of-charter-at-keycloak";

/// A Keycloak with one realm in memory; ended when it goes out of scope.
struct Keycloak {
    child: Child,
    issuer: String,
}

impl Keycloak {
    fn start() -> Self {
        let folder = std::env::var_os("CHARTER_TEST_KEYCLOAK").map(PathBuf::from);
        let folder = folder.expect("`make check-keycloak` names the folder of Keycloak");
        let import = folder.join("data/import");
        std::fs::create_dir_all(&import).unwrap();
        std::fs::write(import.join("people.json"), realm().to_string()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = Command::new(folder.join("bin/kc.sh"));
        command
            .args([
                "start-dev",
                "--import-realm",
                "--db=dev-mem",
                "--cache=local",
            ])
            .args(["--http-host=127.0.0.1", &format!("--http-port={port}")])
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut before = String::new();
        loop {
            let line = lines.next().and_then(Result::ok);
            let line = line.unwrap_or_else(|| panic!("Keycloak ended: {before}"));
            if line.contains("Listening on") {
                break;
            }
            before += &line;
            before.push('\n');
        }
        std::thread::spawn(move || lines.map_while(Result::ok).count());
        Self {
            child,
            issuer: format!("http://127.0.0.1:{port}/realms/people"),
        }
    }

    fn address(&self) -> &str {
        let rest = self.issuer.strip_prefix("http://").unwrap();
        rest.split('/').next().unwrap()
    }

    /// A token of a user, as a front end gets it.
    fn token(&self, user: &str) -> String {
        let url = format!("{}/protocol/openid-connect/token", self.issuer);
        let form = [
            ("grant_type", "password"),
            ("client_id", "front"),
            ("username", user),
            ("password", "pw"),
            ("scope", "openid"),
        ];
        let mut answer = ureq::post(&url).send_form(form).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        answer["access_token"].as_str().unwrap().to_owned()
    }
}

impl Drop for Keycloak {
    fn drop(&mut self) {
        // Its script passes the signal on.
        drop(
            Command::new("kill")
                .arg(self.child.id().to_string())
                .status(),
        );
        drop(self.child.wait());
    }
}

/// A realm in which tokens of `front` are for Charter, which may exchange them for tokens that are for `files`.
fn realm() -> Value {
    let user = |name: &str| {
        json!({
            "username": name, "enabled": true, "email": format!("{name}@people.example"), "emailVerified": true,
            "firstName": name, "lastName": name,
            "credentials": [{"type": "password", "value": "pw", "temporary": false}],
        })
    };
    let for_audience = |client: &str| {
        json!([{
            "name": format!("for {client}"), "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper",
            "config": {"included.client.audience": client, "access.token.claim": "true", "id.token.claim": "false"},
        }])
    };
    json!({
        "realm": "people", "enabled": true, "sslRequired": "none", "accessTokenLifespan": 300,
        "users": [user("mia"), user("ben")],
        "clients": [
            {
                "clientId": "front", "enabled": true, "publicClient": true, "standardFlowEnabled": false,
                "directAccessGrantsEnabled": true, "protocolMappers": for_audience("charter"),
            },
            {
                "clientId": "charter", "enabled": true, "publicClient": false, "secret": SECRET,
                "standardFlowEnabled": false, "attributes": {"standard.token.exchange.enabled": "true"},
                "protocolMappers": for_audience("files"),
            },
            {
                "clientId": "files", "enabled": true, "publicClient": false, "secret": "of files",
                "standardFlowEnabled": false,
            },
        ],
    })
}

/// The claims of a token, unchecked.
fn claims(token: &str) -> Value {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let payload = token.split('.').nth(1).unwrap();
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0_u32);
    for digit in payload.chars() {
        let value = DIGITS.find(digit).and_then(|at| u32::try_from(at).ok());
        bits = (bits << 6) | value.unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap());
            bits &= (1 << count) - 1;
        }
    }
    serde_json::from_slice(&bytes).unwrap()
}

/// The API. It repeats what it was sent.
fn answer(request: &Request, _: usize) -> Reply {
    let sent = request.headers.get("authorization");
    Reply::json(
        200,
        json!({"backups": [{"id": sent, "age_days": 40}]}).to_string(),
    )
}

#[test]
#[ignore = "needs a Keycloak: `make check-keycloak`"]
fn tokens_of_two_callers_are_exchanged_at_keycloak() {
    let (keycloak, stub) = (Keycloak::start(), HttpStub::start(answer).unwrap());
    let home = Home::with_keys(&[("key-of-ann", "acme", "ann", "admin")])
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("KEYCLOAK_SECRET", SECRET)
        .embedded();
    let file = home.path("config.toml");
    let keys = std::fs::read_to_string(&file).unwrap();
    let (issuer, at, api) = (&keycloak.issuer, keycloak.address(), stub.address());
    let more = format!(
        "[[auth.oidc]]\nissuer = \"{issuer}\"\naudiences = [\"charter\"]\ntenant = \"acme\"\n\
         user_claim = \"preferred_username\"\ngrants = [{{ role = \"user\" }}]\n\
         [credentials.definitions.vault]\nkind = \"token_exchange\"\nhosts = [\"{api}\"]\nissuer = \"{issuer}\"\n\
         client_id = \"charter\"\nclient_secret = {{ variable = \"KEYCLOAK_SECRET\" }}\n\
         subject_issuer = \"{issuer}\"\naudience = \"files\"\negress = [\"{at}\"]\n"
    );
    std::fs::write(&file, format!("{keys}{more}")).unwrap();
    let server = home.serve();
    let package = package_calling(&stub.address().to_string())
        .edit(
            TOOL_FILE,
            "egress:",
            "credentials: [{name: vault, variable: VAULT_TOKEN}]\negress:",
        )
        .edit(
            TOOL_FILE,
            "method: POST,",
            "method: POST, headers: {authorization: \"Bearer ${env.VAULT_TOKEN}\"},",
        );
    server.key("key-of-ann").register(&package);
    let tokens = ["mia", "ben"].map(|user| keycloak.token(user));
    let ask = |api: &Api| {
        api.ask(&request_of(SKILL, json!({})))
            .expect(200)
            .to_string()
    };
    let mut secrets = tokens.to_vec();
    let mut shown: Vec<String> = tokens.iter().map(|token| ask(&server.key(token))).collect();
    let seen = stub.seen();
    let sent = seen
        .iter()
        .map(|request| request.headers["authorization"].as_str());
    let sent: Vec<_> = sent
        .map(|header| header.strip_prefix("Bearer ").unwrap())
        .collect();
    for (token, user) in sent.iter().zip(["mia", "ben"]) {
        let claims = claims(token);
        assert_eq!(claims["preferred_username"], user, "{claims:#}");
        assert_eq!(
            (&claims["azp"], &claims["aud"]),
            (&json!("charter"), &json!("files"))
        );
        secrets.push((*token).to_owned());
    }
    assert_eq!(secrets.len(), 4);
    shown.push(server.log());
    server.terminate();
    for secret in &secrets {
        assert!(
            shown.iter().all(|text| !text.contains(secret.as_str())),
            "{shown:?}"
        );
        assert_eq!(holding(&home.data(), secret), Vec::<String>::new());
    }
}
