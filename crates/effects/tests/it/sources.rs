//! What is fetched for a lens, from real servers, and what is not.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use charter_effects::{
    Fetched, RawSource, SourceError, SourceFault, SourceRequest, Sources, Validators,
};
use tokio_util::sync::CancellationToken;

use crate::support::sandbox;

async fn serve(routes: Router, at: &str) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind(at).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

fn request(address: SocketAddr, path: &str) -> SourceRequest {
    SourceRequest {
        url: format!("http://{address}{path}"),
        egress: vec![address.to_string().parse().unwrap()],
        max_bytes: 32 << 20,
        timeout: Duration::from_secs(20),
        known: Validators::default(),
    }
}

async fn fetch(request: &SourceRequest) -> Result<Fetched, SourceError> {
    let fixture = sandbox().await;
    fixture
        .sandbox
        .fetch(request, &CancellationToken::new())
        .await
}

async fn text(request: &SourceRequest) -> String {
    match fetch(request).await {
        Ok(Fetched::Source(RawSource { bytes, .. }, _)) => String::from_utf8(bytes).unwrap(),
        other => format!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_private_addresses_are_refused_unless_named() {
    let page = Router::new().route("/", get(|| async { "hello" }));
    let address = serve(page, "127.0.0.1:0").await;
    let named = request(address, "/");
    assert_eq!(text(&named).await, "hello");
    let unnamed = SourceRequest {
        egress: Vec::new(),
        ..named
    };
    let error = fetch(&unnamed).await.unwrap_err();
    assert_eq!(error.kind, SourceFault::Refused);
    assert_eq!(
        error.message,
        format!(
            "http://{address}/: 127.0.0.1 is 127.0.0.1, a private or local address that \
             `lenses.egress` does not name"
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_a_redirect_to_a_private_address_is_not_followed() {
    let secret = Router::new().route("/", get(|| async { "secret" }));
    let inside = serve(secret, "127.0.0.2:0").await;
    let away = format!("http://{inside}/");
    let routes = Router::new()
        .route(
            "/away",
            get(move || async move { Redirect::temporary(&away) }),
        )
        .route("/near", get(|| async { Redirect::permanent("/page") }))
        .route("/page", get(|| async { "page" }))
        .route("/loop", get(|| async { Redirect::temporary("/loop") }))
        .route(
            "/file",
            get(|| async { Redirect::temporary("file:///etc/passwd") }),
        );
    let address = serve(routes, "127.0.0.1:0").await;
    assert_eq!(text(&request(address, "/near")).await, "page");
    let away = fetch(&request(address, "/away")).await.unwrap_err();
    assert_eq!(away.kind, SourceFault::Refused);
    assert!(away.message.contains("127.0.0.2"), "{away}");
    let file = fetch(&request(address, "/file")).await.unwrap_err();
    assert_eq!(file.kind, SourceFault::Refused);
    let circle = fetch(&request(address, "/loop")).await.unwrap_err();
    assert!(
        circle
            .message
            .ends_with("leads through more than 5 redirects"),
        "{circle}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_a_page_of_50_mib_is_refused_announced_or_not() {
    const SIZE: usize = 50 << 20;
    let whole = || async { vec![b'x'; SIZE] };
    let streamed = || async {
        let piece = axum::body::Bytes::from(vec![b'x'; 1 << 20]);
        let pieces = futures_util::stream::iter(
            (0..50).map(move |_| Ok::<_, std::io::Error>(piece.clone())),
        );
        Body::from_stream(pieces)
    };
    // 50 MiB of one letter, compressed to some 50 KiB.
    let packed = || async {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, &vec![b'x'; SIZE]).unwrap();
        (
            [(header::CONTENT_ENCODING, "gzip")],
            packer.finish().unwrap(),
        )
    };
    let routes = Router::new()
        .route("/whole", get(whole))
        .route("/streamed", get(streamed))
        .route("/packed", get(packed));
    let address = serve(routes, "127.0.0.1:0").await;
    for path in ["/whole", "/streamed", "/packed"] {
        let error = fetch(&request(address, path)).await.unwrap_err();
        assert_eq!(error.kind, SourceFault::Unusable);
        let expected = format!("http://{address}{path} holds more than 33554432 bytes");
        assert_eq!(error.message, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_what_did_not_change_is_not_sent_again() {
    let page = |headers: HeaderMap| async move {
        match headers.get(header::IF_NONE_MATCH) {
            Some(known) if known == "\"v1\"" => StatusCode::NOT_MODIFIED.into_response(),
            Some(_) | None => ([(header::ETAG, "\"v1\"")], "hello").into_response(),
        }
    };
    let address = serve(Router::new().route("/", get(page)), "127.0.0.1:0").await;
    let first = request(address, "/");
    let Ok(Fetched::Source(_, known)) = fetch(&first).await else {
        panic!("the page was not fetched");
    };
    assert_eq!(known.etag.as_deref(), Some("\"v1\""));
    let again = SourceRequest { known, ..first };
    assert_eq!(fetch(&again).await, Ok(Fetched::NotModified));
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_failures_say_what_was_answered() {
    let routes = Router::new().route(
        "/slow",
        get(|| async {
            tokio::time::sleep(Duration::from_secs(600)).await;
        }),
    );
    let address = serve(routes, "127.0.0.1:0").await;
    let missing = fetch(&request(address, "/none")).await.unwrap_err();
    assert_eq!(missing.kind, SourceFault::Unusable);
    assert_eq!(
        missing.message,
        format!("http://{address}/none answered 404 Not Found")
    );
    let slow = SourceRequest {
        timeout: Duration::from_secs(1),
        ..request(address, "/slow")
    };
    let slow = fetch(&slow).await.unwrap_err();
    assert_eq!(slow.kind, SourceFault::Unreachable);
    assert_eq!(
        slow.message,
        format!("http://{address}/slow did not answer within 1 s")
    );
}
