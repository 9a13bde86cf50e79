//! Two servers that a test looks after: a web site whose pages it changes, and an embeddings API
//! that counts the texts it is sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

/// Components of the made-up vectors.
pub(crate) const DIMS: usize = 64;

/// What is answered at a path.
#[derive(Clone)]
pub(crate) struct Page {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Page {
    pub(crate) fn of(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: "200 OK",
            headers: vec![("content-type", content_type.to_owned())],
            body: body.into(),
        }
    }

    pub(crate) fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self {
            status: "302 Found",
            headers: vec![("location", to.to_owned())],
            body: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// One request: head and body.
struct Asked {
    path: String,
    head: String,
    body: Vec<u8>,
}

/// A web site on its own loopback address.
pub(crate) struct Site {
    address: String,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
}

impl Site {
    /// On 127.0.0.1, or another of the machine's own addresses.
    pub(crate) fn at(ip: &str) -> Self {
        let pages: Arc<Mutex<BTreeMap<String, Page>>> = Arc::default();
        let known = Arc::clone(&pages);
        let address = serve(ip, move |asked| {
            let page = known.lock().unwrap().get(&asked.path).cloned();
            let Some(page) = page else {
                return ("404 Not Found", Vec::new(), Vec::new());
            };
            let tag = page.headers.iter().find(|(name, _)| *name == "etag");
            if tag.is_some_and(|(_, tag)| asked.head.contains(tag)) {
                return ("304 Not Modified", Vec::new(), Vec::new());
            }
            (page.status, page.headers, page.body)
        });
        Self { address, pages }
    }

    pub(crate) fn put(&self, path: &str, page: Page) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.pages.lock().unwrap().remove(path);
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// An embeddings API: a text's vector counts its words by their hash.
pub(crate) struct Embeddings {
    address: String,
    texts: Arc<Mutex<Vec<String>>>,
}

impl Embeddings {
    pub(crate) fn start() -> Self {
        let texts: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&texts);
        let address = serve("127.0.0.1", move |asked| {
            let asked: Value = serde_json::from_slice(&asked.body).unwrap();
            let input = asked["input"].as_array().unwrap();
            let input: Vec<&str> = input.iter().map(|text| text.as_str().unwrap()).collect();
            seen.lock()
                .unwrap()
                .extend(input.iter().map(|text| (*text).to_owned()));
            let data = input.iter().enumerate();
            let data = data.map(|(index, text)| json!({"index": index, "embedding": vector(text)}));
            let body = json!({"data": data.collect::<Vec<_>>()}).to_string();
            let kind = ("content-type", "application/json".to_owned());
            ("200 OK", vec![kind], body.into_bytes())
        });
        Self { address, texts }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Nothing is answered until this is given back.
    pub(crate) fn hold(&self) -> MutexGuard<'_, Vec<String>> {
        self.texts.lock().unwrap()
    }

    /// The texts that were embedded since the last time this was asked.
    pub(crate) fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.texts.lock().unwrap())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; DIMS];
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let hash = word.to_lowercase().bytes().fold(7_usize, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        vector[hash % DIMS] += 1.0;
    }
    vector
}

type Answered = (&'static str, Vec<(&'static str, String)>, Vec<u8>);

fn serve(ip: &str, answer: impl Fn(Asked) -> Answered + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            std::thread::spawn(move || respond(stream, &*answer));
        }
    });
    address
}

fn respond(mut stream: TcpStream, answer: &dyn Fn(Asked) -> Answered) {
    let Some(asked) = read(&stream) else { return };
    let (status, headers, body) = answer(asked);
    let mut head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    // Whoever asked for too much hangs up before the end.
    if stream.write_all(head.as_bytes()).is_ok() {
        drop(stream.write_all(&body));
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let length = name
            .eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse());
        length?.ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Asked { path, head, body })
}
