//! Changing operations, their answers, and their atomicity.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::*;

/// Variable with the directory that the writing process of the kill test uses.
const WRITER: &str = "CHARTER_TEST_WRITER";

fn edit(line: u64, replacement: &str, expected: &str) -> Value {
    json!([{"start_line": line, "end_line": line, "replacement": replacement, "expected": expected}])
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of calls")]
fn b003_every_change_reports_its_action() {
    let field = FilesFixture::new(&[]);
    let told = |builtin: Builtin, given: Value| action(&field.call(builtin, given).unwrap());
    let (one, two) = (content_of("one\n"), content_of("two\n"));
    assert_eq!(
        told(
            Builtin::FsCreate,
            json!({"path": "d/a", "content": "one\n", "create_parents": true})
        ),
        (
            "file_create".into(),
            json!({"operation": "create", "root": "work", "path": "d/a", "after": one})
        )
    );
    assert_eq!(
        told(
            Builtin::FsEdit,
            json!({"path": "d/a", "edits": edit(1, "two", "one")})
        ),
        (
            "file_edit".into(),
            json!({"operation": "edit", "root": "work", "path": "d/a", "before": one, "after": two})
        )
    );
    assert_eq!(
        told(
            Builtin::FsWrite,
            json!({"path": "d/a", "content": "one\n", "expected_hash": two["hash"]})
        ),
        (
            "file_edit".into(),
            json!({"operation": "write", "root": "work", "path": "d/a", "before": two, "after": one})
        )
    );
    assert_eq!(
        told(Builtin::FsCopy, json!({"path": "d/a", "destination": "b"})),
        (
            "file_create".into(),
            json!({"operation": "copy", "root": "work", "path": "d/a", "destination": "b", "before": one, "after": one})
        )
    );
    assert_eq!(
        told(
            Builtin::FsMove,
            json!({"path": "b", "destination": "e/c", "create_parents": true})
        ),
        (
            "file_edit".into(),
            json!({"operation": "move", "root": "work", "path": "b", "destination": "e/c", "before": one, "after": one})
        )
    );
    assert_eq!(
        told(Builtin::FsMakeDirectory, json!({"path": "f"})),
        (
            "file_create".into(),
            json!({"operation": "make_directory", "root": "work", "path": "f"})
        )
    );
    assert_eq!(field.names(), ["d", "d/a", "e", "e/c", "f"]);
    assert_eq!(field.content("e/c"), "one\n");
    assert_eq!(
        told(Builtin::FsDelete, json!({"path": "e/c"})),
        (
            "file_edit".into(),
            json!({"operation": "delete", "root": "work", "path": "e/c", "before": one})
        )
    );
    let again = field
        .call(Builtin::FsMakeDirectory, json!({"path": "f"}))
        .unwrap();
    assert_eq!(
        (&again["made"], &again["actions"]),
        (&json!(false), &json!([]))
    );
}

/// Returns the file tools that the documentation's table names for each action; one row has the rest.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/builtin-tools.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## Actions\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let tools = Builtin::ALL.iter().map(|tool| tool.as_str().to_owned());
    let files: BTreeSet<String> = tools.filter(|tool| tool.starts_with("fs.")).collect();
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let mut named = BTreeMap::new();
    let mut rest = None;
    for (action, tools) in rows {
        if tools.starts_with("the rest") {
            rest = Some(action.to_owned());
            continue;
        }
        let words = tools.split('`').skip(1).step_by(2);
        let names = words.map(|word| match word.strip_prefix("charter.").unwrap_or(word) {
            id if id.contains('.') => id.to_owned(),
            name => format!("fs.{name}"),
        });
        let names: BTreeSet<String> = names.filter(|name| files.contains(name)).collect();
        named.insert(action.to_owned(), names);
    }
    let all: BTreeSet<String> = named.values().flatten().cloned().collect();
    named.insert(rest.unwrap(), files.difference(&all).cloned().collect());
    named.retain(|_, names| !names.is_empty());
    named
}

#[test]
fn b003_the_documentation_names_the_actions_of_each_file_tool() {
    let field = FilesFixture::new(&[("a", "a\n")]);
    let calls = [
        (Builtin::FsCreate, json!({"path": "b", "content": "b\n"})),
        (
            Builtin::FsCreate,
            json!({"path": "b", "content": "c\n", "overwrite": true}),
        ),
        (Builtin::FsCopy, json!({"path": "a", "destination": "c"})),
        (
            Builtin::FsCopy,
            json!({"path": "b", "destination": "c", "overwrite": true}),
        ),
        (Builtin::FsMakeDirectory, json!({"path": "d"})),
        (Builtin::FsWrite, json!({"path": "b", "content": "d\n"})),
        (
            Builtin::FsEdit,
            json!({"path": "b", "edits": edit(1, "e", "d")}),
        ),
        (Builtin::FsMove, json!({"path": "b", "destination": "e"})),
        (Builtin::FsDelete, json!({"path": "e"})),
        (Builtin::FsList, json!({"path": "."})),
        (Builtin::FsSearch, json!({"path": ".", "pattern": "a"})),
        (Builtin::FsRead, json!({"path": "a"})),
        (Builtin::FsStat, json!({"path": "a"})),
    ];
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (builtin, given) in calls {
        let (action_type, _) = action(&field.call(builtin, given).unwrap());
        let tools = seen.entry(action_type).or_default();
        tools.insert(builtin.as_str().to_owned());
    }
    assert_eq!(seen, documented());
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of calls")]
fn b003_existing_files_are_not_overwritten_unless_requested() {
    let field = FilesFixture::new(&[("a", "a"), ("b", "b"), ("dir/x", "x")]);
    let refused = [
        (
            Builtin::FsCreate,
            json!({"path": "a", "content": "new"}),
            "`work:a` already exists",
        ),
        (
            Builtin::FsMove,
            json!({"path": "a", "destination": "b"}),
            "`work:b` already exists",
        ),
        (
            Builtin::FsCopy,
            json!({"path": "a", "destination": "b"}),
            "`work:b` already exists",
        ),
        (
            Builtin::FsMakeDirectory,
            json!({"path": "a"}),
            "`work:a` already exists",
        ),
        (
            Builtin::FsWrite,
            json!({"path": "new", "content": ""}),
            "there is no `work:new`",
        ),
        (
            Builtin::FsWrite,
            json!({"path": "dir", "content": ""}),
            "`work:dir` is a directory",
        ),
        (
            Builtin::FsCreate,
            json!({"path": "no/a", "content": ""}),
            "there is no `work:no/a`",
        ),
        (
            Builtin::FsDelete,
            json!({"path": "dir"}),
            "the directory `work:dir` is not empty",
        ),
        (
            Builtin::FsDelete,
            json!({"path": "."}),
            "`work:.` is the root itself",
        ),
        (
            Builtin::FsMove,
            json!({"path": "dir", "destination": "dir/y"}),
            "`destination` is `path` or inside it",
        ),
        (
            Builtin::FsCopy,
            json!({"path": "dir", "destination": "c"}),
            "`work:dir` is a directory; set `recursive`",
        ),
        (
            Builtin::FsMove,
            json!({"path": "dir", "destination": "a", "overwrite": true}),
            "`work:a` exists; only a file can replace a file",
        ),
        (
            Builtin::FsCopy,
            json!({"path": "a", "destination": "dir", "overwrite": true}),
            "`work:dir` is a directory",
        ),
    ];
    for (builtin, given, message) in refused {
        let said = field.call(builtin, given.clone()).map_err(|(_, said)| said);
        assert_eq!(said, Err(message.to_owned()), "{builtin} {given}");
    }
    assert_eq!(field.names(), ["a", "b", "dir", "dir/x"]);
    field
        .call(
            Builtin::FsMove,
            json!({"path": "a", "destination": "b", "overwrite": true}),
        )
        .unwrap();
    assert_eq!(
        (field.names(), field.content("b")),
        (vec!["b".into(), "dir".into(), "dir/x".into()], "a".into())
    );
}

#[test]
fn b003_a_file_changed_since_it_was_read_is_not_overwritten() {
    let field = FilesFixture::new(&[("a", "now\n")]);
    let other = content_of("then\n")["hash"].clone();
    let with = |given: Value| {
        let mut given = given;
        given["path"] = json!("a");
        given["expected_hash"] = other.clone();
        given
    };
    let calls = [
        (Builtin::FsRead, with(json!({}))),
        (Builtin::FsWrite, with(json!({"content": "x"}))),
        (
            Builtin::FsCreate,
            with(json!({"content": "x", "overwrite": true})),
        ),
        (Builtin::FsEdit, with(json!({"edits": edit(1, "x", "now")}))),
        (Builtin::FsMove, with(json!({"destination": "b"}))),
        (Builtin::FsCopy, with(json!({"destination": "b"}))),
        (Builtin::FsDelete, with(json!({}))),
    ];
    let found = content_of("now\n")["hash"].as_str().unwrap().to_owned();
    let message = format!(
        "`work:a` changed: expected {}, found {found}",
        other.as_str().unwrap()
    );
    for (builtin, given) in calls {
        let refused = field.call(builtin, given);
        assert_eq!(
            refused,
            Err((ErrorType::ExecutionError, message.clone())),
            "{builtin}"
        );
    }
    let unexpected = field.call(
        Builtin::FsEdit,
        json!({"path": "a", "edits": edit(1, "x", "then")}),
    );
    let message = "lines 1 to 1 differ from what the edit expects; they are \"now\\n\"".to_owned();
    assert_eq!(unexpected, Err((ErrorType::ExecutionError, message)));
    assert_eq!(
        (field.names(), field.content("a")),
        (vec!["a".to_owned()], "now\n".to_owned())
    );
}

/// Each thread adds one to the value it read, expecting it unchanged: no addition is lost.
#[test]
fn b003_of_two_changes_to_the_same_content_one_wins() {
    let field = FilesFixture::new(&[("count", "0")]);
    let added: u32 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| add(&field, 25))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    assert_eq!(field.content("count"), added.to_string());
    assert_eq!(field.names(), ["count"]);
}

fn add(field: &FilesFixture, times: u32) -> u32 {
    let mut added = 0;
    for _ in 0..times {
        let read = field.read("count").unwrap();
        let next = read["content"].as_str().unwrap().parse::<u32>().unwrap() + 1;
        let given =
            json!({"path": "count", "content": next.to_string(), "expected_hash": read["hash"]});
        added += u32::from(field.call(Builtin::FsWrite, given).is_ok());
    }
    added
}

#[test]
fn b003_a_directory_is_copied_and_removed_whole() {
    let field = FilesFixture::new(&[("dir/a", "a"), ("dir/sub/b", "b")]);
    std::fs::create_dir(field.path("dir/empty")).unwrap();
    std::fs::set_permissions(field.path("dir/a"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let copy = json!({"path": "dir", "destination": "copy", "recursive": true});
    field.call(Builtin::FsCopy, copy).unwrap();
    assert_eq!(field.content("copy/sub/b"), "b");
    let mode = std::fs::metadata(field.path("copy/a"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    let removed = field
        .call(Builtin::FsDelete, json!({"path": "dir", "recursive": true}))
        .unwrap();
    assert_eq!(removed["removed"], 5);
    assert_eq!(
        field.names(),
        ["copy", "copy/a", "copy/empty", "copy/sub", "copy/sub/b"]
    );
    // A link in it stops the copy, and no part of the copy remains.
    std::os::unix::fs::symlink("a", field.path("copy/link")).unwrap();
    let stopped = field.call(
        Builtin::FsCopy,
        json!({"path": "copy", "destination": "again", "recursive": true}),
    );
    assert_eq!(stopped.unwrap_err().0, ErrorType::PermissionError);
    assert!(!field.path("again").exists());
    assert_eq!(std::fs::read_dir(field.path("")).unwrap().count(), 1);
}

#[test]
fn b003_a_dry_run_changes_nothing() {
    let field = FilesFixture::new(&[("a", "a"), ("dir/b", "b")]);
    let calls = [
        (Builtin::FsWrite, json!({"path": "a", "content": "x"})),
        (
            Builtin::FsCreate,
            json!({"path": "new", "content": "x", "create_parents": true}),
        ),
        (
            Builtin::FsEdit,
            json!({"path": "a", "edits": edit(1, "x", "a")}),
        ),
        (Builtin::FsMove, json!({"path": "a", "destination": "c"})),
        (
            Builtin::FsCopy,
            json!({"path": "dir", "destination": "c", "recursive": true}),
        ),
        (Builtin::FsDelete, json!({"path": "dir", "recursive": true})),
        (Builtin::FsMakeDirectory, json!({"path": "new"})),
    ];
    for (builtin, given) in calls {
        let answer = field.call_as(builtin, given, DryRun::Yes).unwrap();
        assert_eq!(
            (&answer["dry_run"], &answer["actions"]),
            (&json!(true), &json!([])),
            "{builtin}"
        );
    }
    assert_eq!(
        (field.names(), field.content("a")),
        (vec!["a".into(), "dir".into(), "dir/b".into()], "a".into())
    );
}

#[test]
fn b003_a_replaced_file_keeps_its_permissions() {
    let field = FilesFixture::new(&[("run", "#!/bin/sh\n")]);
    std::fs::set_permissions(field.path("run"), std::fs::Permissions::from_mode(0o750)).unwrap();
    field
        .call(Builtin::FsWrite, json!({"path": "run", "content": "x"}))
        .unwrap();
    let mode = std::fs::metadata(field.path("run"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o750);
}

#[test]
fn b003_a_failed_change_leaves_only_the_old_file() {
    let field = FilesFixture::new(&[("a", "old")]);
    let root = Root {
        path: field.path(""),
        access: RootAccess::Write,
    };
    let tree = Tree::open("work", &root).unwrap();
    let place = tree.place(&RelativePath::parse("a").unwrap()).unwrap();
    let (_, before) = place.file().unwrap();
    let stage = || {
        let mut staged = replace::Staged::new(&place, Some(&before)).unwrap();
        staged.write(b"half of the new").unwrap();
        staged
    };
    drop(stage());
    assert_eq!(
        (field.names(), field.content("a")),
        (vec!["a".to_owned()], "old".to_owned())
    );
    // A concurrent write came first: its content stays.
    let staged = stage();
    std::fs::write(field.path("a"), "theirs").unwrap();
    let lost = staged
        .settle(&replace::ReplaceCondition::Same(&before))
        .unwrap_err();
    assert_eq!(
        lost.message,
        "`work:a` changed concurrently; nothing was written"
    );
    assert_eq!(
        (field.names(), field.content("a")),
        (vec!["a".to_owned()], "theirs".to_owned())
    );
}

/// Not a test by itself: the process that the next test kills. It replaces a file in a loop.
#[test]
fn writes_until_killed() {
    let Some(directory) = std::env::var_os(WRITER) else {
        return;
    };
    let contents = ["a", "b"].map(|letter| letter.repeat(2 << 20));
    for content in contents.iter().cycle() {
        let given = json!({"path": "a", "content": content});
        let written = call_at(
            directory.clone().into(),
            RootAccess::Write,
            Resolver::Kernel,
            Builtin::FsWrite,
            &given,
            DryRun::No,
        );
        written.unwrap();
        println!("written");
    }
}

#[test]
fn b003_a_killed_writer_leaves_the_old_or_the_new_file() {
    let field = FilesFixture::new(&[("a", &"a".repeat(2 << 20))]);
    for round in 0..6 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "builtin::files::tests::change::writes_until_killed",
            ])
            .env(WRITER, field.path(""))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(writer.stdout.take().unwrap());
        let written = said
            .lines()
            .map_while(Result::ok)
            .filter(|line| line.ends_with("written"));
        // Killed during the next write, each time after another number of writes.
        assert_eq!(written.take(round + 1).count(), round + 1);
        writer.kill().unwrap();
        writer.wait().unwrap();
        let content = field.content("a");
        let letter = &content[..1];
        assert_eq!(content.len(), 2 << 20);
        assert!(content == letter.repeat(2 << 20), "half of each");
    }
}
