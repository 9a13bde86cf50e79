//! Approvals that reach people: a message in Slack, whose place a scripted server takes, and the decision by its
//! button; a mail that only links to the approval; the channel of another tenant.

use charter_testkit::http_stub::{HttpStub, Reply};
use charter_testkit::mail_server::MailServer;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::home::{Answer, Api, DEADLINE, Home, Server, eventually};
use crate::playbooks::{
    KEYS, PLAYBOOK, PLAYBOOK_FILE, confirm, path_of, purge, settled, waiting_run_of,
};
use crate::service::Service;

const SIGNING: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const BELL_SECRET: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl3jVB2m4jVB2m4jVB2m4=";
const RAZE: &str = "reliability.raze_vault";
const BOB: &str = "U2";
const PUBLIC_URL: &str = "https://charter.example.com";

/// HMAC-SHA256 (RFC 2104), for keys of at most 64 bytes.
pub(crate) fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        for (place, key) in block.iter_mut().zip(key) {
            *place ^= key;
        }
        block
    };
    let inner = Sha256::new()
        .chain_update(pad(0x36))
        .chain_update(message)
        .finalize();
    let outer = Sha256::new()
        .chain_update(pad(0x5c))
        .chain_update(inner)
        .finalize();
    outer.iter().copied().collect()
}

/// The signature of Slack.
fn signature(timestamp: &str, body: &str, key: &str) -> String {
    let signed = hmac(key.as_bytes(), &format!("v0:{timestamp}:{body}"));
    let digits = signed.iter().map(|byte| format!("{byte:02x}"));
    format!("v0={}", digits.collect::<String>())
}

/// The present time in seconds, as signed messages have it.
pub(crate) fn now() -> String {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    since.as_secs().to_string()
}

/// Takes every message, and every answer to an interaction.
fn slack() -> HttpStub {
    HttpStub::start(|_, _| Reply::json(200, "{\"ok\": true}")).unwrap()
}

/// E-mail beside Slack, and a channel of the tenant umbra.
struct OtherChannels {
    mail: MailServer,
    bell: HttpStub,
}

impl OtherChannels {
    fn start() -> Self {
        Self {
            mail: MailServer::start(&[]).unwrap(),
            bell: HttpStub::start(|_, _| Reply::empty(204)).unwrap(),
        }
    }

    /// The channels and their rules as configuration.
    fn settings(&self) -> String {
        format!(
            "[notifications.channels.mail]\nkind = \"email\"\nhost = \"127.0.0.1\"\nport = {}\n\
             security = \"none\"\nfrom = \"Charter <charter@example.com>\"\nto = [\"on-call@example.com\"]\n\
             [[notifications.rules]]\ntopics = [\"approval.requested\"]\nchannels = [\"mail\"]\n\
             [notifications.tenants.umbra.channels.bell]\nkind = \"webhook\"\nurl = \"{}\"\n\
             secrets = [{{ variable = \"BELL_SECRET\" }}]\negress = [\"{}\"]\n\
             [[notifications.tenants.umbra.rules]]\n\
             topics = [\"approval.requested\", \"run.failed\", \"run.completed\"]\nchannels = [\"bell\"]\n",
            self.mail.port(),
            self.bell.url("/bell"),
            self.bell.address()
        )
    }

    /// The mail about an approval has a link in both parts, which leads to the console. No GET decides on the approval,
    /// not even that of an approver.
    fn mail_decides_nothing(&self, server: &Server, approval: &str) {
        let mail = self.mail.next_within(DEADLINE).unwrap();
        assert_eq!(mail.to, ["<on-call@example.com>"]);
        let page = format!("/console/approvals/{approval}");
        let link = format!("{PUBLIC_URL}{page}");
        // Quoted-printable text has lines of at most 76 characters.
        let text = mail.text.replace("=\n", "");
        // Once as text, and as the address and the text of an HTML link.
        assert_eq!(text.matches(&link).count(), 3, "{text}");
        let bob = server.key("bob");
        for caller in [&server.api, &bob] {
            caller.raw("GET", &page, &[], Vec::new());
        }
        for word in ["approve", "reject"] {
            let path = format!("/v1/approvals/{approval}/{word}");
            let (status, allowed, _) = bob.refusal("GET", &path);
            assert_eq!((status, allowed.as_str()), (405, "POST"), "{path}");
        }
        let shown = bob.get(&format!("/v1/approvals/{approval}")).expect(200);
        assert_eq!(shown["state"], "pending");
    }

    /// The channel of umbra gets the approval of its tenant, and not the one of acme before; Slack gets only that.
    fn keep_tenants_apart(&self, server: &Server, service: &Service, slack: &HttpStub) {
        let eve = server.key("eve");
        eve.register(&purge(service));
        let run = waiting_run_of(&eve);
        let seen = eventually("a message about umbra's approval", || {
            Some(self.bell.seen()).filter(|seen| !seen.is_empty())
        });
        let ids: Vec<&Value> = seen
            .iter()
            .map(|seen| &seen.body["data"]["approval_id"])
            .collect();
        let own = &run["approvals"][0]["approval_id"];
        assert_eq!(ids, [own]);
        let own = own.as_str().unwrap();
        let mut in_slack = slack.seen().into_iter();
        assert!(!in_slack.any(|seen| seen.body.to_string().contains(own)));
    }
}

fn home(slack: &HttpStub, others: &OtherChannels) -> Home {
    let home = Home::with_keys(&KEYS)
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("CHARTER_A2A__PUBLIC_URL", PUBLIC_URL)
        .with("BELL_SECRET", BELL_SECRET)
        .with("SLACK_TOKEN", "xoxb-of-the-test")
        .with("SLACK_SIGNING_SECRET", SIGNING);
    let file = home.path("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let people = [("U1", "ann"), (BOB, "bob")];
    let people = people.map(|(id, user)| {
        format!("{{ slack_user = \"{id}\", user = \"{user}\", tenant = \"acme\" }}")
    });
    let channel = format!(
        "\n[notifications.channels.ops]\nkind = \"slack\"\nconversation = \"C1\"\nteam = \"T1\"\n\
         token = {{ variable = \"SLACK_TOKEN\" }}\nsigning_secret = {{ variable = \"SLACK_SIGNING_SECRET\" }}\n\
         api_url = \"{}\"\nanswers_url = \"{}\"\npeople = [{}]\n\
         [[notifications.rules]]\ntopics = [\"approval.requested\"]\nchannels = [\"ops\"]\n",
        slack.url("/api"),
        slack.url(""),
        people.join(", ")
    );
    std::fs::write(&file, text + &channel + &others.settings()).unwrap();
    home
}

/// The blocks of the message that Slack got about an approval.
fn message(slack: &HttpStub, approval: &Value) -> Value {
    let id = approval["approval_id"].as_str().unwrap();
    eventually("a message in Slack", || {
        let mut posted = slack.seen().into_iter();
        let found = posted.find(|seen| {
            seen.path == "/api/chat.postMessage" && seen.body.to_string().contains(id)
        });
        found.map(|seen| seen.body["blocks"].clone())
    })
}

fn buttons(blocks: &Value) -> Vec<Value> {
    let last = blocks.as_array().unwrap().last().unwrap();
    last["elements"].as_array().unwrap().clone()
}

/// The body that Slack sends for a click.
fn click(user: &str, value: &str, answers: &HttpStub) -> String {
    let payload = json!({
        "type": "block_actions", "team": {"id": "T1"}, "user": {"id": user},
        "response_url": answers.url("/actions/1"),
        "actions": [{"action_id": "approve", "block_id": "decision", "value": value}],
    });
    let payload = payload.to_string();
    let escaped = payload.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    });
    format!("payload={}", escaped.collect::<String>())
}

fn send(api: &Api, timestamp: &str, signature: &str, body: &str) -> Answer {
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("x-slack-request-timestamp", timestamp),
        ("x-slack-signature", signature),
    ];
    let body = body.as_bytes().to_vec();
    api.call("POST", "/v1/slack/interactions", &headers, body)
}

/// Returns what Slack was told in answer to clicks.
fn told_in(slack: &HttpStub) -> String {
    let told = slack.seen().into_iter();
    told.filter(|seen| seen.path == "/actions/1")
        .map(|seen| seen.body["text"].to_string())
        .collect()
}

/// A wrong signature, an old request, an unknown user, the requester, a repeat and a destructive call are refused, each
/// with its reason, and nothing is changed; Bob's click is one decision, and the call is made once.
#[test]
fn ruling_28_an_approval_is_decided_in_slack_once_and_by_another_person() {
    let (slack, service, others) = (slack(), Service::start(), OtherChannels::start());
    let home = home(&slack, &others);
    let server = home.serve();
    let ann = server.key("ann");
    let package = purge(&service);
    let raze = package
        .text(PLAYBOOK_FILE)
        .replace(PLAYBOOK, RAZE)
        .replace("purge the vault for good", "raze the vault to the ground")
        .replace("supervised", "destructive");
    ann.register(&package.with("playbooks/raze.yaml", &raze));

    let run = waiting_run_of(&ann);
    let approval = run["approvals"][0].clone();
    let shown = buttons(&message(&slack, &approval));
    let id = approval["approval_id"].as_str().unwrap();
    let link = format!("{PUBLIC_URL}/console/approvals/{id}");
    assert_eq!(shown[2]["url"], link.as_str());
    others.mail_decides_nothing(&server, id);
    others.keep_tenants_apart(&server, &service, &slack);
    let value = shown[0]["value"].as_str().unwrap();
    let anonymous = &server.api;
    let signed = |body: &str| {
        let timestamp = now();
        let signature = signature(&timestamp, body, SIGNING);
        send(anonymous, &timestamp, &signature, body)
    };
    let bobs = click(BOB, value, &slack);
    let wrong = signature(&now(), &bobs, "another-signing-secret-of-nobody");
    send(anonymous, &now(), &wrong, &bobs).fails(401, "unauthenticated");
    let old = signature("1790000000", &bobs, SIGNING);
    send(anonymous, "1790000000", &old, &bobs).fails(401, "unauthenticated");
    signed(&click("U9", value, &slack)).fails(403, "permission_denied");
    let own = signed(&click("U1", value, &slack)).fails(403, "permission_denied");
    assert!(own.contains("`ann` requested this call"), "{own}");
    let shown = ann.get(&format!("/v1/approvals/{id}")).expect(200);
    assert_eq!(shown["state"], "pending");
    assert!(!service.was_called());

    let timestamp = now();
    let valid = signature(&timestamp, &bobs, SIGNING);
    let decided = send(anonymous, &timestamp, &valid, &bobs).expect(200);
    assert_eq!(decided["state"], "approved", "{decided:#}");
    let repeated = send(anonymous, &timestamp, &valid, &bobs).fails(409, "illegal_transition");
    assert!(repeated.contains("received before"), "{repeated}");
    service.next().answer_with("{\"purged\": true}");
    settled(&ann, &run, "completed");
    assert!(!service.was_called());
    let told = told_in(&slack);
    assert!(told.contains("approved by bob"), "{told}");

    // The message of a destructive call has only the link, and a forged button does not help.
    let path = format!("/v1/playbooks/{RAZE}/runs");
    let run = ann.post(&path, &json!({"parameters": {"vault": "main"}}));
    let run = run.expect(201);
    confirm(&ann, &run).expect(200);
    let run = settled(&ann, &run, "awaiting_approval");
    let approval = &run["approvals"][0];
    let shown = buttons(&message(&slack, approval));
    assert_eq!(shown.len(), 1, "{shown:?}");
    let forged = json!({
        "channel": "ops", "approval": approval["approval_id"], "digest": approval["digest"],
    });
    let refused = signed(&click(BOB, &forged.to_string(), &slack)).fails(403, "permission_denied");
    assert!(refused.contains("not decided in Slack"), "{refused}");
    let shown = ann.get(&path_of(&run, "")).expect(200);
    assert_eq!(shown["status"], "awaiting_approval");
    assert!(!service.was_called());
    assert!(!server.log().contains("xoxb-of-the-test"));
}

/// `charter notify test` sends one message at once, and its exit code is the channel's answer.
#[test]
fn a_channel_is_tested_from_the_command_line() {
    let receiver = HttpStub::start(|request, _| match request.path.as_str() {
        "/bell" => Reply::empty(204),
        _ => Reply::empty(400),
    });
    let receiver = receiver.unwrap();
    let channel = |name: &str| {
        format!(
            "[notifications.channels.{name}]\nkind = \"webhook\"\nurl = \"{}\"\n\
             secrets = [{{ variable = \"BELL_SECRET\" }}]\negress = [\"{}\"]\n",
            receiver.url(&format!("/{name}")),
            receiver.address()
        )
    };
    let home = Home::new()
        .configured(&(channel("bell") + &channel("closed")))
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("BELL_SECRET", BELL_SECRET);
    let test = |name: &str| home.run(&["notify", "test", name, "--output", "json"]);

    let accepted = test("bell").json(0);
    assert_eq!(
        (&accepted["channel"], &accepted["accepted"]),
        (&json!("bell"), &json!(true))
    );
    let refused = test("closed").json(1);
    assert_eq!(refused["accepted"], false);
    assert!(
        refused["failure"].as_str().unwrap().contains("400"),
        "{refused:#}"
    );
    let unknown = test("bel");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.err.contains("not_found"), "{unknown:?}");

    let seen = receiver.seen();
    let paths: Vec<&str> = seen.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/bell", "/closed"]);
    let sent = &seen[0];
    assert_eq!(sent.body["type"], "notification.test");
    let id = accepted["message_id"].as_str().unwrap();
    assert_eq!(sent.headers["webhook-id"], id);
}
