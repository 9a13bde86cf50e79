//! The files of the container image, read as its builder reads them: copied files exist and are not ignored, the tools'
//! dependencies are installed, and the health check is a valid command. No container engine runs here.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::home::{Home, project};

const DOCKERFILE: &str = "deploy/Dockerfile";

/// One instruction of a Dockerfile.
#[derive(Debug)]
struct Instruction {
    /// The name or number of its stage.
    stage: String,
    word: String,
    /// The rest of the instruction, on one line.
    rest: String,
}

impl Instruction {
    fn words(&self) -> Vec<&str> {
        self.rest.split_whitespace().collect()
    }

    /// The stage that it copies from, its sources, and its target.
    fn copied(&self) -> (Option<&str>, Vec<&str>, &str) {
        let words = self.words();
        let from = words.iter().find_map(|word| word.strip_prefix("--from="));
        let paths = words.iter().filter(|word| !word.starts_with("--"));
        let mut paths: Vec<&str> = paths.copied().collect();
        let target = paths.pop().unwrap();
        (from, paths, target)
    }
}

fn text(path: &str) -> String {
    std::fs::read_to_string(project().join(path)).unwrap()
}

fn instructions() -> Vec<Instruction> {
    let text = text(DOCKERFILE);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let mut stage = String::new();
    let mut found = Vec::new();
    for line in joined.lines().filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap();
        if word == "FROM" {
            stage = match rest.split_once(" AS ") {
                Some((_, name)) => name.to_owned(),
                None => "image".to_owned(),
            };
        }
        found.push(Instruction {
            stage: stage.clone(),
            word: word.to_owned(),
            rest: rest.to_owned(),
        });
    }
    found
}

fn of_word<'i>(instructions: &'i [Instruction], word: &str) -> Vec<&'i Instruction> {
    let all = instructions.iter();
    all.filter(|instruction| instruction.word == word).collect()
}

/// The patterns of `.dockerignore`, in order; `!` includes files again that an earlier one excludes.
struct Ignored(Vec<(bool, String)>);

impl Ignored {
    fn read() -> Self {
        let text = text("deploy/Dockerfile.dockerignore");
        let patterns = text.lines().filter(|line| !line.is_empty());
        let read = |line: &str| match line.strip_prefix('!') {
            Some(pattern) => (false, pattern.to_owned()),
            None => (true, line.to_owned()),
        };
        Self(patterns.map(read).collect())
    }

    /// Whether the builder gets a file: the last pattern that matches it or one of its folders decides.
    fn sends(&self, path: &str) -> bool {
        let path: Vec<&str> = path.split('/').collect();
        let fits = |pattern: &str| {
            let pattern: Vec<&str> = pattern.split('/').collect();
            (1..=path.len()).any(|length| fits(&pattern, &path[..length]))
        };
        let last = self.0.iter().rfind(|(_, pattern)| fits(pattern));
        last.is_none_or(|(ignores, _)| !ignores)
    }
}

fn fits(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|from| fits(rest, &path[from..])),
        ([name, rest @ ..], [found, below @ ..]) => {
            (*name == "*" || name == found) && fits(rest, below)
        }
        ([], [_, ..]) | ([_, ..], []) => false,
    }
}

/// Generated files in the folders of sources.
const MADE: [&str; 5] = [
    "__pycache__",
    "dist",
    "generated",
    "node_modules",
    "test-results",
];

/// The files below a path of the repository, without generated ones.
fn files(path: &str) -> Vec<String> {
    let whole = project().join(path);
    if whole.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(&whole).unwrap_or_else(|_| panic!("there is no {path}"));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept = names.filter(|name| !MADE.contains(&name.as_str()));
    kept.flat_map(|name| files(&format!("{path}/{name}")))
        .collect()
}

#[test]
fn the_matcher_of_ignored_files_knows_its_rules() {
    let ignored = Ignored(vec![
        (true, "**".to_owned()),
        (false, "a".to_owned()),
        (false, "b/c".to_owned()),
        (true, "a/*/d".to_owned()),
        (true, "**/node_modules".to_owned()),
    ]);
    for (path, sent) in [
        ("x", false),
        ("a/e", true),
        ("a/x/d/deep", false),
        ("a/x/e", true),
        ("b/c", true),
        ("b/d", false),
        ("a/node_modules/x", false),
        ("node_modules", false),
    ] {
        assert_eq!(ignored.sends(path), sent, "{path}");
    }
}

/// A copied file that is ignored fails the build; other ignored files that are needed are missing in the image.
#[test]
fn everything_that_the_image_is_built_from_is_sent_and_exists() {
    let instructions = instructions();
    let ignored = Ignored::read();
    let stages: BTreeSet<&str> = instructions.iter().map(|i| i.stage.as_str()).collect();
    let mut sent = 0;
    for copy in of_word(&instructions, "COPY") {
        let (from, sources, _) = copy.copied();
        if let Some(from) = from {
            assert!(stages.contains(from), "{copy:?}");
            continue;
        }
        for source in sources.into_iter().filter(|source| *source != ".") {
            let all = files(source);
            assert!(
                !all.is_empty(),
                "{source} is not in the repository: {copy:?}"
            );
            for file in &all {
                assert!(ignored.sends(file), "{file} is left out");
                sent += 1;
            }
        }
    }
    assert!(sent > 100, "{sent}");
    let crates = files("crates").into_iter().chain(files("xtask"));
    let sources = crates.filter(|file| !file.contains("/tests/"));
    let workspace = [
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "clippy.toml",
    ];
    for file in sources.chain(workspace.map(str::to_owned)) {
        assert!(ignored.sends(&file), "{file} is left out");
    }
    for file in [
        ".git/config",
        "target/debug/charter",
        "node_modules/x/package.json",
        "deploy/secrets/store.env",
    ] {
        assert!(!ignored.sends(file), "{file} is sent");
    }
}

/// The server is compiled with the console, so the console is built and copied first.
#[test]
fn the_console_is_built_before_the_server() {
    let instructions = instructions();
    let at = |is: &dyn Fn(&Instruction) -> bool| instructions.iter().position(is).unwrap();
    let built = at(&|i| i.word == "RUN" && i.rest.contains("--workspace charter-console"));
    let copied = at(&|i| {
        let of_console = |source: &&str| *source == "/src/console/dist";
        i.word == "COPY" && i.copied().0 == Some("console") && i.copied().1.iter().any(of_console)
    });
    let compiled = at(&|i| i.word == "RUN" && i.rest == "deploy/release.sh");
    assert!(text("deploy/release.sh").contains("cargo build --locked --release -p charter-cli"));
    assert!(built < copied && copied < compiled, "{instructions:#?}");
    assert_eq!(instructions[copied].copied().2, "console/dist");
    assert_eq!(instructions[copied].stage, instructions[compiled].stage);
    // A release embeds them in the binary (`crates/server/src/routes/console.rs`).
    assert!(
        text("crates/server/src/routes/console.rs").contains("#[folder = \"../../console/dist\"]")
    );
}

/// The packages in the image, from the words of `apt-get install`.
fn installed(instructions: &[Instruction], stage: &str) -> BTreeSet<String> {
    let runs = of_word(instructions, "RUN").into_iter();
    let runs = runs.filter(|run| run.stage == stage);
    let commands = runs.flat_map(|run| run.rest.split("&&"));
    let installs = commands.filter_map(|command| command.trim().strip_prefix("apt-get install "));
    let words = installs.flat_map(str::split_whitespace);
    words
        .filter(|word| !word.starts_with("--"))
        .map(str::to_owned)
        .collect()
}

/// The interpreters that the tools of the shipped packages need.
#[test]
fn every_interpreter_of_the_shipped_packages_is_installed() {
    let instructions = instructions();
    let packages = installed(&instructions, "image");
    let scaffold = "crates/cli/src/commands/init/scaffold/tools";
    let tools = files("packages").into_iter().chain(files(scaffold));
    let tools = tools.filter(|file| file.contains("/tools/"));
    let mut languages = BTreeSet::new();
    for file in tools {
        let text = text(&file);
        let lines = text.lines().map(|line| line.trim_start_matches(['-', ' ']));
        let named = lines.filter_map(|line| line.strip_prefix("language: "));
        languages.extend(named.map(str::to_owned));
    }
    assert!(languages.contains("python"), "{languages:?}");
    for language in languages {
        match language.as_str() {
            // The standard library is in `python3`, and not in `python3-minimal`.
            "python" => assert!(packages.contains("python3"), "{packages:?}"),
            "bash" => assert!(packages.contains("bash"), "{packages:?}"),
            "http" => assert!(packages.contains("ca-certificates"), "{packages:?}"),
            other => panic!("what does a tool in {other} need in the image?"),
        }
    }
    let environment = of_word(&instructions, "ENV").pop().unwrap();
    let python = environment.words().into_iter();
    let mut python = python.filter_map(|word| word.strip_prefix("CHARTER_TOOLS__PYTHON="));
    let python = python.next().unwrap();
    let copies = of_word(&instructions, "COPY").into_iter();
    let mut copies =
        copies.filter(|copy| copy.stage == "image" && copy.copied().0 == Some("python"));
    assert!(
        copies.any(|copy| Path::new(python).starts_with(copy.copied().2)),
        "{python}"
    );
}

/// The requirements of a file, as `name==version`.
fn requirements(file: &str) -> BTreeSet<String> {
    let text = text(file);
    let lines = text.lines().filter(|line| line.contains("=="));
    let named = lines.filter_map(|line| line.split_whitespace().next());
    named.map(str::to_lowercase).collect()
}

/// A script with a missing library fails only when it is called; its package still registers.
#[test]
fn every_library_that_scripts_import_is_installed_as_it_was_tested() {
    let pinned = requirements("deploy/python.txt");
    let tested = requirements("quickstart/requirements.txt");
    let standard = Command::new("python3")
        .args(["-c", "import sys; print(*sys.stdlib_module_names)"])
        .output()
        .unwrap();
    let standard = String::from_utf8(standard.stdout).unwrap();
    let standard: BTreeSet<&str> = standard.split_whitespace().collect();
    let scripts = files("packages").into_iter();
    let scripts: Vec<String> = scripts.filter(|file| file.ends_with(".py")).collect();
    assert!(scripts.len() > 10, "{scripts:?}");
    let mut libraries = BTreeSet::new();
    for script in &scripts {
        let text = text(script);
        let imports = text.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("import ").or(line.strip_prefix("from "))
        });
        for import in imports {
            let module = import.split(['.', ' ', ',']).next().unwrap();
            let beside = Path::new(script).with_file_name(format!("{module}.py"));
            if !standard.contains(module) && !project().join(beside).exists() {
                libraries.insert(module.to_owned());
            }
        }
    }
    assert!(libraries.contains("boto3"), "{libraries:?}");
    for library in libraries {
        let start = format!("{library}==");
        let of = |all: &BTreeSet<String>| all.iter().find(|one| one.starts_with(&start)).cloned();
        let version = of(&pinned);
        assert!(version.is_some(), "{library} is not in deploy/python.txt");
        assert_eq!(version, of(&tested), "{library}");
    }
}

/// `HEALTHCHECK` and `ENTRYPOINT` start the copied binary, and the command of the check exists.
#[test]
fn the_health_check_is_a_command_of_the_image() {
    let instructions = instructions();
    let check = of_word(&instructions, "HEALTHCHECK").pop().unwrap();
    let (_, command) = check.rest.split_once(" CMD ").unwrap();
    let command: Vec<String> = serde_json::from_str(command).unwrap();
    let entry = of_word(&instructions, "ENTRYPOINT").pop().unwrap();
    let entry: Vec<String> = serde_json::from_str(&entry.rest).unwrap();
    assert_eq!((check.stage.as_str(), &command[..1]), ("image", &entry[..]));
    let mut copies = of_word(&instructions, "COPY").into_iter();
    assert!(copies.any(|copy| copy.stage == "image" && copy.copied().2 == entry[0]));
    let arguments: Vec<&str> = command[1..].iter().map(String::as_str).collect();
    let home = Home::new();
    let helped = home.bare(&[&arguments[..], &["--help"]].concat()).output();
    assert!(helped.unwrap().status.success(), "{arguments:?}");
    // It uses the image's listening address, and the servers of the compose file have no other check.
    assert!(text(DOCKERFILE).contains("CHARTER_LISTEN=0.0.0.0:7407"));
    let compose = text("deploy/compose.yaml");
    let checks = compose.lines().filter(|line| line.contains("healthcheck:"));
    let checks: Vec<&str> = checks.map(str::trim).collect();
    let disabled = "healthcheck: {disable: true}";
    assert_eq!(checks, ["healthcheck:", disabled, disabled]);
}
