//! Tools act with the accounts that users connected: each user with the own one, and no secret is left anywhere.

use std::path::Path;

use charter_testkit::http_stub::{HttpStub, Reply, Request};
use serde_json::{Value, json};

use crate::home::{Api, Home, Key, MCP_HEADERS, eventually, request_of};
use crate::packages::{Package, SKILL, TOOL_FILE};
use crate::service::package_calling;

const KEYS: [Key; 3] = [
    ("key-of-ann", "acme", "ann", "admin"),
    ("key-of-mia", "acme", "mia", "user"),
    ("key-of-ben", "acme", "ben", "user"),
];

/// The end of each token, by which a leak is found.
const MARK: &str = "0123456789abcdef";

/// An authorization server that issues a token for each code, and the API that the token is for. The API repeats what
/// it was sent.
fn answer(request: &Request, _: usize) -> Reply {
    if request.path != "/token" {
        let sent = request.headers.get("authorization");
        let backups = json!({"backups": [{"id": sent, "age_days": 40}]});
        return Reply::json(200, backups.to_string());
    }
    let form = String::from_utf8(request.bytes.clone()).unwrap();
    let mut fields = form.split('&').filter_map(|field| field.split_once('='));
    let code = fields.find(|(name, _)| *name == "code");
    let code = code.map_or("unknown", |(_, code)| code);
    let tokens = json!({
        "access_token": format!("tok-{code}-{MARK}"), "refresh_token": format!("ref-{code}-{MARK}"),
        "token_type": "bearer", "expires_in": 3_600,
    });
    Reply::json(200, tokens.to_string())
}

fn home(stub: &HttpStub) -> Home {
    let home = Home::with_keys(&KEYS)
        .with("CHARTER_MODEL__SOURCE", "none")
        .embedded();
    let file = home.path("config.toml");
    let keys = std::fs::read_to_string(&file).unwrap();
    let (address, url) = (stub.address(), stub.url(""));
    let credentials = format!(
        "[credentials.definitions.vault]\nkind = \"authorization_code\"\nhosts = [\"{address}\"]\n\
         authorization_url = \"{url}/authorize\"\ntoken_url = \"{url}/token\"\nclient_id = \"charter\"\n\
         egress = [\"{address}\"]\n"
    );
    std::fs::write(&file, format!("{keys}{credentials}")).unwrap();
    home
}

fn package(stub: &HttpStub) -> Package {
    package_calling(&stub.address().to_string())
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

/// The state of a connection that a caller starts.
fn started(api: &Api) -> String {
    let order = json!({"redirect_uri": "http://127.0.0.1:9/"});
    let started = api.post("/v1/credentials/vault/connect", &order);
    let started = started.expect(200);
    let url = started["authorization_url"].as_str().unwrap();
    let (_, rest) = url.split_once("state=").unwrap();
    rest.split('&').next().unwrap().to_owned()
}

fn code(user: &str, state: &str) -> Value {
    json!({"code": user, "state": state})
}

/// Connects the caller's account.
fn connect(api: &Api, user: &str) {
    let state = started(api);
    let path = "/v1/credentials/vault/complete";
    api.post(path, &code(user, &state)).expect(200);
}

/// The files below a folder that contain a text.
pub(crate) fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn two_users_act_with_their_own_accounts_and_no_token_is_left() {
    let stub = HttpStub::start(answer).unwrap();
    let home = home(&stub);
    let server = home.serve();
    let (ann, mia, ben) = (
        server.key("key-of-ann"),
        server.key("key-of-mia"),
        server.key("key-of-ben"),
    );
    ann.register(&package(&stub));
    let ask = |api: &Api| api.ask(&request_of(SKILL, json!({})));
    let message = ask(&mia).fails(403, "credential_required");
    assert!(
        message.contains("charter credential connect vault"),
        "{message}"
    );

    let state = started(&mia);
    let path = "/v1/credentials/vault/complete";
    ben.post(path, &code("ben", &state))
        .fails(400, "invalid_request");
    mia.post(path, &code("mia", &state)).expect(200);
    let state = started(&ben);
    ben.post(path, &code("ben", &state)).expect(200);

    for api in [&mia, &ben] {
        let answer = ask(api).expect(200).to_string();
        assert!(!answer.contains(MARK), "{answer}");
    }
    let seen = stub.seen();
    let calls = seen.iter().filter(|request| request.path == "/backups");
    let sent: Vec<_> = calls
        .map(|request| request.headers["authorization"].as_str())
        .collect();
    let expected = ["mia", "ben"].map(|user| format!("Bearer tok-{user}-{MARK}"));
    assert_eq!(sent, expected);

    let listed = mia.get("/v1/credentials").expect(200);
    assert_eq!(listed[0]["state"], "connected");
    mia.get("/v1/credentials/vault/accounts")
        .fails(403, "permission_denied");
    let accounts = ann.get("/v1/credentials/vault/accounts").expect(200);
    assert_eq!(accounts["entries"].as_array().unwrap().len(), 2);
    let gone = mia.call("DELETE", "/v1/credentials/vault/account", &[], Vec::new());
    assert_eq!(gone.expect(200)["state"], "not_connected");
    ask(&mia).fails(403, "credential_required");
    ask(&ben).expect(200);

    let events = ann.get("/v1/events?after=0&topic=account").expect(200);
    let topics = events["entries"].as_array().unwrap().iter();
    let topics: Vec<_> = topics
        .map(|event| event["topic"].as_str().unwrap())
        .collect();
    assert_eq!(
        topics,
        [
            "account.connected",
            "account.connected",
            "account.disconnected"
        ]
    );
    let shown = [accounts.to_string(), events.to_string(), server.log()];
    assert!(shown.iter().all(|text| !text.contains(MARK)), "{shown:?}");
    server.terminate();
    assert_eq!(holding(&home.data(), MARK), Vec::<String>::new());
}

/// Calls without an account ask for it in the way of each protocol, and go on with it.
#[test]
fn a_call_without_its_account_goes_on_when_the_account_is_connected() {
    let stub = HttpStub::start(answer).unwrap();
    let home = home(&stub).with("CHARTER_A2A__PUBLIC_URL", "https://charter.example");
    let server = home.serve();
    let (ann, mia, ben) = (
        server.key("key-of-ann"),
        server.key("key-of-mia"),
        server.key("key-of-ben"),
    );
    ann.register(&package(&stub));
    let page = "https://charter.example/console/connect/vault";

    // MCP of 2026-07-28: the question has the page, and the next round makes the call.
    let opens_links = json!({"elicitation": {"url": {}}});
    let mut params = json!({"name": "run", "arguments": {"skill_id": SKILL}});
    let call = |params: &Value| {
        let answer = mia.mcp(&opens_links, "tools/call", Some("run"), params.clone());
        answer["result"].clone()
    };
    let asked = call(&params);
    let question = &asked["inputRequests"]["connect vault"];
    assert_eq!(question["method"], "elicitation/create", "{asked:#}");
    assert_eq!(
        (&question["params"]["mode"], &question["params"]["url"]),
        (&json!("url"), &json!(page))
    );
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"connect vault": {"action": "decline"}});
    assert_eq!(call(&params)["isError"], true);
    connect(&mia, "mia");
    params["inputResponses"] = json!({"connect vault": {"action": "accept"}});
    let done = call(&params);
    assert_eq!(done["structuredContent"]["status"], "completed", "{done:#}");

    // MCP of 2025-11-25: an error has the page, and the client calls again.
    let session = ben.open_mcp_session_with(&opens_links);
    let mut headers = MCP_HEADERS.to_vec();
    headers.push(("mcp-session-id", &session));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "run", "arguments": {"skill_id": SKILL},
    }});
    let (_, refused) = ben.raw("POST", "/mcp", &headers, body.to_string().into_bytes());
    let refused = sent_event(&refused);
    assert_eq!(refused["error"]["code"], -32_042, "{refused:#}");
    let elicitation = &refused["error"]["data"]["elicitations"][0];
    assert_eq!(
        (&elicitation["mode"], &elicitation["url"]),
        (&json!("url"), &json!(page))
    );

    // A2A: the task waits for the account, and goes on with it.
    let message = json!({"message": {
        "messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": {"skill_id": SKILL}}],
    }});
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let sent = message.to_string().into_bytes();
    let (_, waits) = ben.raw("POST", "/a2a/v1/message:send", &headers, sent);
    let waits: Value = serde_json::from_str(&waits).unwrap();
    let status = &waits["task"]["status"];
    assert_eq!(status["state"], "TASK_STATE_AUTH_REQUIRED", "{waits:#}");
    let mut parts = status["message"]["parts"].as_array().unwrap().iter();
    let account = json!({"credential": "vault", "connect_url": page});
    assert!(
        parts.any(|part| part["data"]["account"] == account),
        "{waits:#}"
    );
    connect(&ben, "ben");
    let path = format!("/a2a/v1/tasks/{}", waits["task"]["id"].as_str().unwrap());
    eventually("the end of the task", || {
        let (_, shown) = ben.raw("GET", &path, &headers, Vec::new());
        let shown: Value = serde_json::from_str(&shown).unwrap();
        (shown["status"]["state"] == "TASK_STATE_COMPLETED").then_some(())
    });
    let expected = ["mia", "ben"].map(|user| format!("Bearer tok-{user}-{MARK}"));
    assert_eq!(presented(&stub), expected);
}

/// Returns the message of a stream.
fn sent_event(stream: &str) -> Value {
    let data = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let mut messages = data.filter_map(|data| serde_json::from_str(data).ok());
    messages.next().unwrap()
}

/// Returns what each call of the tool presented.
fn presented(stub: &HttpStub) -> Vec<String> {
    let calls = stub.seen().into_iter();
    calls
        .filter(|request| request.path == "/backups")
        .map(|request| request.headers["authorization"].clone())
        .collect()
}
