use std::future::pending;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use axum::body::{Body, Bytes};
use axum::routing::get;
use charter_contract::bounds::ANSWER_PAUSE_MS;
use futures_util::stream;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use super::*;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
const WAIT: &[u8] = b"GET /waits HTTP/1.1\r\nhost: localhost\r\n\r\n";
const ENDLESS: &[u8] = b"GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n";
const NEVER: &[u8] = b"GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n";
const LARGE: &[u8] = b"GET /large HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const HALF: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nx-half: ";

/// The body of `/large`: larger than the buffers of a connection.
const LARGE_BYTES: usize = 32 << 20;

/// A part of the body of `/endless`.
const PART: &[u8] = &[b'x'; 4_096];

/// The longest wait of a client in these tests.
const DEADLINE: Duration = Duration::from_secs(30);

struct TestServer {
    address: SocketAddr,
    /// A permit lets a request to `/waits` be answered; an arrived request adds a permit to `came`.
    answers: Arc<Semaphore>,
    came: Arc<Semaphore>,
    /// A request to `/never`, and the answer to one to `/large`, hold its permit.
    held: Arc<Semaphore>,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

/// The routes of these tests, over the semaphores of [`TestServer`].
fn routes(answers: &Arc<Semaphore>, came: &Arc<Semaphore>, held: &Arc<Semaphore>) -> Router {
    let (permits, told) = (Arc::clone(answers), Arc::clone(came));
    let waits = move || {
        let (permits, told) = (Arc::clone(&permits), Arc::clone(&told));
        async move {
            told.add_permits(1);
            permits.acquire().await.unwrap().forget();
            "late"
        }
    };
    let told = Arc::clone(came);
    let endless = move || {
        let told = Arc::clone(&told);
        async move {
            told.add_permits(1);
            let part = Ok::<_, Infallible>(Bytes::from_static(PART));
            Body::from_stream(stream::repeat(part))
        }
    };
    let (told, permits) = (Arc::clone(came), Arc::clone(held));
    let never = move || {
        let (told, permits) = (Arc::clone(&told), Arc::clone(&permits));
        async move {
            let _permit = permits.acquire_owned().await.unwrap();
            told.add_permits(1);
            pending::<&'static str>().await
        }
    };
    let held = Arc::clone(held);
    let large = move || {
        let held = Arc::clone(&held);
        async move {
            let permit = held.acquire_owned().await.unwrap();
            Body::new(HeldBody::new(Body::from(vec![b'x'; LARGE_BYTES]), permit))
        }
    };
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/waits", get(waits))
        .route("/endless", get(endless))
        .route("/never", get(never))
        .route("/large", get(large))
}

async fn served_with(connections: usize, head: Duration) -> TestServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let [answers, came, held] = [0, 0, 1].map(|permits| Arc::new(Semaphore::new(permits)));
    let routes = routes(&answers, &came, &held);
    let limits = Limits {
        connections,
        head,
        ..Limits::default()
    };
    let stop = CancellationToken::new();
    let asked = stop.clone();
    let ended = tokio::spawn(async move {
        serve(listener, routes, limits, asked.cancelled()).await;
    });
    TestServer {
        address,
        answers,
        came,
        held,
        stop,
        ended,
    }
}

impl TestServer {
    /// A connection on which these bytes were sent.
    fn sent(&self, bytes: &[u8]) -> TcpStream {
        sent(self.address, bytes)
    }
}

fn sent(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    client.write_all(bytes).unwrap();
    client
}

/// Reads until `end`, or until the connection is closed.
fn read_to(client: &mut TcpStream, end: &str) -> String {
    let (mut text, mut bytes) = (String::new(), [0; 4_096]);
    while !text.ends_with(end) || end.is_empty() {
        match client.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => text.push_str(std::str::from_utf8(&bytes[..count]).unwrap()),
            // A connection that is closed with unread bytes is reset.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}, after {text:?}"),
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_heads_are_closed_for_new_connections() {
    let server = served_with(4, DEADLINE).await;
    let mut silent: Vec<TcpStream> = (0..12).map(|_| server.sent(HALF)).collect();
    for _ in 0..3 {
        let answer = read_to(&mut server.sent(GET), "hello");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    for client in &mut silent[..8] {
        assert_eq!(read_to(client, ""), "");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_sent_head_times_out() {
    let server = served_with(4, Duration::from_millis(100)).await;
    let mut silent = server.sent(HALF);
    let mut mute = server.sent(b"");
    assert_eq!(read_to(&mut silent, ""), "");
    assert_eq!(read_to(&mut mute, ""), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_carries_several_requests() {
    let server = served_with(4, DEADLINE).await;
    let mut client = TcpStream::connect(server.address).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    for _ in 0..3 {
        client.write_all(GET).unwrap();
        assert!(read_to(&mut client, "hello").starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_being_answered_is_not_closed_for_new_connections() {
    let server = served_with(2, DEADLINE).await;
    let mut waiting = [server.sent(WAIT), server.sent(WAIT)];
    server.came.acquire_many(2).await.unwrap().forget();
    assert_eq!(read_to(&mut server.sent(GET), ""), "");
    server.answers.add_permits(2);
    for client in &mut waiting {
        assert!(read_to(client, "late").starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

/// The connection is blocked once the buffers between server and client are full.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_its_answer_times_out() {
    let pause = Duration::from_millis(ANSWER_PAUSE_MS as u64);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = sent(listener.local_addr().unwrap(), ENDLESS);
    let (stream, _) = listener.accept().await.unwrap();
    let connections = Arc::new(Connections::new(1, DEADLINE));
    let open = connections.open(Instant::now()).unwrap();
    let (pace, closed) = (Arc::clone(&open.pace), open.closed.clone());
    let [answers, came, held] = [0; 3].map(|permits| Arc::new(Semaphore::new(permits)));
    let routes = routes(&answers, &came, &held);
    let serving = tokio::spawn(served(stream, routes, open, CancellationToken::new()));
    came.acquire().await.unwrap().forget();
    let blocked = async {
        loop {
            // While a request is answered, the server waits for nothing else.
            if let Some(since) = pace.waits_since() {
                return since;
            }
            yield_now().await;
        }
    };
    let since = timeout(DEADLINE, blocked).await.unwrap();
    connections.close_overdue(since + pause - Duration::from_secs(1));
    assert!(!closed.is_cancelled());
    let overdue = async {
        // Each part that still fits into the buffers restarts the pause.
        while !closed.is_cancelled() {
            connections.close_overdue(Instant::now() + pause);
            yield_now().await;
        }
        serving.await.unwrap();
    };
    timeout(DEADLINE, overdue).await.unwrap();
    assert!(read_to(&mut client, "").starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_its_answer_is_closed_for_new_connections() {
    let server = served_with(1, DEADLINE).await;
    let mut client = server.sent(ENDLESS);
    server.came.acquire().await.unwrap().forget();
    let begun = Instant::now();
    let answer = loop {
        // There is no room until the connection of the other client is blocked.
        let answer = read_to(&mut server.sent(GET), "hello");
        if !answer.is_empty() {
            break answer;
        }
        assert!(begun.elapsed() < DEADLINE);
    };
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(read_to(&mut client, "").starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_are_reserved_until_the_client_has_read_the_answer() {
    let server = served_with(4, DEADLINE).await;
    let mut client = server.sent(LARGE);
    let mut head = [0; 15];
    client.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    assert_eq!(server.held.available_permits(), 0);
    let answer = read_to(&mut client, "");
    assert!(answer.len() > LARGE_BYTES, "{}", answer.len());
    let given_back = timeout(DEADLINE, server.held.acquire()).await;
    drop(given_back.unwrap().unwrap());
}

/// The server watches a connection while it answers a request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_cancelled_when_its_client_closes_the_connection() {
    let server = served_with(4, DEADLINE).await;
    let client = server.sent(NEVER);
    server.came.acquire().await.unwrap().forget();
    assert_eq!(server.held.available_permits(), 0);
    drop(client);
    let given_back = timeout(DEADLINE, server.held.acquire()).await;
    drop(given_back.unwrap().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_is_too_long_is_refused() {
    let server = served_with(4, DEADLINE).await;
    let long = "x".repeat(HEAD_BYTES);
    let head = format!("GET / HTTP/1.1\r\nhost: localhost\r\nx-long: {long}\r\n\r\n");
    let answer = read_to(&mut server.sent(head.as_bytes()), "");
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_finishes_requests_in_progress() {
    let server = served_with(4, DEADLINE).await;
    let mut idle = server.sent(GET);
    assert!(read_to(&mut idle, "hello").ends_with("hello"));
    let mut waiting = server.sent(WAIT);
    server.came.acquire().await.unwrap().forget();
    server.stop.cancel();
    assert_eq!(read_to(&mut idle, ""), "");
    server.answers.add_permits(1);
    assert!(read_to(&mut waiting, "").ends_with("late"));
    server.ended.await.unwrap();
}
