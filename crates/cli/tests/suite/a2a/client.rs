//! A process with a client of the official A2A SDK, which executes the test's commands.

use std::io::BufRead;
use std::sync::{OnceLock, mpsc};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::clients::{self, Forks};
use crate::home::{Api, DEADLINE, target};

/// The client; killed when it goes out of scope.
pub(crate) struct Client {
    process: clients::Client,
    answers: mpsc::Receiver<String>,
}

impl Client {
    /// A client of a server's public card, over a binding, with the caller's key.
    pub(crate) fn start(api: &Api, binding: &str) -> Self {
        static FORKS: OnceLock<Forks> = OnceLock::new();
        let forks = FORKS.get_or_init(|| {
            let python = target().join("quickstart-venv/bin/python");
            assert!(
                python.is_file(),
                "this test needs {} with quickstart/requirements.txt installed: `make ready` installs it",
                python.display()
            );
            Forks::of(&python, "a2a/client.py")
        });
        let mut process = forks.start(&json!([api.base, binding, api.key]));
        let stdout = process.output();
        let (said, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // No receiver is left after the test.
                drop(said.send(line));
            }
        });
        Self { process, answers }
    }

    /// Sends a command without waiting for its result.
    pub(crate) fn order(&mut self, what: &str, with: &Value) {
        self.process
            .say(&json!({"do": what, "with": with}).to_string());
    }

    fn line(&mut self) -> Value {
        let line = self.answers.recv_timeout(DEADLINE).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to the last command, after all events before it.
    fn next(&mut self) -> Value {
        loop {
            let line = self.line();
            if line.get("told").is_none() {
                return line;
            }
        }
    }

    /// Sends a command and returns its result or failure.
    pub(crate) fn tries(&mut self, what: &str, with: &Value) -> Value {
        self.order(what, with);
        self.next()
    }

    /// Waits for the next event of the stream.
    #[track_caller]
    pub(crate) fn told(&mut self) -> Value {
        let line = self.line();
        assert!(line.get("told").is_some(), "{line:#}");
        line["told"].clone()
    }

    /// The result of the last command, which succeeded.
    #[track_caller]
    pub(crate) fn answered(&mut self) -> Value {
        let answer = self.next();
        assert!(answer.get("ok").is_some(), "{answer:#}");
        answer["ok"].clone()
    }

    /// Sends a command that succeeds.
    #[track_caller]
    pub(crate) fn ok(&mut self, what: &str, with: &Value) -> Value {
        self.order(what, with);
        self.answered()
    }

    /// Sends a command that fails; returns the SDK's class of the failure.
    #[track_caller]
    pub(crate) fn fails(&mut self, what: &str, with: &Value) -> String {
        self.order(what, with);
        let answer = self.next();
        // Shown if the test fails.
        println!("{what}: {answer}");
        let class = answer["error"]["type"].as_str();
        class.unwrap_or_else(|| panic!("{answer:#}")).to_owned()
    }
}

/// A new message with a text.
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
