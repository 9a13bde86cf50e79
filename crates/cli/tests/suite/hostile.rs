//! A viewer tries every operation of the OpenAPI document, every tool and method of the Model Context Protocol and
//! every method of A2A, with ten hostile shapes. The server survives, no answer is an internal error, and every probe
//! of `/readyz` gets 200 within five seconds.
//!
//! Short shapes, some with 10,000 levels, go everywhere: as whole bodies, in fields of valid bodies, in paths and
//! queries. Long ones, such as a million values or a text of 15 MiB, go to one operation for each way in which bodies
//! are read.

mod a2a;
mod mcp;
mod readiness;
mod rest;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use charter_testkit::hostile::Hostile;
use serde_json::{Map, Value, json};

use crate::home::{Api, request_of};
use crate::packages::{SKILL, backups};
use crate::shared::Tenants;
use readiness::Readiness;

/// Requests at the same time.
const AT_ONCE: usize = 4;

/// The placeholder for a shape.
const PLACE: &str = "@hostile@";

/// The marks of an internal error in an answer of any status.
const INTERNAL: [&str; 2] = ["\"error_code\":\"internal\"", "\"INTERNAL_ERROR\""];

/// A request with a hostile shape.
struct Hostility {
    what: String,
    method: String,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

/// A body, created when it is sent.
enum Body {
    /// A document with a shape in each placeholder, of this many bytes.
    Filled(Value, Hostile, usize),
    /// A shape, of this many bytes.
    Whole(Hostile, usize),
    /// An unchanged document.
    Plain(Value),
    /// No body.
    Empty,
}

impl Body {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Filled(document, shape, bytes) => {
                let text = document.to_string();
                let place = format!("\"{PLACE}\"");
                let parts: Vec<&[u8]> = text.split(&place).map(str::as_bytes).collect();
                parts.join(shape.value(*bytes).as_slice())
            }
            Self::Whole(shape, bytes) => shape.body(*bytes),
            Self::Plain(document) => document.to_string().into_bytes(),
            Self::Empty => Vec::new(),
        }
    }

    /// The headers that describe it.
    fn headers(&self) -> Vec<(&'static str, String)> {
        let (content_type, encoding) = match self {
            Self::Whole(shape, _) => shape.media(),
            Self::Filled(..) | Self::Plain(_) | Self::Empty => ("application/json", None),
        };
        let encoding = encoding.map(|encoding| ("content-encoding", encoding.to_owned()));
        let content_type = ("content-type", content_type.to_owned());
        encoding.into_iter().chain([content_type]).collect()
    }
}

impl Hostility {
    /// A request with headers in addition to those of its body.
    fn new(
        what: &str,
        [method, path]: [&str; 2],
        headers: &[(&'static str, &str)],
        body: Body,
    ) -> Self {
        let headers = headers
            .iter()
            .map(|(name, text)| (*name, (*text).to_owned()));
        Self {
            what: format!("{method} {path:.100}: {what}"),
            method: method.to_uppercase(),
            path: path.to_owned(),
            headers: headers.chain(body.headers()).collect(),
            body,
        }
    }

    /// The fault of the answer, if it has one.
    fn fault(&self, api: &Api) -> Option<String> {
        let headers = self.headers.iter();
        let headers: Vec<(&str, &str)> =
            headers.map(|(name, text)| (*name, text.as_str())).collect();
        let (status, text) = api.raw(&self.method, &self.path, &headers, self.body.bytes());
        let broke = status == 500 || INTERNAL.iter().any(|word| text.contains(word));
        broke.then(|| format!("{}: {status} {text:.500}", self.what))
    }
}

/// The length of a shape in a field, in bytes.
fn short(shape: Hostile) -> usize {
    // 10,000 levels.
    if shape == Hostile::Deep {
        20_000
    } else {
        2_000
    }
}

/// The length of a shape that tests length, in bytes.
fn long(shape: Hostile) -> usize {
    match shape {
        // A million values.
        Hostile::Many => 2_000_001,
        Hostile::Text => 15 << 20,
        // Inflates to 60 MiB.
        Hostile::Bomb => 400_000,
        Hostile::Deep
        | Hostile::References
        | Hostile::Surrogates
        | Hostile::Duplicates
        | Hostile::Numbers
        | Hostile::Wide
        | Hostile::Foreign => 1 << 20,
    }
}

/// The same fields, each with a placeholder for a shape.
fn places<'n>(names: impl IntoIterator<Item = &'n String>) -> Value {
    let fields = names.into_iter().map(|name| (name.clone(), json!(PLACE)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// A tenant with a package, and a viewer of its catalogue.
fn viewer() -> (Tenants, Api) {
    let tenants = Tenants::one();
    tenants.api.register(&backups());
    let order =
        json!({"name": "viewer", "user": "vera", "role": "operator", "catalogue": "viewer"});
    let made = tenants.api.post("/v1/keys", &order).expect(201);
    let viewer = tenants.api.with_key(made["secret"].as_str().unwrap());
    (tenants, viewer)
}

/// Sends all requests, some concurrently, and then a valid one.
#[track_caller]
fn endures(all: &[Hostility]) {
    let (tenants, viewer) = viewer();
    let readiness = Readiness::observed(&viewer);
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(hostility) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let fault = hostility.fault(&viewer);
                    faults.lock().unwrap().extend(fault);
                }
            });
        }
    });
    let mut faults = faults.into_inner().unwrap();
    faults.extend(readiness.faults());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    tenants.api.ask(&request_of(SKILL, json!({}))).expect(200);
}
