//! Accounts of users at a real authorization server (oidc-provider): codes, refresh, revocation, two identities, and no
//! token left anywhere. The server also protects an MCP server, whose metadata name it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::credentials::holding;
use crate::home::{Api, Home, Key, Server, eventually, ids, request_of};
use crate::mcp::peers::{node, scripts};
use crate::packages::{Package, SKILL, TOOL_FILE};
use crate::service::package_calling;

const KEYS: [Key; 3] = [
    ("key-of-ann", "acme", "ann", "admin"),
    ("key-of-mia", "acme", "mia", "user"),
    ("key-of-ben", "acme", "ben", "user"),
];

/// The tool of the protected MCP server.
const WHOAMI: &str = "mcp.tracker.whoami";

/// The authorization server, the API and the MCP server; killed when it goes out of scope.
struct Provider {
    child: Child,
    address: String,
}

impl Provider {
    fn start() -> Self {
        let script = std::fs::read_to_string(scripts().join("authorization.mjs")).unwrap();
        let mut node = node();
        node.args(["--input-type=module", "--eval", &script]);
        let mut child = node.stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut port).unwrap();
        // The rest of the output is read, so that the server never waits to write.
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).count());
        Self {
            child,
            address: format!("127.0.0.1:{}", port.trim()),
        }
    }

    fn control(&self, what: &str, parameters: &[(&str, &str)]) -> Value {
        let mut url =
            reqwest::Url::parse(&format!("http://{}/control/{what}", self.address)).unwrap();
        url.query_pairs_mut().extend_pairs(parameters);
        let mut answer = ureq::get(url.as_str()).call().unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// The users whose tokens the API and the MCP server have seen.
    fn seen(&self) -> Value {
        self.control("seen", &[])
    }

    /// The tokens that are valid now.
    fn live(&self, user: &str) -> u64 {
        self.control("live", &[("user", user)]).as_u64().unwrap()
    }

    /// Connects the account of a user, who grants access in a browser.
    fn connect(&self, api: &Api, credential: &str, user: &str) {
        let code = self.granted(api, credential, user);
        let path = format!("/v1/credentials/{credential}/complete");
        assert_eq!(api.post(&path, &code).expect(200)["state"], "connected");
    }

    fn granted(&self, api: &Api, credential: &str, user: &str) -> Value {
        let order = json!({"redirect_uri": "http://127.0.0.1:9/"});
        let path = format!("/v1/credentials/{credential}/connect");
        let started = api.post(&path, &order).expect(200);
        let url = started["authorization_url"].as_str().unwrap();
        self.control("grant", &[("user", user), ("url", url)])
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn home(provider: &Provider) -> Home {
    let home = Home::with_keys(&KEYS)
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("VAULT_SECRET", "secret-of-the-configured-client")
        .embedded();
    let file = home.path("config.toml");
    let keys = std::fs::read_to_string(&file).unwrap();
    let address = &provider.address;
    let more = format!(
        "[credentials.definitions.vault]\nkind = \"authorization_code\"\nhosts = [\"{address}\"]\n\
         issuer = \"http://{address}\"\nclient_id = \"charter\"\nclient_secret = {{ variable = \"VAULT_SECRET\" }}\n\
         scopes = [\"tools\"]\negress = [\"{address}\"]\n\
         [credentials.definitions.tracker]\nkind = \"authorization_code\"\nhosts = [\"{address}\"]\n\
         resource = \"http://{address}/mcp\"\negress = [\"{address}\"]\n\
         [[mcp.servers]]\nname = \"tracker\"\nurl = \"http://{address}/mcp\"\negress = [\"{address}\"]\n\
         readonly = [\"whoami\"]\n\
         credential = {{ name = \"tracker\", list_as = {{ tenant = \"acme\", user = \"ann\" }} }}\n"
    );
    std::fs::write(&file, format!("{keys}{more}")).unwrap();
    home
}

fn package(provider: &Provider) -> Package {
    package_calling(&provider.address)
        .edit(
            TOOL_FILE,
            "egress:",
            "credentials: [{name: vault, variable: VAULT_TOKEN}]\negress:",
        )
        .edit(
            TOOL_FILE,
            "method: POST,",
            "method: POST, headers: {authorization: \"Bearer ${env.VAULT_TOKEN}\"},",
        )
}

/// No token is in what was shown, in the data directory with its journals and evidence, in an export, or in a backup.
fn must_be_secret(provider: &Provider, home: &Home, server: Server, mut shown: Vec<String>) {
    let exported = server
        .key("key-of-ann")
        .raw("GET", "/v1/evidence/export", &[], Vec::new());
    assert_eq!(exported.0, 200, "{exported:?}");
    let backup = home.path("backup");
    let taken = home.run(&["backup", backup.to_str().unwrap(), "--output", "json"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    shown.extend([exported.1, taken.out, taken.err, server.log()]);
    server.terminate();
    let tokens = provider.control("tokens", &[]);
    let tokens = tokens["values"].as_array().unwrap();
    assert!(tokens.len() > 4, "{tokens:?}");
    for token in tokens {
        let token = token.as_str().unwrap();
        assert!(shown.iter().all(|text| !text.contains(token)), "{shown:?}");
        for folder in [home.data().as_path(), Path::new(&backup)] {
            assert_eq!(holding(folder, token), Vec::<String>::new());
        }
    }
}

/// Codes with challenges, a token that is renewed for each call, an issuer that is checked, an account that is
/// disconnected here and one that is ended there.
#[test]
fn two_users_act_with_their_accounts_at_a_real_authorization_server() {
    let provider = Provider::start();
    let home = home(&provider);
    let server = home.serve();
    let [ann, mia, ben] = ["key-of-ann", "key-of-mia", "key-of-ben"].map(|key| server.key(key));
    ann.register(&package(&provider));
    let ask = |api: &Api| api.ask(&request_of(SKILL, json!({})));
    ask(&mia).fails(403, "credential_required");

    let mut forged = provider.granted(&mia, "vault", "mia");
    forged["iss"] = json!("https://evil.example");
    mia.post("/v1/credentials/vault/complete", &forged)
        .fails(400, "invalid_request");
    provider.connect(&mia, "vault", "mia");
    provider.connect(&ben, "vault", "ben");
    let mut shown = Vec::new();
    for api in [&mia, &ben, &mia, &ben] {
        shown.push(ask(api).expect(200).to_string());
    }
    assert_eq!(provider.seen(), json!(["mia", "ben", "mia", "ben"]));
    let tokens = provider.control("tokens", &[]);
    assert!(
        tokens["grants"]["refresh_token"].as_u64() >= Some(4),
        "{tokens:#}"
    );

    assert!(provider.live("mia") > 0);
    let gone = mia.call("DELETE", "/v1/credentials/vault/account", &[], Vec::new());
    assert_eq!(gone.expect(200)["state"], "not_connected");
    assert_eq!(provider.live("mia"), 0);
    ask(&mia).fails(403, "credential_required");
    provider.control("end", &[("user", "ben")]);
    let message = ask(&ben).fails(403, "credential_required");
    assert!(
        message.contains("charter credential connect vault"),
        "{message}"
    );
    provider.connect(&ben, "vault", "ben");
    ask(&ben).expect(200);
    must_be_secret(&provider, &home, server, shown);
}

/// A server that asks everybody for a token: its authorization server is found by its metadata, Charter registers
/// itself for each account, one user's account lists the tools, and each call has the caller's own.
#[test]
fn an_mcp_server_with_authorization_is_called_by_each_user() {
    let provider = Provider::start();
    let home = home(&provider);
    let server = home.serve();
    let [ann, mia, ben] = ["key-of-ann", "key-of-mia", "key-of-ben"].map(|key| server.key(key));
    provider.connect(&ann, "tracker", "ann");
    eventually("the tool of the server", || {
        let listed = ann.get("/v1/list/tool").expect(200);
        ids(&listed["entries"], "id")
            .contains(&WHOAMI.to_owned())
            .then_some(())
    });
    let mut shown = Vec::new();
    let mut call = |api: &Api| {
        let params = json!({"name": "call", "arguments": {"tool_id": WHOAMI}});
        let answer = api.mcp(&json!({}), "tools/call", Some("call"), params);
        shown.push(answer.to_string());
        answer["result"].clone()
    };
    let refused = call(&mia);
    assert_eq!(refused["isError"], true, "{refused:#}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("charter credential connect tracker"),
        "{text}"
    );
    provider.connect(&mia, "tracker", "mia");
    provider.connect(&ben, "tracker", "ben");
    for (api, user) in [(&mia, "mia"), (&ben, "ben"), (&mia, "mia"), (&ann, "ann")] {
        let done = call(api);
        assert_eq!(done["structuredContent"]["status"], "completed", "{done:#}");
        let seen = provider.seen();
        assert_eq!(seen.as_array().unwrap().last(), Some(&json!(user)));
    }
    let tokens = provider.control("tokens", &[]);
    assert_eq!(tokens["clients"].as_array().unwrap().len(), 3, "{tokens:#}");
    must_be_secret(&provider, &home, server, shown);
}
