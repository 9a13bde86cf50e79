//! Channels against real servers: a mail server that speaks SMTP, and HTTP servers in place of Slack and of a receiver
//! of webhooks.

use std::collections::BTreeMap;
use std::time::Duration;

use charter_contract::ids::{ApprovalId, Label, TenantId};
use charter_contract::time::Timestamp;
use charter_effects::channel::{
    ApprovalButton, ButtonAnswer, ChannelFailure, ChannelFault, ChannelKey, ChannelMessage,
    ChannelOptions, ChannelTransport, Channels, ConfiguredChannels, EmailOptions, MessageContent,
    SlackOptions, SlackRequest, SmtpSecurity,
};
use charter_effects::webhook::{MessageId, SystemOfRecord};
use charter_effects::{PlainHttp, Secret, SecretSource};
use charter_testkit::http_stub::{HttpStub, Reply};
use charter_testkit::mail_server::MailServer;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const WEBHOOK: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl3jVB2m4jVB2m4jVB2m4=";
const SIGNING: &str = "8f742231b10e8888abcd99yyyzzz85a5";

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

fn secret(value: &str) -> Secret {
    Secret::new(value, SecretSource::Variable("SECRET".to_owned()))
}

fn slack(server: &HttpStub) -> SlackOptions {
    SlackOptions {
        api_url: server.url("/api"),
        answers_url: server.url(""),
        token: secret("xoxb-1"),
        signing_secret: Some(secret(SIGNING)),
        conversation: "C1".to_owned(),
        plain_http: PlainHttp::Loopback,
        timeout: Duration::from_secs(10),
    }
}

fn email(port: u16) -> EmailOptions {
    EmailOptions {
        host: "127.0.0.1".to_owned(),
        port,
        security: SmtpSecurity::None,
        login: None,
        from: "Charter <charter@example.com>".to_owned(),
        to: vec!["ann@example.com".to_owned(), "bob@example.com".to_owned()],
        timeout: Duration::from_secs(10),
    }
}

fn webhook(server: &HttpStub) -> SystemOfRecord {
    SystemOfRecord {
        url: server.url("/hook"),
        secrets: vec![secret(WEBHOOK)],
        egress: vec![server.address().to_string().parse().unwrap()],
        plain_http: PlainHttp::Loopback,
        attempt_timeout: Duration::from_secs(10),
    }
}

/// The channel `ops` of every tenant.
fn channels(transport: ChannelTransport) -> ConfiguredChannels {
    let options = ChannelOptions {
        channels: BTreeMap::from([(label("ops"), transport)]),
        tenants: BTreeMap::new(),
    };
    ConfiguredChannels::new(options).unwrap()
}

fn message(channel: &str) -> ChannelMessage {
    ChannelMessage {
        tenant: tenant("acme"),
        channel: label(channel),
        id: MessageId::from_uuid(Uuid::from_u128(7)),
        now: Timestamp::parse("2026-04-14T12:00:01Z").unwrap(),
        content: MessageContent {
            topic: "approval.requested".to_owned(),
            at: Timestamp::parse("2026-04-14T12:00:00Z").unwrap(),
            title: "Approval requested: sg.revoke äöü".to_owned(),
            paragraphs: vec!["Closes <b>port</b> 22".to_owned()],
            facts: vec![("Run", "playbook lock".to_owned())],
            call: Some("sg.revoke {\"id\": \"sg-1\"}".to_owned()),
            link: Some("https://charter.example.com/console/approvals/apr-1".to_owned()),
            decision: Some(ApprovalButton {
                channel: label(channel),
                approval: ApprovalId::from_uuid(Uuid::from_u128(1)),
                digest: "sha256:1".to_owned(),
            }),
            data: json!({"approval_id": "apr-1"}),
        },
    }
}

async fn send(channels: &ConfiguredChannels, channel: &str) -> Result<(), ChannelFailure> {
    let cancel = CancellationToken::new();
    channels.send(&message(channel), &cancel).await
}

async fn to_slack(reply: Reply) -> (Result<(), ChannelFailure>, HttpStub) {
    let server = HttpStub::answering(vec![reply]).unwrap();
    let channels = channels(ChannelTransport::Slack(slack(&server)));
    (send(&channels, "ops").await, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_gets_blocks_with_buttons_that_are_bound_to_the_digest() {
    let (sent, server) = to_slack(Reply::json(200, "{\"ok\": true, \"ts\": \"1.2\"}")).await;
    assert_eq!(sent, Ok(()));
    let seen = server.seen().remove(0);
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/api/chat.postMessage")
    );
    assert_eq!(seen.headers["authorization"], "Bearer xoxb-1");
    assert_eq!(seen.body["channel"], "C1");
    let blocks = seen.body["blocks"].as_array().unwrap();
    assert_eq!(
        blocks[0]["text"]["text"],
        "Approval requested: sg.revoke äöü"
    );
    assert_eq!(
        blocks[1]["text"]["text"],
        "Closes &lt;b&gt;port&lt;/b&gt; 22"
    );
    let buttons = blocks.last().unwrap()["elements"].as_array().unwrap();
    let value: Value = serde_json::from_str(buttons[0]["value"].as_str().unwrap()).unwrap();
    let expected = json!({
        "channel": "ops", "approval": "apr-00000000-0000-0000-0000-000000000001", "digest": "sha256:1",
    });
    assert_eq!(value, expected);
    assert_eq!(
        buttons[2]["url"],
        "https://charter.example.com/console/approvals/apr-1"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_of_slack_has_its_failure() {
    let limited = Reply::json(429, "{\"ok\": false, \"error\": \"ratelimited\"}");
    let refused =
        |error: &str| Reply::json(200, format!("{{\"ok\": false, \"error\": \"{error}\"}}"));
    for (reply, fault, pause) in [
        (refused("channel_not_found"), ChannelFault::Refused, None),
        (refused("invalid_auth"), ChannelFault::Refused, None),
        (refused("internal_error"), ChannelFault::Unavailable, None),
        (
            limited.with_header("retry-after", "7"),
            ChannelFault::Unavailable,
            Some(7),
        ),
        (Reply::empty(503), ChannelFault::Unavailable, None),
        (Reply::empty(404), ChannelFault::Refused, None),
        (Reply::redirect("/elsewhere"), ChannelFault::Refused, None),
        (Reply::text(200, "hello"), ChannelFault::Unavailable, None),
        (Reply::hang_up(), ChannelFault::Unavailable, None),
    ] {
        let (sent, server) = to_slack(reply.clone()).await;
        let failure = sent.unwrap_err();
        let waits = failure.retry_after.map(|pause| pause.as_secs());
        assert_eq!(
            (failure.fault, waits),
            (fault, pause),
            "{reply:?}: {failure}"
        );
        assert!(!failure.message.contains("xoxb"), "{failure}");
        assert_eq!(server.seen().len(), 1, "the queue retries, not the channel");
    }
}

fn signed(timestamp: &str, body: &str, key: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(format!("v0:{timestamp}:{body}").as_bytes());
    let digits = mac.finalize().into_bytes();
    let digits = digits.iter().map(|byte| format!("{byte:02x}"));
    format!("v0={}", digits.collect::<String>())
}

/// The signature alone tells whose app a request is from.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_belongs_to_the_channels_whose_app_signed_it() {
    let server = HttpStub::answering(Vec::new()).unwrap();
    let other = SlackOptions {
        signing_secret: Some(secret("another-signing-secret-of-umbra")),
        ..slack(&server)
    };
    let silent = SlackOptions {
        signing_secret: None,
        ..slack(&server)
    };
    let shared = [("ops", slack(&server)), ("silent", silent)];
    let shared = shared.map(|(name, options)| (label(name), ChannelTransport::Slack(options)));
    let own = BTreeMap::from([(label("ops"), ChannelTransport::Slack(other))]);
    let channels = ConfiguredChannels::new(ChannelOptions {
        channels: BTreeMap::from(shared),
        tenants: BTreeMap::from([(tenant("umbra"), own)]),
    });
    let channels = channels.unwrap();
    let signers = |key: &str| {
        let signature = signed("1790000000", "payload=1", key);
        channels.signers(&SlackRequest {
            timestamp: "1790000000",
            signature: &signature,
            body: b"payload=1",
        })
    };
    let key = |owner: Option<&str>| ChannelKey {
        tenant: owner.map(tenant),
        channel: label("ops"),
    };
    assert_eq!(signers(SIGNING), [key(None)]);
    assert_eq!(
        signers("another-signing-secret-of-umbra"),
        [key(Some("umbra"))]
    );
    assert!(signers("nobody's").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_only_to_slack() {
    let server = HttpStub::answering(vec![Reply::text(200, "ok"), Reply::text(200, "ok")]).unwrap();
    let elsewhere = HttpStub::answering(Vec::new()).unwrap();
    let channels = channels(ChannelTransport::Slack(slack(&server)));
    let key = ChannelKey {
        tenant: None,
        channel: label("ops"),
    };
    let answer = async |url: String, answers| {
        let answered = channels.answer(&key, &url, "it was <decided>", answers);
        answered.await.map_err(|failure| failure.fault)
    };
    assert_eq!(
        answer(server.url("/actions/1"), ButtonAnswer::Notes).await,
        Ok(())
    );
    assert_eq!(
        answer(server.url("/actions/1"), ButtonAnswer::Replaces).await,
        Ok(())
    );
    for url in [
        elsewhere.url("/actions/1"),
        "https://hooks.slack.com@127.0.0.1/".to_owned(),
        "file:///etc/passwd".to_owned(),
        String::new(),
    ] {
        let refused = Err(ChannelFault::Refused);
        assert_eq!(
            answer(url.clone(), ButtonAnswer::Notes).await,
            refused,
            "{url}"
        );
    }
    assert!(elsewhere.seen().is_empty());
    let bodies: Vec<Value> = server.seen().into_iter().map(|seen| seen.body).collect();
    let text = "it was &lt;decided&gt;";
    assert_eq!(
        bodies,
        [
            json!({"text": text, "replace_original": false, "response_type": "ephemeral"}),
            json!({"text": text, "replace_original": true}),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_e_mail_has_text_and_html_for_every_recipient() {
    let server = MailServer::start(&[]).unwrap();
    let channels = channels(ChannelTransport::Email(email(server.port())));
    assert_eq!(send(&channels, "ops").await, Ok(()));
    let mail = server.next_within(Duration::from_secs(30)).unwrap();
    assert_eq!(mail.from, "<charter@example.com>");
    assert_eq!(mail.to, ["<ann@example.com>", "<bob@example.com>"]);
    for part in [
        "From: Charter <charter@example.com>",
        "Message-ID: <msg_00000000000000000000000000000007@example.com>",
        "Auto-Submitted: auto-generated",
        "Content-Type: multipart/alternative",
        "text/plain",
        "text/html",
        "Closes <b>port</b> 22",
        "&lt;b&gt;port&lt;/b&gt;",
    ] {
        assert!(mail.text.contains(part), "{part} is not in {}", mail.text);
    }
}

/// A mailbox that is full for now is tried again; one that does not exist is not.
#[tokio::test(flavor = "multi_thread")]
async fn each_answer_of_a_mail_server_has_its_failure() {
    for (reply, fault) in [
        ("452 4.2.2 full", ChannelFault::Unavailable),
        ("550 5.1.1 no such user", ChannelFault::Refused),
    ] {
        let server = MailServer::start(&[("RCPT", reply)]).unwrap();
        let channels = channels(ChannelTransport::Email(email(server.port())));
        let failure = send(&channels, "ops").await.unwrap_err();
        assert_eq!(failure.fault, fault, "{failure}");
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let channels = channels(ChannelTransport::Email(email(port)));
    let failure = send(&channels, "ops").await.unwrap_err();
    assert_eq!(failure.fault, ChannelFault::Unavailable, "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_a_signed_message() {
    let server = HttpStub::answering(vec![Reply::empty(204), Reply::empty(410)]).unwrap();
    let channels = channels(ChannelTransport::Webhook(webhook(&server)));
    assert_eq!(send(&channels, "ops").await, Ok(()));
    let seen = server.seen().remove(0);
    assert_eq!(
        seen.headers["webhook-id"],
        "msg_00000000000000000000000000000007"
    );
    assert!(seen.headers["webhook-signature"].starts_with("v1,"));
    let expected = json!({
        "type": "approval.requested", "timestamp": "2026-04-14T12:00:00Z", "data": {"approval_id": "apr-1"},
    });
    assert_eq!(seen.body, expected);
    let failure = send(&channels, "ops").await.unwrap_err();
    assert_eq!(failure.fault, ChannelFault::Refused, "{failure}");
    let unknown = send(&channels, "sales").await.unwrap_err();
    assert_eq!(unknown.fault, ChannelFault::Unknown);
}

/// Webhooks as channels: `ops` of every tenant to one server, and `ops` and `bell` of the tenant umbra to another.
fn channels_with_own(shared: &SystemOfRecord, own: &SystemOfRecord) -> ConfiguredChannels {
    let of = |name: &str, system: &SystemOfRecord| {
        (label(name), ChannelTransport::Webhook(system.clone()))
    };
    let own = BTreeMap::from([of("ops", own), of("bell", own)]);
    let options = ChannelOptions {
        channels: BTreeMap::from([of("ops", shared)]),
        tenants: BTreeMap::from([(tenant("umbra"), own)]),
    };
    ConfiguredChannels::new(options).unwrap()
}

async fn send_of(
    channels: &ConfiguredChannels,
    name: &str,
    channel: &str,
) -> Result<(), ChannelFailure> {
    let sent = ChannelMessage {
        tenant: tenant(name),
        ..message(channel)
    };
    channels.send(&sent, &CancellationToken::new()).await
}

/// It replaces the shared channel of its name for its tenant alone, and no other tenant can send to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_own_channel_gets_the_messages_of_its_tenant_alone() {
    let [shared, own] = [0, 1].map(|_| HttpStub::start(|_, _| Reply::empty(204)).unwrap());
    let channels = channels_with_own(&webhook(&shared), &webhook(&own));
    assert_eq!(send_of(&channels, "acme", "ops").await, Ok(()));
    let unknown = send_of(&channels, "acme", "bell").await.unwrap_err();
    assert_eq!(unknown.fault, ChannelFault::Unknown);
    assert_eq!((shared.seen().len(), own.seen().len()), (1, 0));
    assert_eq!(send_of(&channels, "umbra", "ops").await, Ok(()));
    assert_eq!(send_of(&channels, "umbra", "bell").await, Ok(()));
    assert_eq!((shared.seen().len(), own.seen().len()), (1, 2));
}

/// The grants of a shared channel allow nothing to a tenant's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_own_channel_cannot_name_a_forbidden_address() {
    let server = HttpStub::start(|_, _| Reply::empty(204)).unwrap();
    let ungranted = SystemOfRecord {
        egress: Vec::new(),
        ..webhook(&server)
    };
    let channels = channels_with_own(&webhook(&server), &ungranted);
    let refused = send_of(&channels, "umbra", "ops").await.unwrap_err();
    assert_eq!(refused.fault, ChannelFault::Refused, "{refused}");
    let reason = "a private or local address that the `egress`";
    assert!(refused.message.contains(reason), "{refused}");
    assert_eq!(server.connections(), 0);
    assert_eq!(send_of(&channels, "acme", "ops").await, Ok(()));
}

#[test]
fn settings_that_cannot_work_are_refused_without_their_secrets() {
    let server = HttpStub::answering(Vec::new()).unwrap();
    let remote = EmailOptions {
        host: "mail.example.com".to_owned(),
        ..email(25)
    };
    let nobody = EmailOptions {
        to: Vec::new(),
        ..email(25)
    };
    let wrong = EmailOptions {
        to: vec!["no address".to_owned()],
        ..email(25)
    };
    let short = SlackOptions {
        signing_secret: Some(secret("short")),
        ..slack(&server)
    };
    let plain = SlackOptions {
        api_url: "http://slack.example.com".to_owned(),
        ..slack(&server)
    };
    for (transport, expected) in [
        (
            ChannelTransport::Email(remote),
            "`host` is remote without TLS",
        ),
        (ChannelTransport::Email(nobody), "`to` is empty"),
        (
            ChannelTransport::Email(wrong),
            "`to` is \"no address\", which is no address",
        ),
        (
            ChannelTransport::Slack(short),
            "is too short for a signing secret",
        ),
        (
            ChannelTransport::Slack(plain),
            "`api_url` is remote without TLS",
        ),
    ] {
        let refused = ConfiguredChannels::new(ChannelOptions {
            channels: BTreeMap::from([(label("ops"), transport)]),
            tenants: BTreeMap::new(),
        });
        let said = refused.unwrap_err().to_string();
        assert!(said.contains(expected) && said.contains("`ops`"), "{said}");
    }
}
