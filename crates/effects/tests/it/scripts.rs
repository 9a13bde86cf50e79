//! The script protocol, the environment, and the files that a script may access.

use charter_contract::agentic::error::ErrorType;
use charter_effects::{
    CapabilityState, DryRun, Language, Sandbox, SandboxOptions, ScriptTool, ToolImplementation,
    ToolOutcome,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{bash_call, both, call, failure, output, package, python_call, sandbox};

const ECHO_PYTHON: &str = "import sys, json; json.dump(json.load(sys.stdin), sys.stdout)";

#[tokio::test]
async fn ruling_13_values_reach_scripts_as_data() {
    let fixture = sandbox().await;
    let parameters = json!({
        "quotes": "it's \"quoted\" \\ `id`", "command": "$(touch /tmp/owned); ${HOME} ; rm -rf /", "lines": "a\nb\r\n\tc",
        "unicode": "żółć 🦀 \u{0}\u{7f}", "placeholder": "${user.x} {{y}} %s", "nested": {"list": [1, 2.5, null, true]},
    });
    let expected =
        json!({"parameters": parameters, "dry_run": true, "idempotency_key": "run-1/step-1"});
    for mut call in [python_call(ECHO_PYTHON), bash_call("cat")] {
        call.parameters = parameters.as_object().unwrap().clone();
        call.dry_run = DryRun::Yes;
        assert_eq!(output(fixture.run(call).await), expected);
    }
}

#[tokio::test]
async fn scripts_import_their_package_and_cannot_change_it() {
    let fixture = sandbox().await;
    let files = package(&[
        ("scripts/lib/__init__.py", ""),
        ("scripts/lib/maths.py", "def double(x): return 2 * x"),
        ("scripts/data.json", "[21]"),
        (
            "scripts/main.py",
            "import json, lib.maths, os, sys\n\
             print(json.dumps(lib.maths.double(json.load(open('scripts/data.json'))[0])))\n\
             for path in ('scripts/data.json', 'scripts/lib/x.pyc', 'new'):\n\
             \x20   try: open(path, 'w')\n\
             \x20   except OSError: print('refused', path, file=sys.stderr)\n",
        ),
    ]);
    let script = ScriptTool {
        language: Language::Python,
        entry: "scripts/main.py".into(),
        files,
    };
    match fixture.run(call(ToolImplementation::Script(script))).await {
        ToolOutcome::Succeeded { output, log, .. } => {
            assert_eq!(output, json!(42));
            assert_eq!(
                log,
                "refused scripts/data.json\nrefused scripts/lib/x.pyc\nrefused new\n"
            );
        }
        failed @ ToolOutcome::Failed { .. } => panic!("{failed:?}"),
    }
}

#[tokio::test]
async fn a_report_on_stderr_becomes_the_failure() {
    let fixture = sandbox().await;
    let call = bash_call(
        "echo one >&2; echo '{\"error_type\":\"resource_error\",\"message\":\"throttled\",\"retryable\":true}' >&2; exit 3",
    );
    assert_eq!(
        failure(fixture.run(call).await),
        (
            ErrorType::ResourceError,
            "throttled".into(),
            true,
            "one".into()
        )
    );
}

#[tokio::test]
async fn output_that_is_not_one_json_value_is_quoted_and_redacted() {
    let fixture = sandbox().await;
    let mut call = bash_call("echo \"hello $TOKEN\"; echo noise >&2");
    call.environment = vec![("TOKEN".into(), "s3cr3t-value".into())];
    let (kind, message, retryable, log) = failure(fixture.run(call).await);
    assert_eq!(
        (kind, retryable, log.as_str()),
        (ErrorType::ExecutionError, false, "noise\n")
    );
    assert!(
        message.ends_with("it begins \"hello [redacted:TOKEN]\\n\""),
        "{message}"
    );

    let two_values = failure(fixture.run(bash_call("echo 1; echo 2")).await);
    assert_eq!(two_values.0, ErrorType::ExecutionError);
    let nothing = failure(fixture.run(bash_call("true")).await);
    assert_eq!(
        nothing.1,
        "the script printed nothing; it must print one JSON value"
    );
}

/// A successful script may have had its effect, even if its output is unusable: the failure reports that.
#[tokio::test]
async fn an_unusable_output_is_refused_unread_and_its_script_counts_as_run() {
    let fixture = sandbox().await;
    let lists = |levels: usize| {
        let source = format!("print('[' * {levels} + ']' * {levels})");
        python_call(&source)
    };
    let deepest = output(fixture.run(lists(64)).await).to_string();
    assert_eq!(deepest, "[".repeat(64) + &"]".repeat(64));
    let digits = "{\"ids\":[9007199254740993,18446744073709551615,-9223372036854775808]}";
    let kept = output(
        fixture
            .run(python_call(&format!("print('{digits}')")))
            .await,
    );
    assert_eq!(kept.to_string(), digits);
    let many = python_call("print('[' + '{\"\":0},' * 1000000 + '0]')");
    for (call, words) in [
        (
            lists(65),
            "the script's output nests more than 64 levels deep; flatten it",
        ),
        (
            lists(100_000),
            "the script's output nests more than 64 levels deep; flatten it",
        ),
        (
            python_call("print('{\"id\": [1, 18446744073709551616]}')"),
            "the script's output has the number 18446744073709551616 at `/id/1`, which would be rounded: an integer \
             has at most 64 bits, any other number is at most 1.8e308; send it as text",
        ),
        (
            many,
            "the script's output has so many values that it takes more than 50331648 bytes of memory; send fewer",
        ),
        (
            bash_call("true"),
            "the script printed nothing; it must print one JSON value",
        ),
    ] {
        let ToolOutcome::Failed {
            message, answered, ..
        } = fixture.run(call).await
        else {
            panic!("{words}");
        };
        assert_eq!((message.as_str(), answered), (words, true));
    }
    let failed = fixture.run(bash_call("exit 1")).await;
    assert!(
        matches!(
            failed,
            ToolOutcome::Failed {
                answered: false,
                ..
            }
        ),
        "{failed:?}"
    );
}

#[tokio::test]
async fn granted_values_are_redacted_from_log_and_message() {
    let fixture = sandbox().await;
    let mut call = bash_call(
        "echo \"using $TOKEN\" >&2; echo \"{\\\"error_type\\\":\\\"input_error\\\",\\\"message\\\":\\\"bad $TOKEN\\\"}\" >&2; exit 1",
    );
    call.environment = vec![("TOKEN".into(), "s3cr3t-value".into())];
    assert_eq!(
        failure(fixture.run(call).await),
        (
            ErrorType::InputError,
            "bad [redacted:TOKEN]".into(),
            false,
            "using [redacted:TOKEN]".into()
        )
    );
}

#[tokio::test]
async fn granted_values_are_redacted_from_exceptions_and_outputs() {
    let fixture = sandbox().await;
    let mut raising = python_call("import os\nraise RuntimeError('no: ' + os.environ['TOKEN'])");
    raising.environment = vec![("TOKEN".into(), "s3cr3t-value".into())];
    let (kind, message, retryable, log) = failure(fixture.run(raising).await);
    assert_eq!((kind, retryable), (ErrorType::ExecutionError, false));
    assert_eq!(
        message,
        "the script exited with 1 and no report; last line: \"RuntimeError: no: [redacted:TOKEN]\""
    );
    assert!(
        log.ends_with("RuntimeError: no: [redacted:TOKEN]\n"),
        "{log}"
    );
    assert!(!log.contains("s3cr3t"), "{log}");

    let mut answering = bash_call("echo \"{\\\"url\\\": \\\"https://x/?t=$TOKEN\\\"}\"");
    answering.environment = vec![("TOKEN".into(), "s3cr3t-value".into())];
    assert_eq!(
        output(fixture.run(answering).await),
        json!({"url": "https://x/?t=[redacted:TOKEN]"})
    );
}

/// The parent's own environment, which every process of this test inherits, is not passed on and cannot be read from
/// the parent.
#[tokio::test]
async fn the_parents_environment_is_out_of_reach() {
    let fixture = sandbox().await;
    let inherited = "CARGO_MANIFEST_DIR";
    let value = std::env::var(inherited).unwrap();
    let mut call = python_call(
        r#"
import json, os, sys
parameters = json.load(sys.stdin)["parameters"]
found = [name for name in os.environ if name == parameters["name"]]
for pid in [os.getppid(), parameters["parent"], 1]:
    for file in ["environ", "cmdline", "maps", "mem", "fd/0", "cwd/Cargo.toml", "root/etc/hostname"]:
        try: found.append(open(f"/proc/{pid}/{file}", "rb").read(100).decode(errors="replace"))
        except OSError: pass
print(json.dumps(found))
"#,
    );
    call.parameters = json!({"name": inherited, "parent": std::process::id()})
        .as_object()
        .unwrap()
        .clone();
    let found = output(fixture.run(call).await);
    assert!(!value.is_empty());
    assert_eq!(found, json!([]));
}

#[tokio::test]
async fn only_granted_variables_reach_a_script() {
    let fixture = sandbox().await;
    let mut call = python_call(
        "import os, json; e = dict(os.environ); tmp = e.pop('TMPDIR'); home = e.pop('HOME'); path = \
         e.pop('PYTHONPATH')\nprint(json.dumps([e, tmp == home and os.listdir(tmp) == [], path == os.getcwd() + \
         '/scripts']))",
    );
    call.environment = vec![("AWS_PROFILE".into(), "prod".into())];
    let fixed = json!({
        "AWS_PROFILE": "prod", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1", "TAR_OPTIONS": "--no-same-owner",
    });
    assert_eq!(output(fixture.run(call).await), json!([fixed, true, true]));
}

#[tokio::test]
async fn variables_that_steer_the_sandbox_cannot_be_granted() {
    let fixture = sandbox().await;
    for name in [
        "LD_PRELOAD",
        "PYTHONPATH",
        "https_proxy",
        "NO_PROXY",
        "BASH_ENV",
        "PATH",
        "A=B",
        "",
    ] {
        let mut call = bash_call("echo 1");
        call.environment = vec![(name.into(), "value".into())];
        assert_eq!(
            failure(fixture.run(call).await).0,
            ErrorType::PermissionError,
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_missing_interpreter_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = SandboxOptions::new(directory.path());
    options.python = "/nowhere/python3".into();
    options.bash = "/nowhere/bash".into();
    let sandbox = Sandbox::new(options).await.unwrap();
    for (call, name) in [
        (python_call("1"), "/nowhere/python3"),
        (bash_call("1"), "/nowhere/bash"),
    ] {
        let outcome =
            charter_effects::ToolRunner::run(&sandbox, call, CancellationToken::new()).await;
        let (kind, message, ..) = failure(outcome);
        assert_eq!(kind, ErrorType::SystemError);
        assert!(message.contains(name), "{message}");
    }
    let python = sandbox.capabilities().await.swap_remove(0);
    assert!(
        matches!(python.state, CapabilityState::Missing { .. }),
        "{python:?}"
    );
}

const TRY_FILES: &str = r#"
import errno, json, os, sys
p = json.load(sys.stdin)["parameters"]
def attempt(what, path):
    try:
        if what == "read": open(path).read(); return "ok"
        if what == "list": os.listdir(path); return "ok"
        if what == "write": open(path, "w").write("x"); return "ok"
    except OSError as e:
        return "refused" if e.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else type(e).__name__
own = os.environ["TMPDIR"] + "/file"
print(json.dumps([attempt(w, q.replace("OWN", own)) for w, q in p["attempts"]]))
"#;

#[tokio::test]
async fn files_outside_package_system_and_grants_are_refused() {
    for fixture in both().await {
        let data = fixture.directory.path().join("charter.db");
        let granted = fixture.directory.path().join("granted");
        std::fs::write(&data, "secret").unwrap();
        std::fs::write(&granted, "profile").unwrap();
        let test_process = format!("/proc/{}/environ", std::process::id());
        let cases = [
            ("read", "/etc/shadow", "refused"),
            ("read", data.to_str().unwrap(), "refused"),
            ("write", data.to_str().unwrap(), "refused"),
            (
                "list",
                fixture.directory.path().to_str().unwrap(),
                "refused",
            ),
            ("list", "/", "refused"),
            ("list", "/tmp", "refused"),
            ("read", &test_process, "refused"),
            ("read", "/proc/self/environ", "refused"),
            ("write", "/tmp/charter-effects-outside", "refused"),
            ("write", "/usr/charter-effects-outside", "refused"),
            ("read", granted.to_str().unwrap(), "ok"),
            ("write", granted.to_str().unwrap(), "refused"),
            ("write", "OWN", "ok"),
            ("read", "OWN", "ok"),
            ("write", "/dev/null", "ok"),
            ("list", "/usr/bin", "ok"),
        ];
        let mut call = python_call(TRY_FILES);
        let attempts: Vec<_> = cases
            .iter()
            .map(|(what, path, _)| json!([what, path]))
            .collect();
        call.parameters = json!({ "attempts": attempts }).as_object().unwrap().clone();
        call.readable = vec![granted.clone()];
        let expected: Vec<_> = cases.iter().map(|(.., verdict)| *verdict).collect();
        assert_eq!(output(fixture.run(call).await), json!(expected));
        assert_eq!(std::fs::read_to_string(data).unwrap(), "secret");
    }
}

#[tokio::test]
async fn the_private_folder_is_fresh_and_does_not_outlive_the_call() {
    let fixture = sandbox().await;
    let source = "touch \"$TMPDIR/x\"; echo \"\\\"$TMPDIR\\\"\"";
    let first = output(fixture.run(bash_call(source)).await);
    let second = output(fixture.run(bash_call(source)).await);
    assert_ne!(first, second);
    assert!(!std::path::Path::new(first.as_str().unwrap()).exists());
}

#[tokio::test]
async fn attempts_to_escape_the_sandbox_are_refused() {
    let fixture = sandbox().await;
    let mut call = python_call(
        r#"
import ctypes, json, os, signal, socket, sys
parent = json.load(sys.stdin)["parameters"]["outside"]
libc = ctypes.CDLL(None, use_errno=True)
def name(run):
    try: run(); return "ok"
    except OSError as e: return type(e).__name__
def syscall(number, *args):
    if libc.syscall(number, *args) < 0: raise OSError(ctypes.get_errno(), "refused")
def capabilities():
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    return list(data) + [cap for cap in range(41) if libc.prctl(23, cap, 0, 0, 0) == 1]
print(json.dumps({
    "setsid": name(os.setsid),
    "signal": name(lambda: os.kill(parent, 0)),
    "priority": name(lambda: os.setpriority(os.PRIO_PROCESS, parent, 5)),
    "unix socket": name(lambda: socket.socket(socket.AF_UNIX)),
    "udp": name(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
    "tcp": name(lambda: socket.socket(socket.AF_INET)),
    "socketpair": name(socket.socketpair),
    "datagrams": name(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)),
    "packets": name(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)),
    "mounts": name(lambda: syscall(458, None, None, 0, 0)),
    "io_uring": name(lambda: syscall(425, 1, None)),
    "user namespace": name(lambda: syscall(272, 0x10000000)),
    "capabilities": capabilities(),
    "chroot": name(lambda: os.chroot("/")),
}))
"#,
    );
    call.parameters = json!({ "outside": std::process::id() })
        .as_object()
        .unwrap()
        .clone();
    assert_eq!(
        output(fixture.run(call).await),
        json!({
            "setsid": "PermissionError", "signal": "PermissionError", "priority": "PermissionError",
            "unix socket": "PermissionError", "udp": "PermissionError", "tcp": "PermissionError", "socketpair": "ok",
            "datagrams": "PermissionError", "packets": "ok", "mounts": "PermissionError", "io_uring": "PermissionError", "user namespace": "PermissionError", "capabilities": [0, 0, 0, 0, 0, 0],
            "chroot": "PermissionError",
        })
    );
}

#[tokio::test]
async fn capabilities_name_every_guarantee() {
    let fixture = sandbox().await;
    let names: Vec<_> = fixture
        .sandbox
        .capabilities()
        .await
        .iter()
        .map(|c| c.name)
        .collect();
    assert_eq!(
        names,
        [
            "python",
            "bash",
            "files",
            "data",
            "metadata",
            "signals",
            "group",
            "egress",
            "processes",
            "resources"
        ]
    );
}
