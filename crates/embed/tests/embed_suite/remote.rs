//! The remote embedder against a real HTTP server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use charter_embed::{ApiKey, Prefixes, RemoteEmbedder, RemoteError, RemoteOptions};
use charter_search::embed::{EmbedError, Embedder, VectorError};
use serde_json::{Value, json};

/// The server's reactions to requests in sequence; the last one repeats.
type Script = Vec<fn(&[Value]) -> Response>;

/// Authorization and texts of a request.
type SeenRequest = (Option<String>, Vec<Value>);

#[derive(Clone)]
struct Server {
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

async fn answer(
    State(server): State<Server>,
    headers: HeaderMap,
    Json(question): Json<Value>,
) -> Response {
    let key = headers
        .get("authorization")
        .map(|value| value.to_str().unwrap().to_owned());
    let texts = question["input"].as_array().unwrap().clone();
    let turn = {
        let mut seen = server.seen.lock().unwrap();
        seen.push((key, texts.clone()));
        seen.len() - 1
    };
    server.script[turn.min(server.script.len() - 1)](&texts)
}

async fn serve(script: Script) -> (Server, RemoteOptions) {
    crate::install_tls_provider();
    let server = Server {
        script: Arc::new(script),
        seen: Arc::default(),
    };
    let app = Router::new()
        .route("/v1/embeddings", post(answer))
        .with_state(server.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let base = format!("http://{address}/v1/").parse().unwrap();
    let mut options = RemoteOptions::new(base, "test-model", 3);
    options.first_retry_pause = Duration::from_millis(1);
    (server, options)
}

/// Returns vectors that encode their text's length, last text first.
fn vectors(texts: &[Value]) -> Response {
    let items: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| {
            let length = text.as_str().unwrap().len();
            json!({"object": "embedding", "index": index, "embedding": [length, 1, 0]})
        })
        .collect();
    Json(json!({"object": "list", "data": items, "model": "test-model"})).into_response()
}

fn busy(_: &[Value]) -> Response {
    (
        StatusCode::TOO_MANY_REQUESTS,
        [("retry-after", "0")],
        "slow down",
    )
        .into_response()
}

fn broken(_: &[Value]) -> Response {
    (StatusCode::BAD_GATEWAY, "no upstream").into_response()
}

fn forbidden(_: &[Value]) -> Response {
    (StatusCode::UNAUTHORIZED, "bad key").into_response()
}

fn with_dims_4(_: &[Value]) -> Response {
    Json(json!({"data": [{"index": 0, "embedding": [1, 2, 3, 4]}]})).into_response()
}

fn zero(_: &[Value]) -> Response {
    Json(json!({"data": [{"index": 0, "embedding": [0, 0, 0]}]})).into_response()
}

fn nothing(_: &[Value]) -> Response {
    Json(json!({"data": []})).into_response()
}

fn same_index_twice(_: &[Value]) -> Response {
    let item = json!({"index": 0, "embedding": [1, 0, 0]});
    Json(json!({"data": [item, item]})).into_response()
}

fn no_json(_: &[Value]) -> Response {
    "<html>".into_response()
}

fn endless(_: &[Value]) -> Response {
    " ".repeat(1 << 20).into_response()
}

async fn error_of(script: Script) -> (RemoteError, usize) {
    let (server, options) = serve(script).await;
    let embedder = RemoteEmbedder::new(options).unwrap();
    let error = error_of_embed(&embedder).await;
    let requests = server.seen.lock().unwrap().len();
    (error, requests)
}

async fn error_of_embed(embedder: &RemoteEmbedder) -> RemoteError {
    match embedder.embed(vec!["one".to_owned()]).await {
        Err(EmbedError::Remote { source }) => *source.downcast::<RemoteError>().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn vectors_come_in_the_order_of_the_texts_in_bounded_requests() {
    let (server, mut options) = serve(vec![vectors]).await;
    options.texts_per_request = 2;
    options.api_key = Some(ApiKey::new("secret"));
    let embedder = RemoteEmbedder::new(options).unwrap();
    let texts = ["a", "bb", "ccc"].map(str::to_owned).to_vec();
    let found = embedder.embed(texts).await.unwrap();
    let ratios: Vec<f32> = found
        .iter()
        .map(|vector| (vector.as_slice()[0] / vector.as_slice()[1]).round())
        .collect();
    assert_eq!(ratios, [1.0, 2.0, 3.0]);
    let key = Some("Bearer secret".to_owned());
    assert_eq!(
        *server.seen.lock().unwrap(),
        [
            (key.clone(), vec![json!("a"), json!("bb")]),
            (key, vec![json!("ccc")])
        ]
    );
    assert_eq!(embedder.model().to_string(), "test-model/provider");
    assert_eq!(embedder.count_tokens("a"), None);
}

fn prefixes(query: &str, document: &str) -> Prefixes {
    Prefixes {
        query: query.to_owned(),
        document: document.to_owned(),
    }
}

/// As e5, bge and arctic models were trained.
#[tokio::test]
async fn queries_and_documents_are_sent_with_the_prefix_of_their_role() {
    let (server, mut options) = serve(vec![vectors]).await;
    options.prefixes = prefixes("query: ", "passage: ");
    let embedder = RemoteEmbedder::new(options).unwrap();
    let texts = || ["a", "bb"].map(str::to_owned).to_vec();
    embedder.embed(texts()).await.unwrap();
    embedder.embed_queries(texts()).await.unwrap();
    let seen = server.seen.lock().unwrap();
    let sent: Vec<&Vec<Value>> = seen.iter().map(|(_, texts)| texts).collect();
    assert_eq!(
        sent,
        [
            &vec![json!("passage: a"), json!("passage: bb")],
            &vec![json!("query: a"), json!("query: bb")]
        ]
    );
}

#[tokio::test]
async fn without_prefixes_queries_and_documents_are_sent_as_they_are() {
    let (server, options) = serve(vec![vectors]).await;
    let embedder = RemoteEmbedder::new(options).unwrap();
    embedder.embed(vec!["a".to_owned()]).await.unwrap();
    embedder.embed_queries(vec!["a".to_owned()]).await.unwrap();
    let seen = server.seen.lock().unwrap();
    assert!(seen.iter().all(|(_, texts)| *texts == [json!("a")]));
    assert_eq!(seen.len(), 2);
}

async fn identity(prefixes: Prefixes) -> String {
    let (_, mut options) = serve(vec![vectors]).await;
    options.prefixes = prefixes;
    let embedder = RemoteEmbedder::new(options).unwrap();
    embedder.model().to_string()
}

/// Ruling 4: vectors of other prefixes are not mixed with these.
#[tokio::test]
async fn the_prefixes_are_part_of_the_models_identity() {
    let mut identities = vec![
        identity(Prefixes::default()).await,
        identity(prefixes("query: ", "passage: ")).await,
        identity(prefixes("query: ", "")).await,
        identity(prefixes("", "query: ")).await,
        identity(prefixes("query: pass", "age: ")).await,
    ];
    assert_eq!(identities[0], "test-model/provider");
    let again = identity(prefixes("query: ", "passage: ")).await;
    assert_eq!(again, identities[1]);
    assert!(again.starts_with("test-model+"), "{again}");
    identities.sort();
    identities.dedup();
    assert_eq!(identities.len(), 5);
}

#[tokio::test]
async fn a_failure_that_passes_is_retried() {
    let (server, options) = serve(vec![busy, broken, vectors]).await;
    let embedder = RemoteEmbedder::new(options).unwrap();
    let found = embedder.embed(vec!["one".to_owned()]).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(server.seen.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn retries_are_bounded() {
    let (error, requests) = error_of(vec![broken]).await;
    assert!(matches!(
        error,
        RemoteError::Refused { status: 502, ref message, .. } if message == "no upstream"
    ));
    assert_eq!(requests, 5);
}

#[tokio::test]
async fn a_refusal_that_stays_is_not_retried() {
    let (error, requests) = error_of(vec![forbidden, vectors]).await;
    assert!(matches!(error, RemoteError::Refused { status: 401, .. }));
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn b001_2_vectors_of_other_dims_or_without_direction_are_refused() {
    let (error, _) = error_of(vec![with_dims_4]).await;
    assert!(matches!(
        error,
        RemoteError::Vector {
            index: 0,
            source: VectorError::Dims {
                expected: 3,
                found: 4
            }
        }
    ));
    let (error, _) = error_of(vec![zero]).await;
    assert!(matches!(
        error,
        RemoteError::Vector {
            index: 0,
            source: VectorError::Zero
        }
    ));
}

#[tokio::test]
async fn malformed_answers_are_refused() {
    let (error, _) = error_of(vec![nothing]).await;
    assert!(matches!(error, RemoteError::Count { texts: 1 }));
    let (error, _) = error_of(vec![same_index_twice]).await;
    assert!(matches!(error, RemoteError::Count { texts: 1 }));
    let (error, _) = error_of(vec![no_json]).await;
    assert!(matches!(error, RemoteError::Form { .. }));
    let (error, _) = error_of(vec![endless]).await;
    assert!(matches!(error, RemoteError::TooLong { .. }));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_that_names_it() {
    let (_, mut options) = serve(vec![vectors]).await;
    // Port 1 is reserved and has no listener.
    options.base_url = "http://127.0.0.1:1/v1".parse().unwrap();
    let embedder = RemoteEmbedder::new(options).unwrap();
    assert!(matches!(
        error_of_embed(&embedder).await,
        RemoteError::Request { url, .. } if url == "http://127.0.0.1:1/v1/embeddings"
    ));
}

#[test]
fn a_key_is_never_shown() {
    assert_eq!(format!("{:?}", ApiKey::new("secret")), "ApiKey(…)");
}
