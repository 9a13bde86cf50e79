use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use axum::routing::get;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::*;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
const WAIT: &[u8] = b"GET /waits HTTP/1.1\r\nhost: localhost\r\n\r\n";
const HALF: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nx-half: ";

/// How long a client of these tests waits for anything.
const DEADLINE: Duration = Duration::from_secs(30);

struct Served {
    address: SocketAddr,
    /// A permit lets a request to `/waits` be answered; one that has come took a permit of the other.
    answers: Arc<Semaphore>,
    came: Arc<Semaphore>,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

async fn served_with(connections: usize, head: Duration) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (answers, came) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (held, told) = (Arc::clone(&answers), Arc::clone(&came));
    let waits = move || {
        let (held, told) = (Arc::clone(&held), Arc::clone(&told));
        async move {
            told.add_permits(1);
            held.acquire().await.unwrap().forget();
            "late"
        }
    };
    let routes = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/waits", get(waits));
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
    Served {
        address,
        answers,
        came,
        stop,
        ended,
    }
}

impl Served {
    /// A connection on which so much was sent.
    fn sent(&self, bytes: &[u8]) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(DEADLINE)).unwrap();
        client.write_all(bytes).unwrap();
        client
    }
}

/// What comes until `end`, or until the connection is closed.
fn read_to(client: &mut TcpStream, end: &str) -> String {
    let (mut text, mut bytes) = (String::new(), [0; 4_096]);
    while !text.ends_with(end) || end.is_empty() {
        match client.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => text.push_str(std::str::from_utf8(&bytes[..count]).unwrap()),
            // What was closed with something unread is reset.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}, after {text:?}"),
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_heads_make_room_for_others() {
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
async fn a_half_sent_head_is_closed_in_time() {
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
async fn a_request_that_is_answered_does_not_make_room() {
    let server = served_with(2, DEADLINE).await;
    let mut waiting = [server.sent(WAIT), server.sent(WAIT)];
    server.came.acquire_many(2).await.unwrap().forget();
    assert_eq!(read_to(&mut server.sent(GET), ""), "");
    server.answers.add_permits(2);
    for client in &mut waiting {
        assert!(read_to(client, "late").starts_with("HTTP/1.1 200 OK\r\n"));
    }
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
async fn what_is_being_answered_is_finished_at_the_end() {
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
