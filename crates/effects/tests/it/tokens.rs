//! Tokens of a local identity provider, with real signatures and requests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use charter_effects::{ExpectedIdToken, IssuerOptions, Issuers, TokenAlgorithm, TokenRefused};
use charter_testkit::issuer::{IssuerServer, TokenKey};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rsa::pkcs1::EncodeRsaPrivateKey;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_secs(3_600);

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

fn options(server: &IssuerServer) -> IssuerOptions {
    IssuerOptions {
        issuer: server.issuer(),
        audiences: vec!["charter".to_owned()],
        jwks_url: None,
        algorithms: vec![
            TokenAlgorithm::Rs256,
            TokenAlgorithm::Es256,
            TokenAlgorithm::EdDsa,
        ],
        leeway: Duration::from_secs(5),
        max_age: HOUR,
        stale: HOUR,
        refresh: HOUR,
        timeout: Duration::from_secs(5),
    }
}

fn issuers(options: IssuerOptions) -> Issuers {
    Issuers::new(vec![options]).unwrap()
}

fn claims(server: &IssuerServer, changed: Value) -> Value {
    let mut claims =
        json!({"iss": server.issuer(), "aud": "charter", "sub": "ann", "exp": now() + 600});
    let Value::Object(changed) = changed else {
        panic!("claims are an object");
    };
    for (claim, value) in changed {
        claims[claim] = value;
    }
    claims
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    claims
}

fn started(keys: &[&TokenKey]) -> IssuerServer {
    let public = keys.iter().map(|key| key.public().unwrap());
    IssuerServer::start(public.collect()).unwrap()
}

#[track_caller]
fn untrusted<T: std::fmt::Debug>(result: Result<T, TokenRefused>, why: &str) {
    match result {
        Err(TokenRefused::Untrusted(said)) => assert!(said.contains(why), "{said}"),
        other => panic!("{other:?}"),
    }
}

/// Each algorithm; the keys are found by the discovery document, and fetched once.
#[tokio::test]
async fn a_validly_signed_token_is_accepted() {
    let rsa = rsa::RsaPrivateKey::new(&mut rand_core::OsRng, 2048).unwrap();
    let rsa = EncodingKey::from_rsa_der(rsa.to_pkcs1_der().unwrap().as_bytes());
    let rsa = TokenKey::new("r", Algorithm::RS256, rsa);
    let (ed, ec) = (
        TokenKey::ed25519("e").unwrap(),
        TokenKey::p256("p").unwrap(),
    );
    let server = started(&[&rsa, &ed, &ec]);
    let issuers = issuers(options(&server));
    let claims = claims(&server, json!({"org": {"id": 7}, "nbf": now() - 1}));
    for key in [&rsa, &ed, &ec] {
        let believed = issuers.believe(&key.sign(&claims).unwrap()).await.unwrap();
        assert_eq!(believed.issuer, server.issuer());
        assert_eq!(Value::Object(believed.claims), claims);
    }
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn a_token_for_another_audience_or_time_is_refused() {
    let key = TokenKey::ed25519("e").unwrap();
    let server = started(&[&key]);
    let issuers = issuers(options(&server));
    for (changed, why) in [
        (json!({"aud": "other"}), "for another audience"),
        (json!({"aud": ["other", "another"]}), "for another audience"),
        (json!({"aud": null}), "lacks"),
        (json!({"exp": now() - 60}), "has expired"),
        (json!({"exp": null}), "lacks"),
        (json!({"exp": "tomorrow"}), "lacks"),
        (json!({"nbf": now() + 60}), "not valid yet"),
        (
            json!({"iss": "https://elsewhere.example"}),
            "issuer is unknown",
        ),
        (json!({"iss": null}), "names no issuer"),
        (json!({"iss": [server.issuer()]}), "names no issuer"),
    ] {
        let token = key.sign(&claims(&server, changed.clone())).unwrap();
        untrusted(issuers.believe(&token).await, why);
    }
    // A small clock skew is tolerated, and one of several audiences suffices.
    let late = claims(
        &server,
        json!({"exp": now() - 2, "aud": ["other", "charter"]}),
    );
    issuers.believe(&key.sign(&late).unwrap()).await.unwrap();
}

/// A token is refused if it is unsigned, signed with a shared secret or another issuer's key, or with another algorithm
/// than its key's.
#[tokio::test]
async fn a_token_not_signed_by_its_issuer_is_refused() {
    let (key, other) = (
        TokenKey::ed25519("e").unwrap(),
        TokenKey::ed25519("e").unwrap(),
    );
    let ec = TokenKey::p256("p").unwrap();
    let server = started(&[&key]);
    let issuers = issuers(options(&server));
    let claims = claims(&server, json!({}));
    let good = key.sign(&claims).unwrap();
    issuers.believe(&good).await.unwrap();
    untrusted(
        issuers.believe(&other.sign(&claims).unwrap()).await,
        "signature is wrong",
    );
    // The public key used as a shared secret.
    let public = key.public().unwrap()["x"].as_str().unwrap().to_owned();
    for secret in [public.as_bytes(), b""] {
        let shared = TokenKey::new("e", Algorithm::HS256, EncodingKey::from_secret(secret));
        untrusted(
            issuers.believe(&shared.sign(&claims).unwrap()).await,
            "not accepted",
        );
    }
    // The id belongs to a key of another type.
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some("e".to_owned());
    let crossed = ec.sign_with(&header, &claims).unwrap();
    untrusted(
        issuers.believe(&crossed).await,
        "not signed with a key of its issuer",
    );
    // Unknown critical extensions are refused.
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some("e".to_owned());
    header.crit = Some(vec!["exp".to_owned()]);
    let critical = key.sign_with(&header, &claims).unwrap();
    untrusted(
        issuers.believe(&critical).await,
        "unsupported `crit` header",
    );
    let parts: Vec<&str> = good.split('.').collect();
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", parts[1]);
    untrusted(issuers.believe(&unsigned).await, "not a signed token");
    let mut changed = parts.clone();
    let forged = self::claims(&server, json!({"sub": "root"}));
    let forged = other.sign(&forged).unwrap();
    changed[1] = forged.split('.').nth(1).unwrap();
    untrusted(
        issuers.believe(&changed.join(".")).await,
        "signature is wrong",
    );
    for broken in [
        "",
        "a.b.c",
        parts[0],
        &good[..good.len() - 4],
        &format!("{good}.x"),
    ] {
        assert!(issuers.believe(broken).await.is_err(), "{broken}");
    }
    untrusted(issuers.believe(&"x".repeat(17 << 10)).await, "too long");
}

/// A new key is found when a token names it, as soon as the issuer may be contacted again.
#[tokio::test]
async fn a_new_key_of_the_issuer_is_fetched() {
    let (old, new) = (
        TokenKey::ed25519("1").unwrap(),
        TokenKey::p256("2").unwrap(),
    );
    let server = started(&[&old]);
    let mut at_once = options(&server);
    at_once.refresh = Duration::ZERO;
    let (at_once, later) = (issuers(at_once), issuers(options(&server)));
    let claims = claims(&server, json!({}));
    for issuers in [&at_once, &later] {
        issuers.believe(&old.sign(&claims).unwrap()).await.unwrap();
    }
    server.set_keys(vec![new.public().unwrap()]);
    at_once.believe(&new.sign(&claims).unwrap()).await.unwrap();
    // The old key was removed with its set.
    untrusted(
        at_once.believe(&old.sign(&claims).unwrap()).await,
        "not signed with a key of its issuer",
    );
    untrusted(
        later.believe(&new.sign(&claims).unwrap()).await,
        "not signed with a key of its issuer",
    );
}

/// The issuer is contacted once in the configured time, for all hostile tokens together.
#[tokio::test]
async fn unknown_keys_do_not_trigger_repeated_fetches() {
    let key = TokenKey::ed25519("e").unwrap();
    let server = started(&[&key]);
    let issuers = issuers(options(&server));
    let claims = claims(&server, json!({}));
    let hostile: Vec<String> = (0..50)
        .map(|n| TokenKey::ed25519(&format!("made up {n}")).unwrap())
        .map(|key| key.sign(&claims).unwrap())
        .collect();
    let asked = hostile.iter().map(|token| issuers.believe(token));
    for refused in futures_util::future::join_all(asked).await {
        untrusted(refused, "not signed with a key of its issuer");
    }
    issuers.believe(&key.sign(&claims).unwrap()).await.unwrap();
    assert_eq!(server.asked(), 1);
    // A token of an unknown issuer causes no request.
    let elsewhere = self::claims(&server, json!({"iss": "http://127.0.0.1:1"}));
    let refused = issuers.believe(&key.sign(&elsewhere).unwrap()).await;
    untrusted(refused, "issuer is unknown");
}

/// Cached keys stay valid for a limited time when the issuer is down; not every token causes a request.
#[tokio::test]
async fn cached_keys_of_an_unreachable_issuer_stay_valid_for_a_time() {
    let key = TokenKey::ed25519("e").unwrap();
    let server = started(&[&key]);
    let mut short = options(&server);
    (short.max_age, short.refresh) = (Duration::ZERO, Duration::ZERO);
    let mut none = short.clone();
    none.stale = Duration::ZERO;
    let (short, none) = (issuers(short), issuers(none));
    let token = key.sign(&claims(&server, json!({}))).unwrap();
    short.believe(&token).await.unwrap();
    server.set_failing(true);
    short.believe(&token).await.unwrap();
    let refused = none.believe(&token).await.unwrap_err();
    assert_eq!(refused, TokenRefused::Unavailable(server.issuer()));
    let never = issuers(options(&server));
    let before = server.asked();
    for _ in 0..5 {
        let refused = never.believe(&token).await.unwrap_err();
        assert_eq!(refused, TokenRefused::Unavailable(server.issuer()));
    }
    assert_eq!(server.asked(), before + 1);
    server.set_failing(false);
    none.believe(&token).await.unwrap();
}

/// Keys for other purposes, or too weak ones, verify nothing; a set of another issuer is refused.
#[tokio::test]
async fn keys_that_are_not_for_signing_are_not_used() {
    let key = TokenKey::ed25519("e").unwrap();
    let server = started(&[&key]);
    let mut options = options(&server);
    options.refresh = Duration::ZERO;
    let issuers = issuers(options);
    let token = key.sign(&claims(&server, json!({}))).unwrap();
    issuers.believe(&token).await.unwrap();
    for (field, value) in [
        ("use", json!("enc")),
        ("alg", json!("ES256")),
        ("kid", json!("other")),
        ("crv", json!("P-256")),
        ("kty", json!("oct")),
    ] {
        let mut public = key.public().unwrap();
        public[field] = value;
        server.set_keys(vec![json!({"kty": "new"}), public]);
        // Cached keys are used up to their age: a token that names another key triggers a fetch.
        let next = TokenKey::ed25519("next").unwrap();
        let unknown = next.sign(&claims(&server, json!({}))).unwrap();
        assert!(issuers.believe(&unknown).await.is_err());
        assert!(issuers.believe(&token).await.is_err(), "{field}");
    }
    let weak = EncodingKey::from_rsa_der(
        rsa::RsaPrivateKey::new(&mut rand_core::OsRng, 1024)
            .unwrap()
            .to_pkcs1_der()
            .unwrap()
            .as_bytes(),
    );
    let weak = TokenKey::new("w", Algorithm::RS256, weak);
    server.set_keys(vec![key.public().unwrap(), weak.public().unwrap()]);
    let short = weak.sign(&claims(&server, json!({}))).unwrap();
    untrusted(
        issuers.believe(&short).await,
        "not signed with a key of its issuer",
    );
    issuers.believe(&token).await.unwrap();
}

#[tokio::test]
async fn a_discovery_document_must_name_its_issuer() {
    let key = TokenKey::ed25519("e").unwrap();
    let server = started(&[&key]);
    let issuers = issuers(options(&server));
    server.pretend("http://127.0.0.1:1");
    let token = key.sign(&claims(&server, json!({}))).unwrap();
    let refused = issuers.believe(&token).await.unwrap_err();
    assert_eq!(refused, TokenRefused::Unavailable(server.issuer()));
}

/// Settings that would accept every token, or none, prevent the start.
#[test]
fn an_issuer_needs_tls_an_audience_and_an_algorithm() {
    let fine = IssuerOptions {
        issuer: "https://id.example.com".to_owned(),
        audiences: vec!["charter".to_owned()],
        jwks_url: None,
        algorithms: vec![TokenAlgorithm::Rs256],
        leeway: Duration::ZERO,
        max_age: HOUR,
        stale: HOUR,
        refresh: HOUR,
        timeout: HOUR,
    };
    assert!(Issuers::new(vec![fine.clone()]).is_ok());
    assert!(Issuers::new(vec![fine.clone(), fine.clone()]).is_err());
    let changed: [fn(&mut IssuerOptions); 5] = [
        |options| options.issuer = "http://id.example.com".to_owned(),
        |options| options.issuer = "id.example.com".to_owned(),
        |options| options.jwks_url = Some("http://id.example.com/keys".to_owned()),
        |options| options.audiences.clear(),
        |options| options.algorithms.clear(),
    ];
    for change in changed {
        let mut options = fine.clone();
        change(&mut options);
        assert!(Issuers::new(vec![options.clone()]).is_err(), "{options:?}");
    }
}

/// An ID token counts only for the client that requested it, in answer to that request, and from that issuer.
#[tokio::test]
async fn an_id_token_is_the_answer_to_one_request_of_one_client() {
    let key = TokenKey::ed25519("one").unwrap();
    let server = started(&[&key]);
    let issuers = issuers(options(&server));
    let issuer = server.issuer();
    let expected = ExpectedIdToken {
        issuer: &issuer,
        client_id: "console",
        nonce: Some("n-1"),
    };
    let believe = async |changed: Value, expected: &ExpectedIdToken<'_>| {
        let fitting = json!({"aud": "console", "nonce": "n-1"});
        let mut claims = claims(&server, fitting);
        for (claim, value) in changed.as_object().unwrap() {
            claims[claim] = value.clone();
        }
        let token = key.sign(&claims).unwrap();
        issuers.believe_id_token(&token, expected).await
    };
    let verified = believe(json!({}), &expected).await.unwrap();
    assert_eq!(verified.claims["sub"], "ann");
    let shared = json!({"aud": ["console", "other"], "azp": "console"});
    assert!(believe(shared, &expected).await.is_ok());
    for (changed, why) in [
        (json!({"nonce": "n-2"}), "another request"),
        (json!({"nonce": null}), "another request"),
        (json!({"aud": "charter"}), "another audience"),
        (json!({"azp": "other"}), "another client"),
        (
            json!({"aud": ["console", "other"]}),
            "does not name the client",
        ),
        (json!({"exp": now() - 60}), "expired"),
    ] {
        untrusted(believe(changed, &expected).await, why);
    }
    let other = ExpectedIdToken {
        issuer: "https://id.example.com",
        ..expected
    };
    untrusted(believe(json!({}), &other).await, "another issuer");
    let refreshed = ExpectedIdToken {
        nonce: None,
        ..expected
    };
    assert!(believe(json!({"nonce": null}), &refreshed).await.is_ok());
}
