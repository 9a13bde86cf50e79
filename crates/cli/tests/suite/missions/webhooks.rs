//! Proposals that are sent to a system of record, which verifies them with the official library of Standard Webhooks
//! (B002-13).

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};

use super::decisions::{proposal, waiting};
use super::{KIND_FILE, path_of, review, standing};
use crate::home::{Api, DEADLINE, Home, Server, project, target};
use crate::packages::Package;
use crate::playbooks::{KEYS, decide};
use crate::service::Service;
use crate::shared::Tenants;

const SECRET: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl3jVB2m4jVB2m4jVB2m4=";

/// A system of record; killed when it goes out of scope.
struct Receiver {
    child: Child,
    port: u64,
    messages: mpsc::Receiver<Value>,
}

impl Receiver {
    /// Starts a system that gives these answers, one after the other.
    fn answering(answers: &[&str]) -> Self {
        let python = target().join("quickstart-venv/bin/python");
        let mut command = Command::new(python);
        command.arg(project().join("crates/cli/tests/webhooks/receiver.py"));
        let mut child = command
            .arg(SECRET)
            .args(answers)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (said, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let line: Value = serde_json::from_str(&line).unwrap();
                // No receiver is left after the test.
                drop(said.send(line));
            }
        });
        let port = messages.recv_timeout(DEADLINE).unwrap()["port"].as_u64();
        Self {
            child,
            port: port.unwrap(),
            messages,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn next(&self) -> Value {
        self.messages.recv_timeout(DEADLINE).unwrap()
    }

    fn was_sent_more(&self) -> bool {
        self.messages.try_recv().is_ok()
    }

    /// A home with this system of record in its configuration.
    fn home(&self) -> Home {
        let home = Home::with_keys(&KEYS).with("CRM_SECRET", SECRET);
        let file = home.path("config.toml");
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        let (url, port) = (self.url("/hooks"), self.port);
        let system = format!(
            "[webhooks.systems.vault]\nurl = \"{url}\"\nsecrets = [{{ variable = \"CRM_SECRET\" }}]\n\
             egress = [\"127.0.0.1:{port}\"]\n"
        );
        file.write_all(system.as_bytes()).unwrap();
        home
    }

    /// The package whose only write-back goes to this system.
    fn package(&self) -> Package {
        let by = format!("by: {{webhook: \"{}\"}}", self.url("/hooks/expiry"));
        review(&Service::start()).edit(KIND_FILE, "by: {tool: vault.expire}", &by)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A mission whose proposal Bob approved.
fn approved(receiver: &Receiver) -> (Home, Server, Api) {
    let home = receiver.home();
    let server = home.serve();
    let ann = server.key("ann");
    ann.register(&receiver.package());
    let (_, approval) = waiting(&ann, "m-1");
    assert!(!receiver.was_sent_more());
    decide(&server.key("bob"), &approval, "approve").expect(200);
    (home, server, ann)
}

/// An approved proposal is sent once, signed; after a 503 it is sent again under the same id.
#[test]
fn b002_13_a_proposal_is_sent_signed_and_again_under_the_same_id() {
    let receiver = Receiver::answering(&["503", "204"]);
    let (home, server, ann) = approved(&receiver);
    let [first, again] = [receiver.next(), receiver.next()];
    assert_eq!(first, again, "the same message");
    let mission = standing(&ann, "m-1", "completed");
    let shown = &mission["proposals"][0];
    assert_eq!(shown["state"], "executed", "{mission:#}");
    assert_eq!(
        (&first["path"], &first["payload"]),
        (
            &json!("/hooks/expiry"),
            &json!({
                "type": "mission.writeback", "timestamp": shown["proposal"]["created_at"],
                "data": {
                    "mission_id": "m-1", "tenant_id": "acme", "proposal_id": "wb.1",
                    "action_type": "backup_expiry", "target_entity_type": "aws.backup",
                    "target_entity_id": "b-1", "body": {"backup": "b-1"},
                },
            })
        )
    );
    let replayed = ann.post(&path_of("m-1", "/replay"), &json!({})).expect(200);
    assert_eq!(replayed["identical"], true, "{replayed:#}");
    assert!(!receiver.was_sent_more());
    let shown = ann.get(&path_of("m-1", "/events?limit=1000")).expect(200);
    for said in [shown.to_string(), server.log()] {
        assert!(!said.contains(&SECRET[6..]), "{said}");
    }
    assert!(shown.to_string().contains(first["id"].as_str().unwrap()));
    drop(server);
    let doctor = home.run(&["doctor", "--output", "json"]).out;
    let found = format!(
        "vault at {}, secrets from environment variable CRM_SECRET; nothing sent",
        receiver.url("/hooks")
    );
    assert!(doctor.contains(&found), "{doctor}");
}

/// If the system reports that the target changed, the result is a conflict; if it refuses the message, a failure.
/// Neither is sent again.
#[test]
fn b002_13_what_the_system_answers_is_what_becomes_of_the_proposal() {
    for (status, state) in [("409", "conflict"), ("422", "execution_failed")] {
        let receiver = Receiver::answering(&[status]);
        let (_home, _server, ann) = approved(&receiver);
        let mission = standing(&ann, "m-1", "completed");
        let shown = &mission["proposals"][0];
        assert_eq!(shown["state"], state, "{mission:#}");
        let sent = receiver.next();
        let reason = shown["reason"].as_str().unwrap();
        let begins = format!(
            "the message {} to the system of record `vault` was answered {status}",
            sent["id"].as_str().unwrap()
        );
        assert!(reason.starts_with(&begins), "{reason}");
        assert!(!receiver.was_sent_more());
    }
}

/// After a crash before the answer, the same message is sent again, byte for byte, so that its receiver detects it.
#[test]
fn b002_13_after_a_crash_the_same_message_is_sent() {
    let receiver = Receiver::answering(&["hang", "204"]);
    let (home, server, _) = approved(&receiver);
    let first = receiver.next();
    server.kill();
    let server = home.serve();
    assert_eq!(receiver.next(), first);
    let ann = server.key("ann");
    standing(&ann, "m-1", "completed");
    assert_eq!(proposal(&ann, "m-1")["state"], "executed");
    assert!(!receiver.was_sent_more());
}

/// A mission type may name any URL; only configured ones receive a write-back.
#[test]
fn b002_13_an_unconfigured_address_gets_no_write_back() {
    let receiver = Receiver::answering(&["204"]);
    let server = Tenants::with_keys(&KEYS);
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    ann.register(&receiver.package());
    let (_, approval) = waiting(&ann, "m-1");
    decide(&bob, &approval, "approve").expect(200);
    let mission = standing(&ann, "m-1", "completed");
    let shown = &mission["proposals"][0];
    assert_eq!(shown["state"], "execution_failed", "{mission:#}");
    let expected = format!(
        "`{}` belongs to no configured system of record; nothing was sent (`webhooks.systems` in the configuration \
         lists them)",
        receiver.url("/hooks/expiry")
    );
    assert_eq!(shown["reason"], expected);
    assert!(!receiver.was_sent_more());
}

/// Invalid configuration stops the start, without the secret in the message.
#[test]
fn a_secret_that_is_none_stops_the_start() {
    let receiver = Receiver::answering(&[]);
    let home = receiver.home().with("CRM_SECRET", "whsec_not-a-secret");
    let refused = home.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let said = "a secret of the system of record `vault` (environment variable CRM_SECRET) is not `whsec_` and base64";
    assert!(refused.err.contains(said), "{refused:?}");
    assert!(!refused.err.contains("not-a-secret"), "{refused:?}");
}
