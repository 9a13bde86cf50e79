//! Properties of every command: a closed output, error reports, new stores, and paths.

use std::io::pipe;
use std::path::Path;
use std::process::Command;

use charter_contract::registry::validate;
use charter_contract::schema::SchemaName;
use serde_json::{Value, json};

use crate::home::{Home, Ran};
use crate::packages::{QUESTION, SKILL, backups};
use crate::shared::Tenants;

/// Commands with output that need no store.
const WRITING: [&[&str]; 6] = [
    &["schema", "list"],
    &["schema", "show", "tool", "--output", "json"],
    &["config", "show"],
    &["config", "schema", "--output", "yaml"],
    &["completions", "zsh"],
    &["policy", "schema"],
];

/// A pipe whose reader has gone.
fn unread() -> std::io::PipeWriter {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer
}

fn ran(mut command: Command) -> Ran {
    Ran::of(command.output().unwrap())
}

/// The lines of standard error, each a JSON object.
fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.err.lines();
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    lines.map(read).collect()
}

/// The error of a command that failed, which is the last line.
fn error(ran: &Ran) -> Value {
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    let error = lines(ran).pop().unwrap();
    assert_eq!(validate(SchemaName::AgentError, &error), [], "{error:#}");
    error
}

/// A command whose reader has closed the pipe ends as the shell expects, and prints no error.
#[track_caller]
fn ends_quietly(home: &Home, arguments: &[&str]) {
    let mut command = home.bare(arguments);
    command.stdout(unread());
    let ended = ran(command);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(141), ""),
        "{arguments:?}"
    );
}

/// `charter … | head` ends like any other command of a shell whose reader has gone.
#[test]
fn a_command_whose_reader_has_gone_ends_quietly() {
    let home = Home::new();
    for arguments in WRITING {
        ends_quietly(&home, arguments);
    }
}

/// Also for commands that open a store, with a stream and with an answer.
#[test]
fn a_command_over_a_store_whose_reader_has_gone_ends_quietly() {
    let home = Home::new();
    let folder = backups().write(&home.path("package"));
    let registered = home.run(&["package", "register", &folder]);
    assert_eq!(registered.code, Some(0), "{registered:?}");
    let data = home.data();
    for arguments in [
        &["package", "list"][..],
        &["runs", "list"],
        &["ask", QUESTION],
        &["events", "--follow", "--after", "0"],
        &["dev", folder.as_str(), "--once"],
    ] {
        let over = ["--data-dir", data.to_str().unwrap()];
        ends_quietly(&home, &[&over[..], arguments].concat());
    }
}

/// A reader may leave after some lines. This output is larger than any pipe's buffer.
#[test]
fn a_command_whose_reader_leaves_midway_ends_quietly() {
    let home = Home::new();
    let ended = home.shell("charter completions zsh | head -n 1; echo ${PIPESTATUS[0]}");
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(ended.out, "#compdef charter\n141\n");
}

/// Closed standard error changes neither the effect of a command nor its exit code.
#[test]
fn a_command_that_fails_unheard_keeps_its_exit_code() {
    let home = Home::new();
    for arguments in [
        &["schema", "show", "no_such"][..],
        &[
            "package",
            "validate",
            "/nowhere.json",
            "--schema",
            "no_such",
        ],
        &["runs", "show"],
    ] {
        let mut command = home.bare(arguments);
        let status = command.stdout(unread()).stderr(unread()).status();
        assert_eq!(status.unwrap().code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn with_output_json_every_failure_is_an_agent_error_on_standard_error() {
    let home = Home::new();
    let fails = |arguments: &[&str]| error(&home.run(&[arguments, &["--output", "json"]].concat()));
    let unknown = fails(&["schema", "show", "tol"]);
    assert_eq!(
        (&unknown["error_code"], &unknown["user_message"]),
        (
            &json!("not_found"),
            &json!("there is no schema `tol`; did you mean `tool`?")
        )
    );
    let misused = fails(&["runs", "lst"]);
    assert_eq!(misused["error_code"], "invalid_request");
    assert_eq!(misused["user_message"], "unrecognized subcommand 'lst'");
    let unread = fails(&["runs", "start", "/nowhere.yaml"]);
    assert_eq!(unread["error_type"], "resource_error");
    let message = unread["user_message"].as_str().unwrap();
    assert!(message.contains("/nowhere.yaml"), "{message}");
    let elsewhere = ["--server", "http://127.0.0.1:1"];
    let useless = fails(&[&["route", "eval", "--queries", "q"][..], &elsewhere].concat());
    assert_eq!(
        useless["user_message"],
        "`charter route eval` does not use a server: it works on the store of the data directory, or the database"
    );
    let alone = fails(&[&["runs", "list"][..], &elsewhere].concat());
    assert_eq!(alone["error_code"], "unavailable");
    let hint = &alone["recommended_actions"][0]["description"];
    assert!(hint.as_str().unwrap().contains("--server"), "{hint}");
}

/// A failure of the API keeps its ids and details, and has the hint that helps at the command line.
#[test]
fn api_errors_are_reported_in_the_commands_terms() {
    let home = Home::new();
    let refused = |arguments: &[&str]| home.run(&[arguments, &["--output", "json"]].concat());
    for (arguments, code, hint) in [
        (
            &["runs", "show", "x"][..],
            "invalid_request",
            "charter runs list",
        ),
        (
            &["resolve", "tool", "no.such"],
            "not_found",
            "charter list tool",
        ),
        (
            &["package", "history", "no-such"],
            "not_found",
            "charter package list",
        ),
        (
            &["skills", "show", "no.such"],
            "not_found",
            "charter skills tree",
        ),
        (
            &["playbook", "run", "no.such"],
            "not_found",
            "charter list playbook",
        ),
        (&["list", "skil"], "not_found", "kinds"),
    ] {
        let error = error(&refused(arguments));
        let found = error["recommended_actions"][0]["description"].as_str();
        assert_eq!(error["error_code"], code, "{error:#}");
        assert!(found.unwrap().contains(hint), "{error:#}");
        let page = error["technical_details"]["documentation"].as_str();
        assert_eq!(page, Some(format!("docs/errors/{code}.md").as_str()));
    }
    let kind = error(&refused(&["list", "skil"]));
    let message = kind["user_message"].as_str().unwrap();
    let start = "`skil` is not a document kind; did you mean `skill`? Listed are skill, tool, ";
    assert!(message.starts_with(start), "{message}");
}

/// The hint of an error about a mistyped id lists ids that exist.
#[test]
fn a_mistyped_id_comes_with_ids_in_the_hint() {
    let home = Home::new();
    let folder = backups().write(&home.path("package"));
    let registered = home.run(&["package", "register", &folder]);
    assert_eq!(registered.code, Some(0), "{registered:?}");
    let near = &SKILL[..SKILL.len() - 1];
    for (arguments, message, hint) in [
        (
            &["resolve", "skill", near][..],
            format!("there is no skill `{near}`; did you mean `{SKILL}`?"),
            format!("Known: `{SKILL}`; `charter list skill` shows all."),
        ),
        (
            &["package", "rollback", "backups", "9.9.9"],
            "there is no version `backups 9.9.9`".to_owned(),
            "Known: `1.0.0`; `charter package history NAME` shows all.".to_owned(),
        ),
    ] {
        let refused = home.run(&[arguments, &["--output", "json"]].concat());
        let error = error(&refused);
        assert_eq!(error["user_message"], message);
        assert_eq!(error["recommended_actions"][0]["description"], hint);
    }
}

/// A mistyped directory looks like an empty one, so a command that creates a store reports its path.
#[test]
fn a_new_store_is_told_once_with_its_place() {
    let home = Home::new().embedded();
    let doctor = home.run(&["doctor", "--output", "json"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    assert!(!home.data().join("charter.db").exists());
    let place = home.data();
    let said = format!("created a new store in {}", place.display());
    let first = home.run(&["runs", "list"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.err.lines().any(|line| line == said), "{first:?}");
    let second = home.run(&["runs", "list"]);
    assert!(!second.err.contains("created a new store"), "{second:?}");
    let elsewhere = [
        "--data-dir",
        "elsewhere",
        "runs",
        "list",
        "--output",
        "json",
    ];
    let other = home.run_in_home(&elsewhere);
    let place = place.with_file_name("elsewhere");
    let said = json!({"message": format!("created a new store in {}", place.display())});
    assert!(lines(&other).contains(&said), "{other:?}");
    assert_eq!(other.json(0)["entries"], json!([]));
}

/// The file means the same in every working directory; flags and variables are the shell's.
#[test]
fn paths_of_the_configuration_file_are_relative_to_it() {
    let home = Home::new();
    let folder = home.path("installation");
    let elsewhere = home.path("elsewhere");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(&elsewhere).unwrap();
    let file = folder.join("charter.toml");
    let text = "data_dir = \"data\"\n[evidence]\nkey_file = \"../keys/evidence\"\n\
                [tools.builtin.roots.site]\npath = \"site\"\n";
    std::fs::write(&file, text).unwrap();
    let shown = |change: &dyn Fn(&mut Command)| -> Value {
        let mut command = home.bare(&["config", "show", "--output", "json"]);
        command.env("CHARTER_CONFIG", &file).current_dir(&elsewhere);
        change(&mut command);
        ran(command).json(0)
    };
    let path = |folder: &Path, name: &str| json!(folder.join(name).to_str().unwrap());
    let found = shown(&|_| {});
    assert_eq!(found["data_dir"], path(&folder, "data"));
    assert_eq!(
        found["evidence"]["key_file"],
        path(&folder, "../keys/evidence")
    );
    assert_eq!(
        found["tools"]["builtin"]["roots"]["site"]["path"],
        path(&folder, "site")
    );
    let named = shown(&|command| {
        command.env_remove("CHARTER_CONFIG");
        command.args(["--config", "../installation/charter.toml"]);
    });
    let folder_as_named = elsewhere.join("../installation");
    assert_eq!(named["data_dir"], path(&folder_as_named, "data"));
    let variable = shown(&|command| {
        command.env("CHARTER_DATA_DIR", "own");
    });
    assert_eq!(variable["data_dir"], "own");
    let flag = shown(&|command| {
        command.args(["--data-dir", "own"]);
    });
    assert_eq!(flag["data_dir"], "own");
}

/// The probe of the container image: 0 if a server is ready, 1 if none answers.
#[test]
fn health_asks_the_server() {
    let server = Tenants::one();
    let home = Home::new();
    let ready = home.run(&["health", "--server", &server.api.base, "--output", "json"]);
    let report = ready.json(0);
    assert_eq!(
        (&report["ready"], &report["server"]),
        (&json!(true), &json!(server.api.base))
    );
    let home = home.with("CHARTER_LISTEN", "0.0.0.0:1");
    let silent = home.run(&["health"]);
    assert_eq!(silent.code, Some(1), "{silent:?}");
    assert!(
        silent.out.starts_with("http://127.0.0.1:1: no answer: "),
        "{silent:?}"
    );
    assert!(!home.data().exists());
}
