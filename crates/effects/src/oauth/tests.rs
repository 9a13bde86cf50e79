//! The client against a scripted authorization server.

use charter_testkit::http_stub::{HttpStub, Reply, Request};
use serde_json::json;

use super::*;
use crate::secret::SecretSource;

/// A server with a discovery document, which answers token requests with `token`.
fn server(token: Reply) -> HttpStub {
    let answer = move |request: &Request, _| {
        let issuer = format!("http://{}", request.headers["host"]);
        match request.path.as_str() {
            "/.well-known/openid-configuration" => Reply::json(
                200,
                json!({
                    "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize?tenant=a"),
                    "token_endpoint": format!("{issuer}/token"), "revocation_endpoint": format!("{issuer}/revoke"),
                    "authorization_response_iss_parameter_supported": true,
                    "end_session_endpoint": format!("{issuer}/sign-out"),
                })
                .to_string(),
            ),
            "/token" => token.clone(),
            "/revoke" => Reply::empty(200),
            _ => Reply::empty(404),
        }
    };
    HttpStub::start(answer).unwrap()
}

fn client(stub: &HttpStub) -> OAuthClient {
    OAuthClient {
        server: ServerLocation::Discovered {
            issuer: stub.url(""),
        },
        registration: ClientRegistration::Configured,
        client_id: "charter".to_owned(),
        client_secret: Some(Secret::new(
            "s3cret+value",
            SecretSource::Variable("IDP".to_owned()),
        )),
        client_auth: ClientAuth::Basic,
        scopes: vec!["read".to_owned(), "offline_access".to_owned()],
        resource: None,
        parameters: BTreeMap::from([("prompt".to_owned(), "consent".to_owned())]),
        egress: vec![stub.address().to_string().parse().unwrap()],
        plain_http: PlainHttp::Loopback,
        timeout: OAuthClient::TIMEOUT,
    }
}

fn tokens() -> Reply {
    let issued = json!({"access_token": "at-1", "token_type": "Bearer", "expires_in": 60, "refresh_token": "rt-1"});
    Reply::json(200, issued.to_string())
}

fn code(issuer: Option<String>) -> TokenGrant {
    TokenGrant::AuthorizationCode {
        code: "the-code".to_owned(),
        verifier: "the-verifier".to_owned(),
        redirect_uri: "http://127.0.0.1:1/".to_owned(),
        issuer,
    }
}

fn body(request: &Request) -> String {
    String::from_utf8(request.bytes.clone()).unwrap()
}

#[tokio::test]
async fn a_user_is_sent_to_the_discovered_address_with_a_challenge() {
    let stub = server(tokens());
    let servers = HttpAuthorizationServers::new().unwrap();
    let request = AuthorizationRequest {
        redirect_uri: "http://127.0.0.1:1/".to_owned(),
        state: "st".to_owned(),
        code_challenge: "ch".to_owned(),
        nonce: None,
    };
    let url = servers.authorization_url(&client(&stub), &request).await;
    let expected = format!(
        "{}/authorize?tenant=a&response_type=code&client_id=charter&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2F&state=st\
         &code_challenge=ch&code_challenge_method=S256&scope=read+offline_access&prompt=consent",
        stub.url("")
    );
    assert_eq!(url, Ok(expected));
    assert_eq!(stub.seen().len(), 1);
}

/// Two credentials may have one issuer, and only one of them may allow connections without TLS.
#[tokio::test]
async fn addresses_without_tls_are_refused_to_a_credential_that_does_not_allow_them() {
    let answer = |request: &Request, _| {
        let issuer = format!("http://{}", request.headers["host"]);
        let plain = "http://login.example";
        let document = json!({
            "issuer": issuer, "authorization_endpoint": plain, "token_endpoint": plain,
        });
        Reply::json(200, document.to_string())
    };
    let stub = HttpStub::start(answer).unwrap();
    let servers = HttpAuthorizationServers::new().unwrap();
    let request = AuthorizationRequest {
        redirect_uri: "http://127.0.0.1:1/".to_owned(),
        state: "st".to_owned(),
        code_challenge: "ch".to_owned(),
        nonce: None,
    };
    let anywhere = OAuthClient {
        plain_http: PlainHttp::Anywhere,
        ..client(&stub)
    };
    let url = servers.authorization_url(&anywhere, &request).await;
    assert!(url.is_ok(), "{url:?}");
    let refused = servers.authorization_url(&client(&stub), &request).await;
    let fault = refused.map_err(|failure| failure.fault);
    assert_eq!(fault, Err(OAuthFault::Forbidden));
}

#[tokio::test]
async fn a_nonce_is_sent_where_an_id_token_is_requested() {
    let stub = server(tokens());
    let servers = HttpAuthorizationServers::new().unwrap();
    let request = AuthorizationRequest {
        redirect_uri: "http://127.0.0.1:1/".to_owned(),
        state: "st".to_owned(),
        code_challenge: "ch".to_owned(),
        nonce: Some("no".to_owned()),
    };
    let url = servers.authorization_url(&client(&stub), &request).await;
    let url = url.unwrap();
    assert!(
        url.contains("&code_challenge_method=S256&nonce=no&"),
        "{url}"
    );
}

#[tokio::test]
async fn a_user_ends_the_session_at_the_server_and_comes_back() {
    let stub = server(tokens());
    let servers = HttpAuthorizationServers::new().unwrap();
    let client = client(&stub);
    let url = servers.sign_out_url(&client, "http://127.0.0.1:1/console/");
    let expected = format!(
        "{}/sign-out?client_id=charter&post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fconsole%2F",
        stub.url("")
    );
    assert_eq!(url.await, Ok(Some(expected)));
}

#[tokio::test]
async fn a_code_is_exchanged_with_its_verifier_and_the_clients_secret() {
    let stub = server(tokens());
    let servers = HttpAuthorizationServers::new().unwrap();
    let issued = servers
        .request_token(&client(&stub), &code(Some(stub.url(""))))
        .await
        .unwrap();
    assert_eq!(issued.access_token, "at-1");
    assert_eq!(issued.expires_in, Some(Duration::from_secs(60)));
    assert_eq!(issued.refresh_token.as_deref(), Some("rt-1"));
    let seen = stub.seen();
    let sent = seen.last().unwrap();
    assert_eq!(
        body(sent),
        "grant_type=authorization_code&code=the-code&code_verifier=the-verifier&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2F"
    );
    // `charter:s3cret%2Bvalue`
    assert_eq!(
        sent.headers["authorization"],
        "Basic Y2hhcnRlcjpzM2NyZXQlMkJ2YWx1ZQ=="
    );
}

/// A response of another server, or one that hides its origin, is refused before its code is sent anywhere.
#[tokio::test]
async fn a_response_of_another_issuer_is_refused() {
    let stub = server(tokens());
    let servers = HttpAuthorizationServers::new().unwrap();
    for issuer in [Some("https://evil.example".to_owned()), None] {
        let refused = servers.request_token(&client(&stub), &code(issuer)).await;
        assert_eq!(refused.unwrap_err().fault, OAuthFault::Forbidden);
    }
    let requests = stub.seen();
    assert!(requests.iter().all(|request| request.path != "/token"));
}

#[tokio::test]
async fn an_issuer_on_a_private_address_must_be_listed() {
    let stub = server(tokens());
    let servers = HttpAuthorizationServers::new().unwrap();
    let closed = OAuthClient {
        egress: Vec::new(),
        ..client(&stub)
    };
    let refused = servers.request_token(&closed, &TokenGrant::ClientCredentials);
    let refused = refused.await.unwrap_err();
    assert_eq!(refused.fault, OAuthFault::Forbidden);
    assert!(
        refused.message.contains("a private or local address"),
        "{refused}"
    );
    assert_eq!(stub.connections(), 0);
}

#[tokio::test]
async fn a_document_about_another_issuer_is_refused() {
    let answer = |_: &Request, _| {
        let document = json!({"issuer": "https://other.example", "token_endpoint": "https://other.example/token"});
        Reply::json(200, document.to_string())
    };
    let stub = HttpStub::start(answer).unwrap();
    let servers = HttpAuthorizationServers::new().unwrap();
    let refused = servers
        .request_token(&client(&stub), &TokenGrant::ClientCredentials)
        .await;
    assert_eq!(refused.unwrap_err().fault, OAuthFault::Forbidden);
}

/// The server's text is quoted without what was sent to it.
#[tokio::test]
async fn a_refused_grant_is_told_from_a_failed_server() {
    let refusal =
        json!({"error": "invalid_grant", "error_description": "token rt-secret-1 was revoked"});
    let failing = Reply::text(503, "down");
    for (reply, fault) in [
        (Reply::json(400, refusal.to_string()), OAuthFault::Refused),
        (failing, OAuthFault::Unavailable),
        (
            Reply::json(401, "{\"error\": \"invalid_client\"}"),
            OAuthFault::Misconfigured,
        ),
    ] {
        let stub = server(reply);
        let servers = HttpAuthorizationServers::new().unwrap();
        let grant = TokenGrant::Refresh {
            refresh_token: "rt-secret-1".to_owned(),
        };
        let refused = servers
            .request_token(&client(&stub), &grant)
            .await
            .unwrap_err();
        assert_eq!(refused.fault, fault, "{refused}");
        assert!(!refused.message.contains("rt-secret-1"), "{refused}");
    }
}

#[tokio::test]
async fn a_token_is_revoked_where_the_server_says() {
    let stub = server(tokens());
    let servers = HttpAuthorizationServers::new().unwrap();
    let revoked = servers.revoke_token(&client(&stub), "rt-1").await;
    assert_eq!(revoked, Ok(()));
    let seen = stub.seen();
    let sent = seen.last().unwrap();
    assert_eq!(
        (sent.path.as_str(), body(sent)),
        ("/revoke", "token=rt-1".to_owned())
    );
}

#[test]
fn tokens_are_not_shown_by_debug() {
    let issued = TokenSet {
        access_token: "at-secret".to_owned(),
        expires_in: None,
        refresh_token: Some("rt-secret".to_owned()),
        scope: None,
        id_token: Some("it-secret".to_owned()),
    };
    let shown = format!("{issued:?} {:?}", code(None));
    assert!(
        !shown.contains("secret") && !shown.contains("the-code"),
        "{shown}"
    );
}

/// A resource whose challenge names its metadata, and its authorization server with another origin's issuer.
fn protected(metadata: fn(&str) -> serde_json::Value) -> HttpStub {
    let answer = move |request: &Request, _: usize| {
        let own = format!("http://{}", request.headers["host"]);
        match request.path.as_str() {
            "/mcp" => {
                let challenge = format!("Bearer resource_metadata=\"{own}/meta\", scope=\"tools\"");
                Reply::empty(401).with_header("www-authenticate", &challenge)
            }
            "/meta" => Reply::json(200, metadata(&own).to_string()),
            "/.well-known/oauth-authorization-server/as" => Reply::json(
                200,
                json!({
                    "issuer": format!("{own}/as"), "authorization_endpoint": format!("{own}/as/authorize"),
                    "token_endpoint": format!("{own}/token"), "registration_endpoint": format!("{own}/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["client_secret_post", "none"],
                })
                .to_string(),
            ),
            "/register" => Reply::json(201, json!({"client_id": "made-1", "client_secret": ""}).to_string()),
            "/token" => tokens(),
            _ => Reply::empty(404),
        }
    };
    HttpStub::start(answer).unwrap()
}

fn unbound(stub: &HttpStub) -> OAuthClient {
    OAuthClient {
        server: ServerLocation::OfResource {
            resource: stub.url("/mcp"),
        },
        registration: ClientRegistration::Dynamic,
        client_id: String::new(),
        client_secret: None,
        scopes: Vec::new(),
        parameters: BTreeMap::new(),
        ..client(stub)
    }
}

/// A client that nobody registered finds the server of a resource, registers itself, and names the resource in each
/// request.
#[tokio::test]
async fn a_client_is_bound_to_the_server_that_a_resource_names() {
    let stub =
        protected(|own| json!({"resource": own, "authorization_servers": [format!("{own}/as")]}));
    let servers = HttpAuthorizationServers::new().unwrap();
    let redirect = "http://127.0.0.1:1/";
    let bound = servers
        .bind_client(&unbound(&stub), redirect)
        .await
        .unwrap();
    assert_eq!(bound.issuer, Some(stub.url("/as")));
    assert_eq!(bound.resource, Some(stub.url("")));
    let registered = RegisteredClient {
        client_id: "made-1".to_owned(),
        client_secret: None,
        client_auth: ClientAuth::Basic,
    };
    assert_eq!(bound.registered, Some(registered));
    let seen = stub.seen();
    let order: serde_json::Value = serde_json::from_str(&body(seen.last().unwrap())).unwrap();
    assert_eq!(
        (
            &order["token_endpoint_auth_method"],
            &order["redirect_uris"]
        ),
        (&json!("none"), &json!([redirect]))
    );
    assert_eq!(
        (&order["scope"], &order["application_type"]),
        (&json!("tools"), &json!("native"))
    );

    let own = unbound(&stub).bound_as(&bound);
    let request = AuthorizationRequest {
        redirect_uri: redirect.to_owned(),
        state: "st".to_owned(),
        code_challenge: "ch".to_owned(),
        nonce: None,
    };
    let url = servers.authorization_url(&own, &request).await.unwrap();
    let encoded = stub.url("").replace(':', "%3A").replace('/', "%2F");
    assert!(
        url.contains("client_id=made-1")
            && url.ends_with(&format!("&scope=tools&resource={encoded}")),
        "{url}"
    );
    servers.request_token(&own, &code(None)).await.unwrap();
    let seen = stub.seen();
    let sent = body(seen.last().unwrap());
    assert!(
        sent.ends_with(&format!("&resource={encoded}&client_id=made-1")),
        "{sent}"
    );
}

#[tokio::test]
async fn metadata_about_another_resource_is_refused() {
    let stub = protected(
        |own| json!({"resource": "https://other.example/mcp", "authorization_servers": [format!("{own}/as")]}),
    );
    let servers = HttpAuthorizationServers::new().unwrap();
    let refused = servers
        .bind_client(&unbound(&stub), "http://127.0.0.1:1/")
        .await;
    assert_eq!(refused.unwrap_err().fault, OAuthFault::Forbidden);
}
