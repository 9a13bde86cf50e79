//! A process with a client of the official A2A SDK, told what to do.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::home::{Api, DEADLINE, target};

/// The client; killed when it goes out of scope.
pub(crate) struct Client {
    child: Child,
    orders: ChildStdin,
    answers: mpsc::Receiver<String>,
}

impl Client {
    /// A client of a server's public card, over a binding, with the caller's key.
    pub(crate) fn start(api: &Api, binding: &str) -> Self {
        let python = target().join("quickstart-venv/bin/python");
        assert!(
            python.is_file(),
            "this test needs {} with quickstart/requirements.txt installed: `make test` makes it",
            python.display()
        );
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a/client.py");
        let mut command = Command::new(python);
        command
            .arg(script)
            .arg(&api.base)
            .arg(binding)
            .args(api.key.as_deref());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (said, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // Nobody reads once the test is over.
                drop(said.send(line));
            }
        });
        Self {
            child,
            orders,
            answers,
        }
    }

    /// Gives an order without waiting for what comes of it.
    pub(crate) fn order(&mut self, what: &str, with: &Value) {
        writeln!(self.orders, "{}", json!({"do": what, "with": with})).unwrap();
    }

    fn line(&mut self) -> Value {
        let line = self.answers.recv_timeout(DEADLINE).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to the last order, after all that was told on the way.
    fn next(&mut self) -> Value {
        loop {
            let line = self.line();
            if line.get("told").is_none() {
                return line;
            }
        }
    }

    /// Gives an order and says what came of it, good or bad.
    pub(crate) fn tries(&mut self, what: &str, with: &Value) -> Value {
        self.order(what, with);
        self.next()
    }

    /// Waits until the stream that was ordered tells its next event.
    #[track_caller]
    pub(crate) fn told(&mut self) -> Value {
        let line = self.line();
        assert!(line.get("told").is_some(), "{line:#}");
        line["told"].clone()
    }

    /// What came of the last order, which succeeded.
    #[track_caller]
    pub(crate) fn answered(&mut self) -> Value {
        let answer = self.next();
        assert!(answer.get("ok").is_some(), "{answer:#}");
        answer["ok"].clone()
    }

    /// Gives an order that succeeds.
    #[track_caller]
    pub(crate) fn ok(&mut self, what: &str, with: &Value) -> Value {
        self.order(what, with);
        self.answered()
    }

    /// Gives an order that fails; the SDK's class for the failure.
    #[track_caller]
    pub(crate) fn fails(&mut self, what: &str, with: &Value) -> String {
        self.order(what, with);
        let answer = self.next();
        // Shown when the test fails.
        println!("{what}: {answer}");
        let class = answer["error"]["type"].as_str();
        class.unwrap_or_else(|| panic!("{answer:#}")).to_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that ended by itself is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A new message that says something.
pub(crate) fn message(text: &str) -> Value {
    json!({"message": {
        "messageId": Uuid::now_v7(), "role": "ROLE_USER", "parts": [{"text": text}],
    }})
}

/// A new message to a task.
pub(crate) fn reply(task: &Value, text: &str) -> Value {
    let mut sent = message(text);
    sent["message"]["taskId"] = task["id"].clone();
    sent
}
