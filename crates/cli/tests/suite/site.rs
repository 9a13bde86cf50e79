//! Two servers for tests: a web site with changeable pages, and an embeddings API that counts the texts that it
//! receives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use charter_testkit::http_stub::{HttpStub, Reply, Request};
use serde_json::json;

/// Components of the made-up vectors.
pub(crate) const DIMS: usize = 64;

/// The reply at a path.
#[derive(Clone)]
pub(crate) struct Page(Reply);

impl Page {
    pub(crate) fn of(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self(Reply::new(200, content_type, body))
    }

    pub(crate) fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self(Reply::empty(302).with_header("location", to))
    }

    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        Self(self.0.with_header(name, value))
    }

    /// The reply to a request: the page, or 304 if the request names the page's `etag`.
    fn reply(&self, request: &Request) -> Reply {
        let known = request.headers.get("if-none-match");
        let is_tag = |(name, tag): &(String, String)| name == "etag" && Some(tag) == known;
        if self.0.headers.iter().any(is_tag) {
            return Reply::empty(304);
        }
        self.0.clone()
    }
}

/// A web site on its own loopback address.
pub(crate) struct Site {
    stub: HttpStub,
    address: String,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
}

impl Site {
    /// Starts a site on 127.0.0.1, or another address of this machine.
    pub(crate) fn at(ip: &str) -> Self {
        let pages: Arc<Mutex<BTreeMap<String, Page>>> = Arc::default();
        let known = Arc::clone(&pages);
        let stub = HttpStub::start_at(ip.parse().unwrap(), move |request, _| {
            let page = known.lock().unwrap().get(&request.path).cloned();
            page.map_or_else(|| Reply::empty(404), |page| page.reply(request))
        });
        let stub = stub.unwrap();
        Self {
            address: stub.address().to_string(),
            stub,
            pages,
        }
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
        self.stub.url(path)
    }
}

/// An embeddings API: a text's vector counts its words by their hash.
pub(crate) struct Embeddings {
    stub: HttpStub,
    texts: Arc<Mutex<Vec<String>>>,
}

impl Embeddings {
    pub(crate) fn start() -> Self {
        let texts: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&texts);
        let stub = HttpStub::start(move |request, _| {
            let input = request.body["input"].as_array().unwrap();
            let input: Vec<&str> = input.iter().map(|text| text.as_str().unwrap()).collect();
            seen.lock()
                .unwrap()
                .extend(input.iter().map(|text| (*text).to_owned()));
            let data = input.iter().enumerate();
            let data = data.map(|(index, text)| json!({"index": index, "embedding": vector(text)}));
            let body = json!({"data": data.collect::<Vec<_>>()});
            Reply::json(200, body.to_string())
        });
        let stub = stub.unwrap();
        Self { stub, texts }
    }

    pub(crate) fn base(&self) -> String {
        self.stub.url("/v1")
    }

    /// Holds back every answer until the guard is dropped.
    pub(crate) fn hold(&self) -> MutexGuard<'_, Vec<String>> {
        self.texts.lock().unwrap()
    }

    /// Takes the texts that were embedded since the last call.
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
