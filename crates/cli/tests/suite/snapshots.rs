//! The help of every command and the commonest errors, as a terminal of 80 columns shows them. The files below
//! `crates/cli/tests/snapshots` record them; with `CHARTER_TEST_UPDATE=1` the tests write the files.

mod documents;
mod local;
mod server;

use std::path::PathBuf;

use crate::home::{Api, Home, project};
use crate::packages::Package;

/// The variable with which the tests write the recorded files.
const UPDATE: &str = "CHARTER_TEST_UPDATE";

/// The page that has a section for each command; `xtask codegen` keeps it complete.
const REFERENCE: &str = "docs/reference/cli.md";

/// The shortest sequence of hexadecimal digits and hyphens that is an id or a digest.
const ID_LENGTH: usize = 32;

/// A home without a server, in front of a terminal of 80 columns. Its data directory has a relative path, so that lines
/// break at the same words on every machine.
fn home() -> Home {
    let home = Home::new().embedded().with("COLUMNS", "80");
    home.with("CHARTER_DATA_DIR", "data")
        .with("CHARTER_LOG", "off")
}

/// Commands and the texts that they print.
struct Transcript {
    home: Home,
    text: String,
    /// The commands that must fail and did not.
    succeeded: Vec<String>,
}

impl Transcript {
    /// Without a server.
    fn new() -> Self {
        Self {
            home: home(),
            text: String::new(),
            succeeded: Vec::new(),
        }
    }

    /// With the server and the key of a caller.
    fn to(api: &Api) -> Self {
        let mut transcript = Self::new();
        transcript.home.set("CHARTER_SERVER", &api.base);
        transcript.use_key(api.key.as_deref());
        transcript
    }

    fn use_key(&mut self, key: Option<&str>) {
        match key {
            Some(key) => self.home.set("CHARTER_API_KEY", key),
            None => self.home.unset("CHARTER_API_KEY"),
        }
    }

    /// Begins a part with a title.
    fn part(&mut self, title: &str) {
        self.text.push_str(&format!("# {title}\n\n"));
    }

    /// Writes a file beside the data directory.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let file = self.home.path(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    /// Writes a package beside the data directory.
    fn package(&self, name: &str, package: &Package) {
        package.write(&self.home.path(name));
    }

    /// Runs a command that prepares others.
    #[track_caller]
    fn prepare(&self, line: &str) {
        let ran = self.home.shell(line);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    }

    /// Runs a command that must fail.
    fn fails(&mut self, line: &str) {
        let code = self.record(line);
        if code == Some(0) {
            self.succeeded.push(line.to_owned());
        }
    }

    fn record(&mut self, line: &str) -> Option<i32> {
        let ran = self.home.shell(line);
        self.text.push_str(&format!("$ {line}\n"));
        for shown in ran.out.lines().chain(ran.err.lines()) {
            self.text.push_str(shown.trim_end());
            self.text.push('\n');
        }
        match ran.code {
            Some(0) => self.text.push('\n'),
            Some(code) => self.text.push_str(&format!("[exit code {code}]\n\n")),
            None => self.text.push_str("[ended by a signal]\n\n"),
        }
        ran.code
    }

    /// Compares the commands with a recorded file.
    #[track_caller]
    fn compare(self, name: &str) {
        let home = self.home.path("");
        let home = home.to_str().unwrap().trim_end_matches('/');
        let text = masked(&self.text).replace(home, "HOME");
        compare(name, &(text.trim_end().to_owned() + "\n"));
        let succeeded = self.succeeded;
        assert!(succeeded.is_empty(), "no failure: {succeeded:#?}");
    }
}

/// Compares a text with a recorded file, or writes the file.
#[track_caller]
fn compare(name: &str, text: &str) {
    let file = folder().join(name);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    let (recorded, shown): (Vec<&str>, Vec<&str>) =
        (recorded.lines().collect(), text.lines().collect());
    let mut lines = 0..recorded.len().max(shown.len());
    if let Some(at) = lines.find(|at| recorded.get(*at) != shown.get(*at)) {
        panic!(
            "{}:{}: recorded {:?}, shown {:?}; {UPDATE}=1 records the texts anew",
            file.display(),
            at + 1,
            recorded.get(at),
            shown.get(at)
        );
    }
}

fn folder() -> PathBuf {
    project().join("crates/cli/tests/snapshots")
}

/// The texts before numbers that differ between runs and machines: ports and scores.
const BEFORE_NUMBERS: [&str; 2] = ["127.0.0.1:", "(0."];

/// Replaces the digits of ids, digests, ports and scores by zeros; lengths stay, so that lines break at the same words.
fn masked(text: &str) -> String {
    let ids_masked = mask_ids(text);
    BEFORE_NUMBERS.iter().fold(ids_masked, |text, before| {
        let mut parts = text.split(before);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |masked, part| {
            let digits = part.chars().take_while(char::is_ascii_digit).count();
            masked + before + &"0".repeat(digits) + &part[digits..]
        })
    })
}

fn mask_ids(text: &str) -> String {
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let is_part = |c: char| is_digit(c) || c == '-';
    let mut masked = String::with_capacity(text.len());
    for part in text.split_inclusive(|c: char| !is_part(c)) {
        let id = part.trim_end_matches(|c: char| !is_part(c));
        if id.len() < ID_LENGTH {
            masked.push_str(part);
        } else {
            masked.extend(part.chars().map(|c| if is_digit(c) { '0' } else { c }));
        }
    }
    masked
}

#[test]
fn ids_digests_ports_and_scores_are_masked() {
    for (text, expected) in [
        (
            "there is no run `run-01930000-abcd-7000-8000-000000000001`",
            "there is no run `run-00000000-0000-0000-0000-000000000000`",
        ),
        (
            "sha256:00ff00ff00ff00ff00ff00ff00ff00ff.",
            "sha256:00000000000000000000000000000000.",
        ),
        ("a bad facade: 7407", "a bad facade: 7407"),
        (
            "http://127.0.0.1:34661/ has 7407 hits (0.932)",
            "http://127.0.0.1:00000/ has 7407 hits (0.000)",
        ),
    ] {
        assert_eq!(masked(text), expected);
    }
}

/// The commands by their first word, each with its words.
fn commands() -> Vec<(String, Vec<String>)> {
    let reference = std::fs::read_to_string(project().join(REFERENCE)).unwrap();
    let titles = reference.lines().filter_map(|line| {
        let command = line.strip_prefix("## `charter")?.strip_suffix('`')?;
        Some(command.trim_start().to_owned())
    });
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for words in titles {
        let first = words.split(' ').next().unwrap_or_default().to_owned();
        match commands.last_mut() {
            Some((name, below)) if *name == first => below.push(words),
            Some(_) | None => commands.push((first, vec![words])),
        }
    }
    commands
}

/// One file for each command with the commands below it; `charter.txt` for the program.
#[test]
fn the_help_of_every_command_is_as_recorded() {
    let commands = commands();
    assert!(commands.len() > 30, "{commands:?}");
    let mut files: Vec<String> = Vec::new();
    for (name, words) in commands {
        let mut transcript = Transcript::new();
        for words in words {
            let line = format!("charter {words} --help").replace("  ", " ");
            let code = transcript.record(&line);
            assert_eq!(code, Some(0), "{line}");
        }
        let file = match name.as_str() {
            "" => "charter.txt".to_owned(),
            name => format!("{name}.txt"),
        };
        transcript.compare(&format!("help/{file}"));
        files.push(file);
    }
    files.sort();
    let recorded = std::fs::read_dir(folder().join("help")).unwrap();
    let mut recorded: Vec<String> = recorded
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    recorded.sort();
    assert_eq!(recorded, files, "a file of a command that does not exist");
}
