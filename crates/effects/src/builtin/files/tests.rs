//! File tools on real directories. Every answer is validated against its tool's output schema.

#![allow(
    clippy::needless_pass_by_value,
    reason = "literals read better by value"
)]

mod change;
mod escape;
mod look;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::super::table::documents;
use super::beneath::Resolver;
use super::*;
use crate::builtin_grants::Root;

const RESOLVERS: [Resolver; 2] = [Resolver::Kernel, Resolver::Parts];

/// A root `work`, beside a file that no call may access.
pub(super) struct FilesFixture {
    dir: TempDir,
    pub(super) access: RootAccess,
    pub(super) resolver: Resolver,
}

pub(super) type ChangeRecord = Result<Value, (ErrorType, String)>;

impl FilesFixture {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let field = Self {
            dir: TempDir::new().unwrap(),
            access: RootAccess::Write,
            resolver: Resolver::Kernel,
        };
        std::fs::create_dir(field.path("")).unwrap();
        std::fs::write(field.outside("secret"), "secret").unwrap();
        for (path, content) in files {
            let path = field.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        field
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Returns everything below the root, by path.
    pub(super) fn names(&self) -> Vec<String> {
        let listed = self.call(Builtin::FsList, json!({"path": ".", "recursive": true}));
        let entries = listed.unwrap();
        let entries = entries["entries"].as_array().unwrap();
        let paths = entries
            .iter()
            .map(|entry| entry["path"].as_str().unwrap().to_owned());
        paths.collect()
    }

    pub(super) fn call(&self, builtin: Builtin, given: Value) -> ChangeRecord {
        self.call_as(builtin, given, DryRun::No)
    }

    pub(super) fn call_as(&self, builtin: Builtin, given: Value, dry_run: DryRun) -> ChangeRecord {
        call_at(
            self.path(""),
            self.access,
            self.resolver,
            builtin,
            &given,
            dry_run,
        )
    }

    pub(super) fn read(&self, path: &str) -> ChangeRecord {
        self.call(Builtin::FsRead, json!({ "path": path }))
    }
}

/// Calls a tool on any directory as its root.
pub(super) fn call_at(
    path: PathBuf,
    access: RootAccess,
    resolver: Resolver,
    builtin: Builtin,
    given: &Value,
    dry_run: DryRun,
) -> ChangeRecord {
    let grants = BuiltinGrants {
        roots: BTreeMap::from([("work".to_owned(), Root { path, access })]),
        ..BuiltinGrants::default()
    };
    let budget = Budget::new(Duration::from_secs(20), CancellationToken::new());
    let given = given.as_object().unwrap();
    let task = Task::new(builtin, given, &grants, budget, dry_run).map(|task| Task {
        tree: task.tree.resolving_by(resolver),
        ..task
    });
    let told = task.and_then(|task| task.run());
    if let Ok(success) = &told {
        let document = documents().unwrap();
        let document = document
            .iter()
            .find(|tool| tool.tool_id == builtin.tool_id());
        let schema = document.unwrap().output_schema.clone().unwrap();
        assert_eq!(schema.violations(&success.output), []);
    }
    told.map(|success| success.output)
        .map_err(|failure| (failure.kind, failure.message))
}

/// Returns the one action of an answer: its type, and its details without the id.
pub(super) fn action(answer: &Value) -> (String, Value) {
    let actions = answer["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 1, "{answer}");
    let mut details = actions[0]["details"].clone();
    let id = details
        .as_object_mut()
        .unwrap()
        .remove("operation_id")
        .unwrap();
    assert!(id.as_str().unwrap().starts_with("fso-"));
    (
        actions[0]["action_type"].as_str().unwrap().to_owned(),
        details,
    )
}

pub(super) fn content_of(text: &str) -> Value {
    json!(Content::from_bytes(text.as_bytes()))
}

#[test]
fn b003_nothing_is_allowed_without_a_grant() {
    let field = FilesFixture::new(&[("a", "text")]);
    let budget = || Budget::new(Duration::from_secs(5), CancellationToken::new());
    let given = json!({"path": "a"});
    let call = |given: &Value, grants: &BuiltinGrants| {
        let given = given.as_object().unwrap();
        let run = run(Builtin::FsRead, given, grants, budget(), DryRun::No);
        run.map(|success| success.output)
            .map_err(|failure| (failure.kind, failure.message))
    };
    let denied = |message: &str| Err((ErrorType::PermissionError, message.to_owned()));
    let none = BuiltinGrants::default();
    assert_eq!(
        call(&given, &none),
        denied("no root is granted to file tools")
    );
    let root = Root {
        path: field.path(""),
        access: RootAccess::Read,
    };
    let roots = BTreeMap::from([("one".to_owned(), root.clone()), ("two".to_owned(), root)]);
    let two = BuiltinGrants {
        roots,
        ..BuiltinGrants::default()
    };
    let unnamed = Err((
        ErrorType::InputError,
        "`root` must name one of `one`, `two`".to_owned(),
    ));
    assert_eq!(call(&given, &two), unnamed);
    let other = call(&json!({"path": "a", "root": "three"}), &two);
    assert_eq!(
        other,
        denied("the root `three` is not granted; these are: `one`, `two`")
    );
    let read = call(&json!({"path": "a", "root": "two"}), &two).unwrap();
    assert_eq!(
        (&read["content"], &read["hash"]),
        (&json!("text"), &content_of("text")["hash"])
    );
}

#[test]
fn b003_a_root_for_reading_is_not_written_to() {
    let mut field = FilesFixture::new(&[("a", "text")]);
    field.access = RootAccess::Read;
    for builtin in Builtin::ALL
        .iter()
        .filter(|builtin| builtin.as_str().starts_with("fs."))
    {
        if builtin.tool_class() == ToolClass::Readonly {
            continue;
        }
        let given = match builtin {
            Builtin::FsWrite | Builtin::FsCreate => json!({"path": "a", "content": "x"}),
            Builtin::FsMove | Builtin::FsCopy => json!({"path": "a", "destination": "b"}),
            Builtin::FsEdit => json!({"path": "a", "edits": []}),
            _ => json!({"path": "a"}),
        };
        let message = "the root `work` is granted for reading only".to_owned();
        let refused = field.call(*builtin, given);
        assert_eq!(
            refused,
            Err((ErrorType::PermissionError, message)),
            "{builtin}"
        );
    }
    assert_eq!(field.names(), ["a"]);
}

#[test]
fn b003_abandoned_work_stops() {
    let field = FilesFixture::new(&[("a", "text")]);
    let grants = BuiltinGrants {
        roots: BTreeMap::from([(
            "work".to_owned(),
            Root {
                path: field.path(""),
                access: RootAccess::Read,
            },
        )]),
        ..BuiltinGrants::default()
    };
    let given = json!({"path": "."});
    let stopped = |budget: Budget| {
        let given = given.as_object().unwrap();
        run(Builtin::FsList, given, &grants, budget, DryRun::No).map_err(|failure| failure.message)
    };
    let cancel = CancellationToken::new();
    cancel.cancel();
    let cancelled = stopped(Budget::new(Duration::from_secs(5), cancel));
    assert_eq!(cancelled.unwrap_err(), "the call was cancelled");
    let late = stopped(Budget::new(Duration::ZERO, CancellationToken::new()));
    assert_eq!(late.unwrap_err(), "timed out after 0 ms");
}
