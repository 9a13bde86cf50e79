//! Built-in tools through the sandbox: commands confined, network by allow list, files off the
//! runtime's threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::catalogue::builtin::Builtin;
use charter_effects::{
    BuiltinGrants, BuiltinTool, CommandGrant, DryRun, Limits, Root, RootAccess, ToolCall,
    ToolImplementation,
};
use charter_testkit::http_stub::{HttpStub, Reply};
use serde_json::{Value, json};

use crate::support::{call, failure, output, sandbox};

#[allow(
    clippy::needless_pass_by_value,
    reason = "literals read better by value"
)]
fn builtin(name: Builtin, grants: BuiltinGrants, parameters: Value) -> ToolCall {
    let tool = BuiltinTool {
        name,
        grants: Arc::new(grants),
    };
    ToolCall {
        parameters: parameters.as_object().unwrap().clone(),
        ..call(ToolImplementation::Builtin(tool))
    }
}

fn command(program: &str) -> BuiltinGrants {
    let granted = CommandGrant {
        program: program.into(),
        arguments: Vec::new(),
    };
    BuiltinGrants {
        commands: BTreeMap::from([("it".to_owned(), granted)]),
        ..BuiltinGrants::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b003_a_command_gets_its_arguments_as_data_only() {
    let fixture = sandbox().await;
    let arguments = json!(["%s\n", "$(id)", "`id`", "; rm -rf /", "a b"]);
    let given = json!({"command": "it", "arguments": arguments});
    let answered = output(
        fixture
            .run(builtin(
                Builtin::CommandRun,
                command("/usr/bin/printf"),
                given,
            ))
            .await,
    );
    assert_eq!(answered["stdout"], "$(id)\n`id`\n; rm -rf /\na b\n");
    assert_eq!(answered["exit_code"], 0);
    let details = &answered["actions"][0]["details"];
    assert_eq!(
        (&details["command"], &details["arguments"]),
        (&json!("it"), &arguments)
    );
    // The environment of this process, which has more variables, is not passed on.
    let given = json!({"command": "it"});
    let environment = output(
        fixture
            .run(builtin(Builtin::CommandRun, command("/usr/bin/env"), given))
            .await,
    );
    let mut names: Vec<&str> = environment["stdout"].as_str().unwrap().lines().collect();
    names.retain(|line| {
        let known = ["PATH=", "LANG=", "HOME=", "TMPDIR=", "GIT_", "TAR_OPTIONS="];
        !known.iter().any(|known| line.starts_with(known))
    });
    assert_eq!(names, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b003_a_command_has_the_granted_access_to_its_root() {
    let fixture = sandbox().await;
    let work = fixture.directory.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("a"), "text").unwrap();
    std::fs::write(fixture.directory.path().join("secret"), "secret").unwrap();
    let run = |program: &str, arguments: Value, access: RootAccess| {
        let mut grants = command(program);
        let root = Root {
            path: work.clone(),
            access,
        };
        grants.roots.insert("work".to_owned(), root);
        let given = json!({"command": "it", "arguments": arguments, "root": "work"});
        fixture.run(builtin(Builtin::CommandRun, grants, given))
    };
    let read = output(run("/usr/bin/cat", json!(["a"]), RootAccess::Read).await);
    assert_eq!(read["stdout"], "text");
    for escape in ["../secret", "/etc/shadow"] {
        let refused = output(run("/usr/bin/cat", json!([escape]), RootAccess::Write).await);
        assert_eq!(
            (&refused["exit_code"], &refused["stdout"]),
            (&json!(1), &json!(""))
        );
    }
    let refused = output(run("/usr/bin/touch", json!(["b"]), RootAccess::Read).await);
    assert_eq!(refused["exit_code"], 1);
    assert!(!work.join("b").exists());
    let made = output(run("/usr/bin/touch", json!(["b"]), RootAccess::Write).await);
    assert_eq!(made["exit_code"], 0);
    assert!(work.join("b").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn b003_a_command_is_bounded_and_previewed() {
    let fixture = sandbox().await;
    let mut endless = builtin(
        Builtin::CommandRun,
        command("/usr/bin/yes"),
        json!({"command": "it"}),
    );
    endless.limits.output_bytes = 1_000;
    let (kind, message, ..) = failure(fixture.run(endless).await);
    let expected = "the program printed more than 1000 bytes";
    assert_eq!(
        (kind, message.as_str()),
        (ErrorType::ResourceError, expected)
    );
    let given = json!({"command": "it", "arguments": ["30"]});
    let mut slow = builtin(Builtin::CommandRun, command("/usr/bin/sleep"), given);
    slow.limits = Limits {
        timeout: Duration::from_millis(200),
        ..Limits::default()
    };
    let (kind, message, ..) = failure(fixture.run(slow).await);
    let expected = "the program did not end within 200 ms";
    assert_eq!(
        (kind, message.as_str()),
        (ErrorType::TimeoutError, expected)
    );
    let mut dry = builtin(
        Builtin::CommandRun,
        command("/absent"),
        json!({"command": "it"}),
    );
    dry.dry_run = DryRun::Yes;
    let previewed = output(fixture.run(dry).await);
    assert_eq!(
        previewed,
        json!({"dry_run": true, "command": "it", "arguments": [], "actions": []})
    );
}

/// A server that replies with the request, and redirects from `/away`.
fn server() -> HttpStub {
    let stub = HttpStub::start(|request, _| match request.path.as_str() {
        "/away" => Reply::redirect("/shown"),
        uri => {
            let header = request.headers.get("x-one");
            let shown = json!({"method": request.method, "uri": uri, "x-one": header});
            Reply::json(200, shown.to_string())
        }
    });
    stub.unwrap()
}

fn hosts(host: &str) -> BuiltinGrants {
    BuiltinGrants {
        hosts: vec![host.parse().unwrap()],
        ..BuiltinGrants::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b003_requests_reach_only_granted_hosts() {
    let fixture = sandbox().await;
    let stub = server();
    let local = stub.address().to_string();
    // A placeholder in a link is treated as data here.
    let given = json!({"url": format!("http://{local}/a?b=$%7BPATH%7D"), "query": {"c": "${d}"}, "headers": {"x-one": "${env.PATH}"}});
    let answered = output(
        fixture
            .run(builtin(Builtin::NetGet, hosts(&local), given))
            .await,
    );
    assert_eq!(
        answered["response"],
        json!({"method": "GET", "uri": "/a?b=$%7BPATH%7D&c=%24%7Bd%7D", "x-one": "${env.PATH}"})
    );
    let details = &answered["actions"][0]["details"];
    assert_eq!(details["url"], format!("http://{local}/a"));
    let link = json!({"url": format!("http://{local}/")});
    for grants in [
        BuiltinGrants::default(),
        hosts("example.com"),
        hosts("*.example.com:*"),
    ] {
        let (kind, ..) = failure(
            fixture
                .run(builtin(Builtin::NetGet, grants, link.clone()))
                .await,
        );
        assert_eq!(kind, ErrorType::PermissionError);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b003_methods_and_redirects_follow_the_call() {
    let fixture = sandbox().await;
    let stub = server();
    let local = stub.address().to_string();
    let with = |given: Value| {
        let mut given = given;
        let path = given["path"].take();
        given.as_object_mut().unwrap().remove("path");
        given["url"] = json!(format!("http://{local}{}", path.as_str().unwrap_or("/")));
        given
    };
    let get = |given: Value| fixture.run(builtin(Builtin::NetGet, hosts(&local), with(given)));
    let (kind, message, ..) = failure(get(json!({"method": "DELETE"})).await);
    assert_eq!(
        (kind, message.as_str()),
        (
            ErrorType::InputError,
            "`net.get` does not support the method DELETE"
        )
    );
    for header in [
        "Content-Length",
        "Transfer-Encoding",
        "Host",
        "Proxy-Connection",
    ] {
        let (kind, message, ..) = failure(get(json!({"headers": {header: "1"}})).await);
        let expected = format!("the header `{}` cannot be set", header.to_lowercase());
        assert!(
            kind == ErrorType::InputError && message.starts_with(&expected),
            "{message}"
        );
    }
    let (_, message, ..) = failure(get(json!({"path": "/away"})).await);
    assert!(message.contains("is not followed"), "{message}");
    let followed = output(get(json!({"path": "/away", "follow_redirects": true})).await);
    assert_eq!(followed["response"]["uri"], "/shown");
    let sent = json!({"method": "POST", "body": {"a": 1}});
    let posted = fixture
        .run(builtin(
            Builtin::NetRequest,
            hosts(&local),
            with(sent.clone()),
        ))
        .await;
    assert_eq!(output(posted)["response"]["method"], "POST");
    let mut dry = builtin(Builtin::NetRequest, hosts(&local), with(sent));
    dry.dry_run = DryRun::Yes;
    let previewed = output(fixture.run(dry).await);
    assert_eq!(
        (&previewed["dry_run"], &previewed["actions"]),
        (&json!(true), &json!([]))
    );
    let (kind, ..) = failure(get(json!({"max_response_bytes": 5})).await);
    assert_eq!(kind, ErrorType::ResourceError);
}

#[tokio::test(flavor = "multi_thread")]
async fn b003_files_and_charts_use_the_same_checks() {
    let fixture = sandbox().await;
    let root = Root {
        path: fixture.directory.path().to_owned(),
        access: RootAccess::Write,
    };
    let grants = BuiltinGrants {
        roots: BTreeMap::from([("work".to_owned(), root)]),
        ..BuiltinGrants::default()
    };
    let made = json!({"path": "a", "content": "text"});
    let made = output(
        fixture
            .run(builtin(Builtin::FsCreate, grants.clone(), made))
            .await,
    );
    assert_eq!(made["actions"][0]["action_type"], "file_create");
    let read = output(
        fixture
            .run(builtin(Builtin::FsRead, grants, json!({"path": "a"})))
            .await,
    );
    assert_eq!(read["content"], "text");
    let chart = json!({"mark": "bar", "data": [{"a": 1}], "encoding": {"x": {"field": "a"}}});
    let drawn = builtin(Builtin::Visualise, BuiltinGrants::default(), chart);
    let drawn = output(fixture.run(drawn).await);
    assert_eq!(drawn["actions"][0]["action_type"], "visualization");
}
