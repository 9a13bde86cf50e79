//! Messages that are never sent, and invalid configurations.

use super::*;

/// Only configured addresses are reached: the same origin, the path or one below it.
#[tokio::test(flavor = "multi_thread")]
async fn an_unconfigured_address_is_refused() {
    let server = HttpStub::start(|_, _| reply(200)).unwrap();
    let other = HttpStub::start(|_, _| reply(200)).unwrap();
    let webhooks = HttpWebhooks::new(options(system(&server, "/hooks"))).unwrap();
    let with_user = server.url("/hooks").replace("http://", "http://user@");
    let by_name = server.url("/hooks").replace("127.0.0.1", "localhost");
    for url in [
        server.url("/"),
        server.url("/hooksandmore"),
        server.url("/hooks/../admin"),
        server.url("/hooks/%2e%2e/admin"),
        server.url("/hooks/..%2fadmin"),
        server.url("/hooks%5c..%5cadmin"),
        other.url("/hooks"),
        with_user,
        by_name,
        "ftp://127.0.0.1/hooks".to_owned(),
        "no address".to_owned(),
    ] {
        let refused = webhooks
            .deliver(&delivery(&url), &CancellationToken::new())
            .await;
        let (fault, message) = failed(refused);
        assert_eq!(fault, DeliveryFault::Forbidden, "{url}");
        let begins = format!("`{url}` belongs to no configured system of record; nothing was sent");
        assert!(message.starts_with(&begins), "{message}");
    }
    for url in ["/hooks", "/hooks/", "/hooks?a=1", "/hooks/a/../b"] {
        let taken = deliver(
            options(system(&server, "/hooks")),
            &delivery(&server.url(url)),
        )
        .await;
        assert_eq!(taken, Ok(Delivered { status: 200 }), "{url}");
    }
    assert_eq!((server.seen().len(), other.seen().len()), (4, 0));
}

/// Private addresses are refused here too, unless the operator names them.
#[tokio::test(flavor = "multi_thread")]
async fn a_private_address_must_be_listed() {
    let server = HttpStub::start(|_, _| reply(200)).unwrap();
    let unnamed = SystemOfRecord {
        egress: Vec::new(),
        ..system(&server, "/hooks")
    };
    let refused = deliver(options(unnamed), &delivery(&server.url("/hooks"))).await;
    let (fault, message) = failed(refused);
    assert_eq!(fault, DeliveryFault::Forbidden);
    assert!(
        message.ends_with(
            "127.0.0.1 is 127.0.0.1, a private or local address that the `egress` of the system of record `crm` does \
             not list"
        ),
        "{message}"
    );
    assert_eq!(server.connections(), 0);
}

/// A redirect is not followed, neither elsewhere nor on the same server.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let other = HttpStub::start(|_, _| reply(200)).unwrap();
    for to in [other.url("/hooks"), "/hooks/there".to_owned()] {
        for status in [301, 307, 308] {
            let leads = reply(status).with_header("location", &to);
            let (outcome, seen) = answered(vec![leads, reply(200)]).await;
            assert_eq!(failed(outcome).0, DeliveryFault::Refused);
            assert_eq!(seen.len(), 1);
        }
    }
    assert_eq!(other.connections(), 0);
}

/// An invalid configuration is reported at the start, without any secret.
#[test]
fn invalid_webhook_options_are_refused() {
    let server = HttpStub::start(|_, _| reply(200)).unwrap();
    let said = |change: &dyn Fn(&mut SystemOfRecord)| {
        let mut system = system(&server, "/hooks");
        change(&mut system);
        HttpWebhooks::new(options(system)).unwrap_err().to_string()
    };
    let url = |url: &'static str| said(&move |system| system.url = url.to_owned());
    assert_eq!(
        url("http://crm.example.com/"),
        "the `url` of the system of record `crm` is remote without TLS"
    );
    assert_eq!(
        url("https://crm.example.com/?key=1"),
        "the `url` of the system of record `crm` is a URL with a query or fragment"
    );
    assert_eq!(
        said(&|system| system.secrets.clear()),
        "the system of record `crm` has no `secrets`"
    );
    let short = said(&|system| system.secrets.push(secret("whsec_c2hvcnQ=")));
    assert_eq!(
        short,
        "a secret of the system of record `crm` (environment variable CRM_SECRET) does not have 24 to 64 bytes; it \
         is `whsec_` and the base64 of 24 to 64 random bytes"
    );
}

/// Secrets never appear in debug output.
#[test]
fn a_secret_is_never_displayed() {
    let server = HttpStub::start(|_, _| reply(200)).unwrap();
    let webhooks = HttpWebhooks::new(options(system(&server, "/hooks"))).unwrap();
    let shown: Vec<String> = webhooks.described().collect();
    let expected = format!(
        "crm at {}, secrets from environment variable CRM_SECRET",
        server.url("/hooks")
    );
    assert_eq!(shown, [expected]);
    let debugged = format!("{webhooks:?}");
    assert!(!debugged.contains(&NEW[6..20]), "{debugged}");
}
