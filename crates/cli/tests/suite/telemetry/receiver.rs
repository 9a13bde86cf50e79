//! A receiver of OTLP in its own process, which decodes with OpenTelemetry's own types for Python, and its received
//! data.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver as Lines};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::home::{DEADLINE, project, target};

pub(super) struct Receiver {
    child: Child,
    address: String,
    lines: Lines<Value>,
    taken: RefCell<Vec<Value>>,
}

/// A span as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) failed: bool,
    pub(super) attributes: Map<String, Value>,
}

impl Receiver {
    pub(super) fn start() -> Self {
        let python = target().join("telemetry-peers/bin/python");
        assert!(
            python.is_file(),
            "the tests need OTLP's types in {}: `make telemetry` installs them",
            python.display()
        );
        let mut child = Command::new(python)
            .arg(project().join("crates/cli/tests/telemetry/receiver.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // No receiver is left after the test.
                drop(said.send(serde_json::from_str::<Value>(&line).unwrap()));
            }
        });
        let first = lines.recv_timeout(DEADLINE).unwrap();
        Self {
            child,
            address: first["address"].as_str().unwrap().to_owned(),
            lines,
            taken: RefCell::default(),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All data received so far.
    pub(super) fn taken(&self) -> Vec<Value> {
        let mut taken = self.taken.borrow_mut();
        taken.extend(self.lines.try_iter());
        for export in taken.iter() {
            assert_eq!(export.get("wrong"), None, "{export:#}");
        }
        taken.clone()
    }

    /// Polls until the received data gives a value.
    pub(super) fn until<T>(&self, what: &str, mut ask: impl FnMut(&Self) -> Option<T>) -> T {
        let start = std::time::Instant::now();
        loop {
            if let Some(found) = ask(self) {
                return found;
            }
            assert!(
                start.elapsed() < DEADLINE,
                "waited in vain for {what}: {:#?}",
                self.spans()
            );
            if let Ok(export) = self.lines.recv_timeout(Duration::from_millis(200)) {
                self.taken.borrow_mut().push(export);
            }
        }
    }

    /// The received spans.
    pub(super) fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for export in self.taken() {
            for scope in scopes(&export, "resourceSpans", "scopeSpans") {
                spans.extend(scope["spans"].as_array().unwrap().iter().map(Span::read));
            }
        }
        spans
    }

    /// The spans of one trace, as soon as one of that name has arrived in it.
    pub(super) fn trace_with(&self, name: &str) -> Vec<Span> {
        let what = format!("a span {name:?}");
        let trace = self.until(&what, |taken| {
            let spans = taken.spans();
            spans
                .into_iter()
                .find(|span| span.name == name)
                .map(|span| span.trace)
        });
        self.whole(&trace)
    }

    /// The spans of one trace, as soon as its request has arrived.
    pub(super) fn whole(&self, trace: &str) -> Vec<Span> {
        self.until("a whole trace", |taken| {
            let spans = taken.spans().into_iter().filter(|span| span.trace == trace);
            let spans: Vec<Span> = spans.collect();
            let is_whole = spans.iter().any(|span| span.kind == "SPAN_KIND_SERVER");
            is_whole.then_some(spans)
        })
    }

    /// The last received state of a metric.
    pub(super) fn metric(&self, name: &str) -> Option<Value> {
        let mut found = None;
        for export in self.taken() {
            for scope in scopes(&export, "resourceMetrics", "scopeMetrics") {
                let mut metrics = scope["metrics"].as_array().unwrap().iter();
                let last = metrics.rfind(|metric| metric["name"] == name);
                found = last.cloned().or(found);
            }
        }
        found
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn scopes(export: &Value, resources: &str, scopes: &str) -> Vec<Value> {
    let resources = export["body"][resources].as_array().into_iter().flatten();
    let scopes = resources.flat_map(|resource| resource[scopes].as_array().unwrap());
    scopes.cloned().collect()
}

impl Span {
    fn read(span: &Value) -> Self {
        let text = |name: &str| span[name].as_str().unwrap().to_owned();
        assert_eq!(span.get("events"), None, "spans carry no events: {span:#}");
        Self {
            name: text("name"),
            kind: text("kind"),
            trace: text("traceId"),
            id: text("spanId"),
            parent: span.get("parentSpanId").map(|_| text("parentSpanId")),
            failed: span["status"]["code"] == "STATUS_CODE_ERROR",
            attributes: attributes(&span["attributes"]),
        }
    }
}

/// Attributes by name, their values plain.
pub(super) fn attributes(listed: &Value) -> Map<String, Value> {
    let listed = listed.as_array().into_iter().flatten();
    let pairs = listed.map(|attribute| {
        let value = attribute["value"].as_object().unwrap();
        let value = match value.iter().next().unwrap() {
            (kind, number) if kind == "intValue" => {
                json!(number.as_str().unwrap().parse::<i64>().unwrap())
            }
            (_, value) => value.clone(),
        };
        (attribute["key"].as_str().unwrap().to_owned(), value)
    });
    pairs.collect()
}

/// The parents of spans: each span's name and its parent's, in the order of names.
pub(super) fn family(spans: &[Span]) -> Vec<(String, String)> {
    let names: BTreeMap<&str, &str> = spans
        .iter()
        .map(|span| (span.id.as_str(), span.name.as_str()))
        .collect();
    let mut family: Vec<(String, String)> = spans
        .iter()
        .map(|span| {
            let parent = span.parent.as_deref().unwrap_or("nobody");
            let parent = names.get(parent).copied().unwrap_or(parent);
            (span.name.clone(), parent.to_owned())
        })
        .collect();
    family.sort();
    family
}

/// The span of a name.
#[track_caller]
pub(super) fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let found = spans.iter().find(|span| span.name == name);
    found.unwrap_or_else(|| panic!("no span {name:?} among {spans:#?}"))
}
