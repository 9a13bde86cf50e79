//! Fetching the sources of a lens from real servers, and refusals.

use std::net::SocketAddr;
use std::time::Duration;

use charter_effects::{
    Fetched, RawSource, SourceError, SourceFault, SourceRequest, Sources, Validators,
};
use charter_testkit::http_stub::{HttpStub, Pacing, Reply};
use tokio_util::sync::CancellationToken;

use crate::support::sandbox;

/// A server whose pages depend on their path only.
fn serve(ip: &str, page: impl Fn(&str) -> Reply + Send + Sync + 'static) -> HttpStub {
    let stub = HttpStub::start_at(ip.parse().unwrap(), move |request, _| page(&request.path));
    stub.unwrap()
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
async fn b000_16_private_addresses_are_refused_unless_listed() {
    let server = serve("127.0.0.1", |_| Reply::text(200, "hello"));
    let address = server.address();
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
    let inside = serve("127.0.0.2", |_| Reply::text(200, "secret"));
    let away = inside.url("/");
    let server = serve("127.0.0.1", move |path| match path {
        "/away" => Reply::redirect(&away),
        "/near" => Reply::empty(308).with_header("location", "/page"),
        "/page" => Reply::text(200, "page"),
        "/loop" => Reply::redirect("/loop"),
        "/file" => Reply::redirect("file:///etc/passwd"),
        _ => Reply::empty(404),
    });
    let address = server.address();
    assert_eq!(text(&request(address, "/near")).await, "page");
    let away = fetch(&request(address, "/away")).await.unwrap_err();
    assert_eq!(away.kind, SourceFault::Refused);
    assert!(away.message.contains("127.0.0.2"), "{away}");
    let file = fetch(&request(address, "/file")).await.unwrap_err();
    assert_eq!(file.kind, SourceFault::Refused);
    let circle = fetch(&request(address, "/loop")).await.unwrap_err();
    assert!(
        circle.message.ends_with("has more than 5 redirects"),
        "{circle}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_a_page_of_50_mib_is_refused_with_and_without_content_length() {
    const SIZE: usize = 50 << 20;
    let bytes = |body: Vec<u8>| Reply::new(200, "application/octet-stream", body);
    // 50 MiB of one letter, compressed to some 50 KiB.
    let packed = || {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, &vec![b'x'; SIZE]).unwrap();
        packer.finish().unwrap()
    };
    let server = serve("127.0.0.1", move |path| match path {
        "/whole" => bytes(vec![b'x'; SIZE]),
        "/streamed" => bytes(vec![b'x'; SIZE]).paced(Pacing::Pieces(1 << 20)),
        "/packed" => bytes(packed()).with_header("content-encoding", "gzip"),
        _ => Reply::empty(404),
    });
    let address = server.address();
    for path in ["/whole", "/streamed", "/packed"] {
        let error = fetch(&request(address, path)).await.unwrap_err();
        assert_eq!(error.kind, SourceFault::Unusable);
        let expected = format!("http://{address}{path} has more than 33554432 bytes");
        assert_eq!(error.message, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_an_unchanged_source_is_not_fetched_again() {
    let server = HttpStub::start(|request, _| {
        let known = request.headers.get("if-none-match");
        match known.map(String::as_str) {
            Some("\"v1\"") => Reply::empty(304),
            Some(_) | None => Reply::text(200, "hello").with_header("etag", "\"v1\""),
        }
    });
    let server = server.unwrap();
    let first = request(server.address(), "/");
    let Ok(Fetched::Source(_, known)) = fetch(&first).await else {
        panic!("the page was not fetched");
    };
    assert_eq!(known.etag.as_deref(), Some("\"v1\""));
    let again = SourceRequest { known, ..first };
    assert_eq!(fetch(&again).await, Ok(Fetched::NotModified));
}

#[tokio::test(flavor = "multi_thread")]
async fn b000_16_failures_quote_the_response() {
    let server = serve("127.0.0.1", |path| match path {
        "/slow" => Reply::never(),
        _ => Reply::empty(404),
    });
    let address = server.address();
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
