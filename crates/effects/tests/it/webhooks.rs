//! Signed messages to systems of record (Standard Webhooks 1.0.0), against a real server:
//! at most once, and conflicts (B002-13).

mod refused;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::{Label, TenantId};
use charter_contract::time::Timestamp;
use charter_effects::webhook::{
    Delivered, Delivery, DeliveryFailed, DeliveryFault, HttpWebhooks, MessageId, SystemOfRecord,
    WebhookOptions, Webhooks,
};
use charter_effects::{PlainHttp, RetryPolicy, Secret, SecretSource};
use charter_testkit::http_stub::{HttpStub, Pacing, Reply, Request};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use verify::signed_by;

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl3jVB2m4jVB2m4jVB2m4=";
/// The sender's current time.
const NOW: i64 = 1_790_000_000;

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

fn secret(value: &str) -> Secret {
    Secret::new(value, SecretSource::Variable("CRM_SECRET".to_owned()))
}

/// Returns the system behind a server, whose own address is allowed.
fn system(server: &HttpStub, path: &str) -> SystemOfRecord {
    SystemOfRecord {
        url: server.url(path),
        secrets: vec![secret(NEW)],
        egress: vec![server.address().to_string().parse().unwrap()],
        plain_http: PlainHttp::Loopback,
        attempt_timeout: Duration::from_secs(10),
    }
}

fn options(system: SystemOfRecord) -> WebhookOptions {
    WebhookOptions {
        systems: BTreeMap::from([(label("crm"), system)]),
        patience: RetryPolicy {
            retries: 2,
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_secs(2),
            jitter: Arc::new(|| 1.0),
        },
        ..WebhookOptions::default()
    }
}

fn delivery(url: &str) -> Delivery {
    Delivery {
        tenant: tenant("acme"),
        url: url.to_owned(),
        id: MessageId::from_uuid(Uuid::from_u128(7)),
        now: Timestamp::from_micros(NOW * 1_000_000).unwrap(),
        body: json!({"type": "mission.writeback", "data": {"summary": "Ä \"call\" lead 101"}}),
        timeout: Duration::from_secs(20),
    }
}

async fn deliver(
    options: WebhookOptions,
    delivery: &Delivery,
) -> Result<Delivered, DeliveryFailed> {
    let webhooks = HttpWebhooks::new(options).unwrap();
    webhooks.deliver(delivery, &CancellationToken::new()).await
}

/// Returns the result of a delivery, and the server's received requests.
async fn answered(replies: Vec<Reply>) -> (Result<Delivered, DeliveryFailed>, Vec<Request>) {
    let server = HttpStub::answering(replies).unwrap();
    let options = options(system(&server, "/hooks"));
    let outcome = deliver(options, &delivery(&server.url("/hooks/briefs"))).await;
    (outcome, server.seen())
}

fn reply(status: u16) -> Reply {
    Reply::json(status, "{\"why\": \"because\"}")
}

fn failed(outcome: Result<Delivered, DeliveryFailed>) -> (DeliveryFault, String) {
    let failed = outcome.unwrap_err();
    (failed.fault, failed.message)
}

/// A receiver with any one of the secrets can verify the message.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_signed_with_every_secret() {
    let server = HttpStub::answering(vec![reply(204)]).unwrap();
    let mut both = system(&server, "/hooks/");
    both.secrets = vec![secret(OLD), secret(NEW)];
    let delivery = delivery(&server.url("/hooks/briefs?of=acme"));
    let outcome = deliver(options(both), &delivery).await;
    assert_eq!(outcome, Ok(Delivered { status: 204 }));
    let seen = server.seen().remove(0);
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str(), &seen.body),
        ("POST", "/hooks/briefs?of=acme", &delivery.body)
    );
    assert_eq!(
        seen.headers["webhook-id"],
        "msg_00000000000000000000000000000007"
    );
    assert_eq!(seen.headers["content-type"], "application/json");
    let sent: i64 = seen.headers["webhook-timestamp"].parse().unwrap();
    assert!((NOW..NOW + 10).contains(&sent), "{sent}");
    assert_eq!(signed_by(&seen, OLD), [true, false]);
    assert_eq!(signed_by(&seen, NEW), [false, true]);
}

/// A retry sends the same bytes under the same id, so that a receiver can detect a duplicate; each attempt has its own
/// time and signature.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_every_attempt_carries_the_same_message() {
    for status in [408, 429, 500, 503] {
        let wait = reply(status).with_header("retry-after", "1");
        let (outcome, seen) = answered(vec![wait, reply(200)]).await;
        assert_eq!(outcome, Ok(Delivered { status: 200 }), "{status}");
        let [first, again] = seen.as_slice() else {
            panic!("{seen:?}");
        };
        assert_eq!(first.headers["webhook-id"], again.headers["webhook-id"]);
        assert_eq!(first.bytes, again.bytes);
        let time = |seen: &Request| seen.headers["webhook-timestamp"].parse::<i64>().unwrap();
        assert!(time(again) > time(first), "the server asked for a second");
        assert_eq!(signed_by(again, NEW), [true]);
    }
}

/// B002-13: a conflict is reported as such; a rejected message is not retried; transient failures are, a bounded number
/// of times.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_each_answer_has_its_failure() {
    for (status, fault, attempts) in [
        (409, DeliveryFault::Conflict, 1),
        (400, DeliveryFault::Refused, 1),
        (401, DeliveryFault::Refused, 1),
        (404, DeliveryFault::Refused, 1),
        (410, DeliveryFault::Refused, 1),
        (429, DeliveryFault::Unavailable, 3),
        (502, DeliveryFault::Unavailable, 3),
    ] {
        let (outcome, seen) = answered(vec![reply(status); 3]).await;
        let (found, message) = failed(outcome);
        assert_eq!(
            (found, seen.len()),
            (fault, attempts),
            "{status}: {message}"
        );
        let begins = "the message msg_00000000000000000000000000000007 to the system of record `crm` was answered";
        assert!(message.starts_with(begins), "{message}");
        assert!(
            message.ends_with(r#""{\"why\": \"because\"}""#),
            "{message}"
        );
    }
}

/// The result of a message without an answer is unknown; it is not retried.
#[tokio::test(flavor = "multi_thread")]
async fn b002_13_an_unanswered_message_is_not_retryable() {
    let server = HttpStub::answering(vec![Reply::never()]).unwrap();
    let mut slow = system(&server, "/hooks");
    slow.attempt_timeout = Duration::from_millis(200);
    let outcome = deliver(options(slow), &delivery(&server.url("/hooks"))).await;
    let (fault, message) = failed(outcome);
    assert_eq!(fault, DeliveryFault::Unknown);
    assert!(message.contains("its outcome is unknown"), "{message}");
    assert_eq!(server.seen().len(), 1);
}

/// A message to an unreachable server was not sent, and may be retried.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_server_is_retryable() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let gone = SystemOfRecord {
        url: format!("http://{address}/"),
        secrets: vec![secret(NEW)],
        egress: vec![address.parse().unwrap()],
        plain_http: PlainHttp::Loopback,
        attempt_timeout: Duration::from_secs(10),
    };
    let outcome = deliver(options(gone), &delivery(&format!("http://{address}/"))).await;
    let (fault, message) = failed(outcome);
    assert_eq!(fault, DeliveryFault::Unavailable);
    assert!(message.contains("was not sent"), "{message}");
}

/// If the caller cancels before the answer, the result is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_message_is_not_reported_as_unsent() {
    let cancel = CancellationToken::new();
    let seen = cancel.clone();
    let server = HttpStub::start(move |_, _| {
        seen.cancel();
        Reply::never()
    });
    let server = server.unwrap();
    let webhooks = HttpWebhooks::new(options(system(&server, "/"))).unwrap();
    let outcome = webhooks
        .deliver(&delivery(&server.url("/a")), &cancel)
        .await;
    assert_eq!(failed(outcome).0, DeliveryFault::Unknown);
    let unsent = webhooks
        .deliver(&delivery(&server.url("/a")), &cancel)
        .await;
    assert_eq!(failed(unsent).0, DeliveryFault::Unavailable);
    assert_eq!(server.seen().len(), 1);
}

/// Of an answer only the status is read, and of a refusal a few sanitised words.
#[tokio::test(flavor = "multi_thread")]
async fn the_response_is_bounded() {
    let long = Reply::json(200, vec![b'x'; 8 << 20]);
    assert_eq!(answered(vec![long]).await.0, Ok(Delivered { status: 200 }));
    let mut words = "\u{1b}[31m".to_owned();
    words.push_str(&"y".repeat(1 << 20));
    let (fault, message) = failed(answered(vec![Reply::json(422, words)]).await.0);
    assert_eq!(fault, DeliveryFault::Refused);
    assert!(
        message.len() < 600 && !message.contains('\u{1b}'),
        "{message}"
    );
    let broken = reply(422).paced(Pacing::BreakOffAfter(3));
    assert_eq!(
        failed(answered(vec![broken]).await.0).0,
        DeliveryFault::Refused
    );
}

fn body_of(message: &str) -> Value {
    json!({ "text": message })
}

/// A tenant's own system takes precedence, and other tenants cannot use it.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_system_is_used_only_by_that_tenant() {
    let server = HttpStub::start(|_, _| reply(200)).unwrap();
    let mut all = options(system(&server, "/hooks"));
    let mut own = system(&server, "/hooks");
    own.secrets = vec![secret(OLD)];
    let mut further = system(&server, "/own");
    further.secrets = vec![secret(OLD)];
    let systems = BTreeMap::from([(label("crm"), own), (label("further"), further)]);
    all.tenants = BTreeMap::from([(tenant("acme"), systems)]);
    let webhooks = HttpWebhooks::new(all).unwrap();
    let cancel = CancellationToken::new();
    for (of, path, known) in [
        ("acme", "/hooks", OLD),
        ("other", "/hooks", NEW),
        ("acme", "/own", OLD),
    ] {
        let sent = Delivery {
            tenant: tenant(of),
            body: body_of(path),
            ..delivery(&server.url(path))
        };
        webhooks.deliver(&sent, &cancel).await.unwrap();
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.body, sent.body);
        assert_eq!(signed_by(&seen, known), [true], "{of} {path}");
    }
    let others = Delivery {
        tenant: tenant("other"),
        ..delivery(&server.url("/own"))
    };
    let refused = webhooks.deliver(&others, &cancel).await;
    assert_eq!(failed(refused).0, DeliveryFault::Forbidden);
    assert_eq!(server.seen().len(), 3);
}
