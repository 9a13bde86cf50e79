//! Builds sandboxes and calls for the tests. Must not assert anything itself.

use charter_contract::agentic::error::ErrorType;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use charter_contract::catalogue::tool::{BodyFormat, HttpMethod};
use charter_effects::{
    DryRun, HttpTool, Language, Limits, NamespaceUse, NotificationUse, PackageFiles, Sandbox,
    SandboxOptions, ScriptTool, Target, ToolCall, ToolImplementation, ToolOutcome, ToolRunner,
    UnlimitedOutput,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) sandbox: Sandbox,
    pub(crate) directory: tempfile::TempDir,
}

/// The interpreter itself, not a launcher, so that each test starts at once.
pub(crate) fn python() -> PathBuf {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let probe = std::process::Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .unwrap();
        PathBuf::from(String::from_utf8(probe.stdout).unwrap().trim())
    };
    PYTHON.get_or_init(find).clone()
}

pub(crate) async fn sandbox() -> Fixture {
    sandbox_with(NamespaceUse::WhenAvailable).await
}

pub(crate) async fn sandbox_with(namespaces: NamespaceUse) -> Fixture {
    sandbox_of(|options| options.namespaces = namespaces).await
}

/// Without namespaces and notifications, as in some containers.
pub(crate) async fn without_notifications() -> Fixture {
    let set = |options: &mut SandboxOptions| {
        options.namespaces = NamespaceUse::Never;
        options.notifications = NotificationUse::Never;
    };
    sandbox_of(set).await
}

/// Creates a sandbox with the options that `set` changes.
pub(crate) async fn sandbox_of(set: impl FnOnce(&mut SandboxOptions)) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let mut options = SandboxOptions::new(directory.path().join("sandbox"));
    options.python = python();
    set(&mut options);
    Fixture {
        sandbox: Sandbox::new(options).await.unwrap(),
        directory,
    }
}

/// With namespaces, if this machine has them, and without.
pub(crate) async fn both() -> [Fixture; 2] {
    [
        sandbox_with(NamespaceUse::WhenAvailable).await,
        sandbox_with(NamespaceUse::Never).await,
    ]
}

impl Fixture {
    pub(crate) async fn run(&self, call: ToolCall) -> ToolOutcome {
        self.sandbox.run(call, CancellationToken::new()).await
    }
}

pub(crate) fn package(files: &[(&str, &str)]) -> Arc<PackageFiles> {
    let files: BTreeMap<_, _> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    Arc::new(PackageFiles::new(files).unwrap())
}

pub(crate) fn python_call(source: &str) -> ToolCall {
    script_call(Language::Python, source)
}

pub(crate) fn bash_call(source: &str) -> ToolCall {
    script_call(Language::Bash, source)
}

pub(crate) fn script_call(language: Language, source: &str) -> ToolCall {
    call(ToolImplementation::Script(ScriptTool {
        language,
        entry: "scripts/tool".to_owned(),
        files: package(&[("scripts/tool", source)]),
    }))
}

pub(crate) fn http_call(method: HttpMethod, url: String) -> ToolCall {
    call(ToolImplementation::Http(HttpTool {
        method,
        url,
        headers: Vec::new(),
        query: Vec::new(),
        list_separators: BTreeMap::new(),
        body: None,
        body_format: BodyFormat::Json,
    }))
}

pub(crate) fn call(implementation: ToolImplementation) -> ToolCall {
    ToolCall {
        tool_id: charter_contract::ids::ToolId::parse("test.tool").unwrap(),
        implementation,
        target: Target::Here,
        parameters: Map::new(),
        dry_run: DryRun::No,
        limits: Limits {
            timeout: Duration::from_secs(20),
            ..Limits::default()
        },
        environment: Vec::new(),
        egress: Vec::new(),
        readable: Vec::new(),
        idempotency_key: "run-1/step-1".to_owned(),
        room: Arc::new(UnlimitedOutput),
    }
}

/// Returns the output of a call that must succeed.
pub(crate) fn output(outcome: ToolOutcome) -> Value {
    match outcome {
        ToolOutcome::Succeeded { output, .. } => output,
        failed @ ToolOutcome::Failed { .. } => panic!("{failed:?}"),
    }
}

/// Returns kind, message, retryable and log of a call that must fail.
pub(crate) fn failure(outcome: ToolOutcome) -> (ErrorType, String, bool, String) {
    match outcome {
        ToolOutcome::Failed {
            kind,
            message,
            retryable,
            log,
            ..
        } => (kind, message, retryable, log),
        succeeded @ ToolOutcome::Succeeded { .. } => panic!("{succeeded:?}"),
    }
}

/// An ordinary user.
pub(crate) const USER: u32 = 10_001;

/// Runs `work` as an ordinary user. If the tests run as root, that is on a thread that changes its user.
pub(crate) fn as_ordinary_user<F: Future<Output = ()>>(work: impl FnOnce() -> F + Send) {
    use rustix::process::{DumpableBehavior, Gid, Uid};
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let (user, group) = (Uid::from_raw(USER), Gid::from_raw(USER));
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_res_gid(group, group, group).unwrap();
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
                // A change of the user makes the process undumpable, and root then owns its files in /proc.
                rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).unwrap();
            }
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build().unwrap().block_on(work());
        });
        done.join().unwrap();
    });
}

/// Waits until a folder is empty.
pub(crate) async fn is_emptied(folder: &std::path::Path) {
    let deadline = std::time::Instant::now() + Duration::from_secs(120);
    while std::fs::read_dir(folder).unwrap().next().is_some() {
        let folder = folder.display();
        assert!(
            std::time::Instant::now() < deadline,
            "{folder} is not emptied"
        );
        tokio::task::yield_now().await;
    }
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: i64) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('Z'),
        Err(_) => false,
    }
}
