//! A scripted HTTP server for tests: it replies at once, in pieces, with a truncated body, or not at all. It records
//! every request and counts connections.
//!
//! Must not know the format of any API: a test supplies the bytes.

#![allow(
    clippy::expect_used,
    reason = "a reply that HTTP cannot carry is a defect of the test"
)]

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{spawn_blocking, yield_now};

/// Maximum size of a request body, in bytes; a larger one is answered with 413.
const MAX_BODY_BYTES: usize = 32 << 20;

/// A request that the stub received.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers by lower-case name; of a repeated header, the last value.
    pub headers: BTreeMap<String, String>,
    /// Body parsed as JSON; null if it is not JSON.
    pub body: Value,
    /// Raw body.
    pub bytes: Vec<u8>,
}

/// The timing of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// In one piece, with a `content-length`.
    AtOnce,
    /// Chunked, in pieces of this many bytes, each flushed by itself.
    Pieces(usize),
    /// Chunked; the connection closes after this many bytes of the body.
    BreakOffAfter(usize),
    /// Never: the connection stays open until the client closes it or the stub is dropped.
    Never,
    /// The connection closes without a reply.
    HangUp,
}

/// A reply that the stub sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers, apart from those that frame the message.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Timing of the reply.
    pub pacing: Pacing,
}

impl Reply {
    /// Creates a reply with a body of a content type.
    #[must_use]
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let reply = Self {
            body: body.into(),
            ..Self::empty(status)
        };
        reply.with_header("content-type", content_type)
    }

    /// Creates a reply without a body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            pacing: Pacing::AtOnce,
        }
    }

    /// Creates a JSON reply.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, "application/json", body)
    }

    /// Creates a plain text reply.
    #[must_use]
    pub fn text(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", body)
    }

    /// Creates a stream of server-sent events.
    #[must_use]
    pub fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream; charset=utf-8", body)
    }

    /// Creates a redirect that keeps the method (307).
    #[must_use]
    pub fn redirect(location: &str) -> Self {
        Self::empty(307).with_header("location", location)
    }

    /// Creates a missing reply on a connection that stays open.
    #[must_use]
    pub fn never() -> Self {
        Self::empty(200).paced(Pacing::Never)
    }

    /// Creates a missing reply on a connection that closes.
    #[must_use]
    pub fn hang_up() -> Self {
        Self::empty(200).paced(Pacing::HangUp)
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Changes the timing of the reply.
    #[must_use]
    pub fn paced(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }
}

type Answer = dyn Fn(&Request, usize) -> Reply + Send + Sync;

/// State shared with the server's tasks.
struct Shared {
    answer: Box<Answer>,
    seen: Mutex<Vec<Request>>,
    connections: AtomicUsize,
}

/// The server. It runs on its own thread until it is dropped.
pub struct HttpStub {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Present until the stub is dropped.
    runtime: Option<Runtime>,
}

impl HttpStub {
    /// Starts a stub on 127.0.0.1 that computes each reply from the request and the number of requests before it.
    /// `answer` may block: it runs on its own thread.
    ///
    /// # Errors
    /// If no port is free or no thread can be started.
    pub fn start(
        answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), answer)
    }

    /// Starts a stub like [`HttpStub::start`] on another address of this machine.
    ///
    /// # Errors
    /// If no port is free or no thread can be started.
    pub fn start_at(
        ip: IpAddr,
        answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((ip, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let app = Router::new()
            .fallback(serve)
            .with_state(Arc::clone(&shared));
        let counted = Arc::clone(&shared);
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener)?.tap_io(move |stream| {
                counted.connections.fetch_add(1, Ordering::SeqCst);
                // Sends each piece to the client immediately.
                drop(stream.set_nodelay(true));
            });
            axum::serve(listener, app).await
        });
        Ok(Self {
            address,
            shared,
            runtime: Some(runtime),
        })
    }

    /// Starts a stub that sends these replies in order, and status 500 to every later request.
    ///
    /// # Errors
    /// If no port is free or no thread can be started.
    pub fn answering(replies: Vec<Reply>) -> io::Result<Self> {
        Self::start(move |_, number| {
            let reply = replies.get(number).cloned();
            reply.unwrap_or_else(|| Reply::json(500, "{\"error\": \"no reply is left\"}"))
        })
    }

    /// Returns the listening address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of a path on the stub.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the received requests, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Request> {
        lock(&self.shared.seen).clone()
    }

    /// Returns the number of accepted connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for HttpStub {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Does not wait for blocked answers, and may be called from async tests.
            runtime.shutdown_background();
        }
    }
}

/// A stub that holds each call until the test replies.
pub struct HeldCalls {
    stub: HttpStub,
    calls: Receiver<HeldCall>,
}

impl HeldCalls {
    /// Starts the stub on 127.0.0.1.
    ///
    /// # Errors
    /// If no port is free or no thread can be started.
    pub fn start() -> io::Result<Self> {
        let (arrived, calls) = mpsc::channel();
        let stub = HttpStub::start(move |request, _| {
            let (reply, replied) = mpsc::channel();
            let request = request.clone();
            // Either end may be gone: the test is over, or it dropped the call.
            match arrived.send(HeldCall { request, reply }) {
                Ok(()) => replied.recv().unwrap_or_else(|_| Reply::hang_up()),
                Err(_) => Reply::hang_up(),
            }
        })?;
        Ok(Self { stub, calls })
    }

    /// Returns the listening address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.stub.address()
    }

    /// Waits up to `timeout` for the next call.
    #[must_use]
    pub fn next_within(&self, timeout: Duration) -> Option<HeldCall> {
        self.calls.recv_timeout(timeout).ok()
    }
}

/// A call that waits for its reply. Dropping it closes the connection without a reply.
pub struct HeldCall {
    /// The request.
    pub request: Request,
    reply: Sender<Reply>,
}

impl HeldCall {
    /// Sends the reply, unless the client has closed the connection.
    pub fn answer(self, reply: Reply) {
        drop(self.reply.send(reply));
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(State(shared): State<Arc<Shared>>, request: axum::extract::Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let headers = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.to_string(), value.into_owned())
    });
    let path = head.uri.path_and_query().map(ToString::to_string);
    let request = Request {
        method: head.method.to_string(),
        path: path.unwrap_or_default(),
        headers: headers.collect(),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
        bytes: bytes.to_vec(),
    };
    let number = {
        let mut seen = lock(&shared.seen);
        seen.push(request.clone());
        seen.len() - 1
    };
    let reply = spawn_blocking(move || (shared.answer)(&request, number)).await;
    respond(reply.unwrap_or_else(|_| Reply::hang_up())).await
}

async fn respond(reply: Reply) -> Response {
    let body = match reply.pacing {
        Pacing::AtOnce => Body::from(reply.body),
        Pacing::Pieces(bytes) => {
            let pieces = reply.body.chunks(bytes.max(1));
            chunked(
                pieces
                    .map(|piece| Ok(Bytes::copy_from_slice(piece)))
                    .collect(),
            )
        }
        Pacing::BreakOffAfter(bytes) => {
            let mut sent = reply.body;
            sent.truncate(bytes);
            let broken = io::Error::from(io::ErrorKind::ConnectionAborted);
            chunked(vec![Ok(sent.into()), Err(broken)])
        }
        Pacing::Never => pending().await,
        // axum has no way to leave a request unanswered. Unwinding ends the connection's task and thereby the
        // connection; it runs no panic hook, so nothing is printed.
        Pacing::HangUp => resume_unwind(Box::new("the stub hangs up")),
    };
    let head = Response::builder().status(reply.status);
    let head = reply
        .headers
        .iter()
        .fold(head, |head, (name, value)| head.header(name, value));
    head.body(body).expect("a status and headers of HTTP")
}

/// Returns a body that is sent chunk by chunk.
fn chunked(chunks: Vec<io::Result<Bytes>>) -> Body {
    let chunks = stream::iter(chunks).then(|chunk| async move {
        // hyper flushes pending data when the body is not ready: the head, or the previous chunk.
        yield_now().await;
        chunk
    });
    Body::from_stream(chunks)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::thread;

    use super::*;

    const SOON: Duration = Duration::from_secs(30);

    /// Sends a GET and returns everything received, also if the connection breaks.
    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: stub\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
        answer
    }

    fn body_of(stub: &HttpStub) -> String {
        let answer = get(stub.address(), "/");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        body.to_owned()
    }

    #[test]
    fn a_reply_is_sent_whole_in_pieces_or_truncated() {
        let reply = || Reply::text(200, "abcde");
        let stub = HttpStub::answering(vec![
            reply(),
            reply().paced(Pacing::Pieces(2)),
            reply().paced(Pacing::BreakOffAfter(3)),
        ]);
        let stub = stub.unwrap();
        assert_eq!(body_of(&stub), "abcde");
        let pieces = "2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n";
        assert_eq!(body_of(&stub), pieces);
        assert_eq!(body_of(&stub), "3\r\nabc\r\n");
        assert_eq!((stub.seen().len(), stub.connections()), (3, 3));
    }

    #[test]
    fn a_held_call_blocks_no_other_call_and_closes_when_dropped() {
        let held = HeldCalls::start().unwrap();
        let address = held.address();
        let first = thread::spawn(move || get(address, "/first"));
        let dropped = held.next_within(SOON).unwrap();
        let second = thread::spawn(move || get(address, "/second"));
        let call = held.next_within(SOON).unwrap();
        assert_eq!(
            (dropped.request.path.as_str(), call.request.path.as_str()),
            ("/first", "/second")
        );
        call.answer(Reply::text(200, "done"));
        assert!(second.join().unwrap().ends_with("\r\n\r\ndone"));
        drop(dropped);
        assert_eq!(first.join().unwrap(), "");
        assert!(held.next_within(Duration::ZERO).is_none());
    }
}
