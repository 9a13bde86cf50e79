//! A server on this machine that speaks HTTP as providers of language models do, and answers what a
//! test gives it: whole, in pieces of any size, broken off, or not at all. It keeps what it was sent.
//!
//! Must not know the forms of any API: a test brings the bytes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;

/// Largest body of a request that is read, in bytes.
const MAX_BODY_BYTES: usize = 32 << 20;

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRequest {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// Its headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body; null when that is no JSON.
    pub body: Value,
    /// Its body, byte for byte.
    pub bytes: Vec<u8>,
}

/// An answer to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedReply {
    /// The status.
    pub status: u16,
    /// Headers beside those that the server writes itself.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How it is sent.
    pub pace: Pace,
}

/// How an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// In one piece.
    AtOnce,
    /// In pieces of so many bytes, each sent by itself.
    Pieces(usize),
    /// So many bytes of the body, and then the connection is closed.
    BreakOffAfter(usize),
    /// Not at all: the connection stays open until the other side closes it.
    Never,
}

impl ServedReply {
    /// A reply of JSON.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::of(status, "application/json", body)
    }

    /// A stream of server-sent events.
    #[must_use]
    pub fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::of(200, "text/event-stream; charset=utf-8", body)
    }

    /// No reply.
    #[must_use]
    pub fn never() -> Self {
        Self::json(200, "").paced(Pace::Never)
    }

    fn of(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.into(),
            pace: Pace::AtOnce,
        }
    }

    /// The same with a header more.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, sent in another way.
    #[must_use]
    pub fn paced(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }
}

type Answerer = dyn Fn(&SeenRequest, usize) -> ServedReply + Send + Sync;

/// What the server's threads share.
struct Shared {
    answer: Box<Answerer>,
    seen: Mutex<Vec<SeenRequest>>,
    connections: Mutex<usize>,
    over: AtomicBool,
}

/// The server. It ends when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl ModelServer {
    /// A server that gives these answers, one for each request in the order in which they come, and
    /// a failure to all further ones.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn answering(replies: Vec<ServedReply>) -> io::Result<Self> {
        Self::with(move |_, number| {
            let reply = replies.get(number).cloned();
            reply.unwrap_or_else(|| ServedReply::json(500, "{\"error\": \"no answer is left\"}"))
        })
    }

    /// A server that answers by a function of the request and of how many came before.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn with(
        answer: impl Fn(&SeenRequest, usize) -> ServedReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            seen: Mutex::default(),
            connections: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &of_thread));
        Ok(Self { address, shared })
    }

    /// `http://`, the address, and a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests that came, in their order.
    #[must_use]
    pub fn seen(&self) -> Vec<SeenRequest> {
        lock(&self.shared.seen).clone()
    }

    /// How many connections were opened.
    #[must_use]
    pub fn connections(&self) -> usize {
        *lock(&self.shared.connections)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        *lock(&shared.connections) += 1;
        let shared = Arc::clone(shared);
        // A connection that ends in an error is one that the other side gave up.
        thread::spawn(move || serve(stream, &shared).is_ok());
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut from = BufReader::new(stream);
    while let Some(request) = read(&mut from)? {
        let number = {
            let mut seen = lock(&shared.seen);
            seen.push(request.clone());
            seen.len() - 1
        };
        let reply = (shared.answer)(&request, number);
        if reply.pace == Pace::Never {
            // Until the other side closes.
            from.read_to_end(&mut Vec::new())?;
            return Ok(());
        }
        if !write(&mut out, &reply)? {
            return Ok(());
        }
    }
    Ok(())
}

fn read(from: &mut BufReader<TcpStream>) -> io::Result<Option<SeenRequest>> {
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace();
    let method = words.next().ok_or_else(broken)?.to_owned();
    let path = words.next().ok_or_else(broken)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(broken)?;
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map(|length| length.parse());
    let length: usize = length.transpose().map_err(|_| broken())?.unwrap_or(0);
    if length > MAX_BODY_BYTES {
        return Err(broken());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(SeenRequest {
        method,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        bytes: body,
    }))
}

/// Whether the connection is good for a further request.
fn write(out: &mut TcpStream, reply: &ServedReply) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} Served\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    out.write_all(head.as_bytes())?;
    let (body, piece) = match reply.pace {
        Pace::AtOnce | Pace::Never => (&reply.body[..], usize::MAX),
        Pace::Pieces(bytes) => (&reply.body[..], bytes.max(1)),
        Pace::BreakOffAfter(bytes) => (&reply.body[..bytes.min(reply.body.len())], usize::MAX),
    };
    for piece in body.chunks(piece) {
        // One write for each, so that each arrives by itself.
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        out.write_all(&chunk)?;
    }
    if matches!(reply.pace, Pace::BreakOffAfter(_)) {
        return Ok(false);
    }
    out.write_all(b"0\r\n\r\n")?;
    Ok(true)
}
