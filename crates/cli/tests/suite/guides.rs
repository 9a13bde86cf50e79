//! Executes the guides and similar pages: writes their files, runs their commands in a shell one after the other, and
//! compares the shown output with the commands' output.
//!
//! A fenced block is a file (`yaml file=PATH`) or a transcript (`console`). In a transcript, a line after `$ ` is a
//! command, the others are lines of its output, in order. `…` matches any words, `<name>` matches one word, and the
//! same one wherever the guide repeats the name. A command ends with the exit code 0, or with the one in its comment.

use std::collections::BTreeMap;

use crate::home::{Home, Ran, Server, eventually, project};

/// Commands whose answer may still change: they are repeated until it matches.
const LOOKS: [&str; 4] = [
    "charter runs show",
    "charter approvals list",
    "charter events",
    "timeout",
];

/// Follows guides in an empty directory.
pub(crate) struct Reader {
    home: Home,
    server: Option<Server>,
    /// The words that the names in angle brackets matched.
    named: BTreeMap<String, String>,
}

/// A command of a transcript.
#[derive(Debug, Clone, PartialEq)]
struct Command {
    line: String,
    code: i32,
    shown: Vec<String>,
}

/// A fenced block that the reader acts on.
#[derive(Debug, PartialEq)]
enum Block {
    File { path: String, content: String },
    Transcript(Vec<Command>),
}

/// The fenced blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let block = match info.split_once(" file=") {
            Some((_, path)) => Block::File {
                path: path.to_owned(),
                content: inside.join("\n") + "\n",
            },
            None if info == "console" => Block::Transcript(transcript(&inside)),
            None => panic!("a block is a file or a transcript, and not `{info}`"),
        };
        found.push(block);
    }
    found
}

fn transcript(lines: &[&str]) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in lines {
        let going_on = commands
            .last_mut()
            .filter(|command| command.line.ends_with('\\'));
        if let Some(command) = going_on {
            command.line.push('\n');
            command.line.push_str(line);
        } else if let Some(line) = line.strip_prefix("$ ") {
            commands.push(Command {
                line: line.to_owned(),
                code: 0,
                shown: Vec::new(),
            });
        } else if !line.trim().is_empty() {
            let command = commands.last_mut().expect("output comes after a command");
            command.shown.push((*line).to_owned());
        }
    }
    for command in &mut commands {
        if let Some((line, code)) = command.line.split_once("  # exit code ") {
            command.code = code.parse().expect("an exit code is a number");
            command.line = line.trim_end().to_owned();
        }
    }
    commands
}

/// Whether words match those shown; records the first match of each name.
fn agree(shown: &[&str], found: &[&str], named: &mut BTreeMap<String, String>) -> bool {
    match (shown, found) {
        ([], []) => true,
        (["…", rest @ ..], _) => (0..=found.len()).any(|from| {
            let mut tried = named.clone();
            let agrees = agree(rest, &found[from..], &mut tried);
            if agrees {
                *named = tried;
            }
            agrees
        }),
        ([word, shown @ ..], [other, found @ ..]) => {
            let agrees = if word.starts_with('<') && word.ends_with('>') {
                named
                    .entry((*word).to_owned())
                    .or_insert((*other).to_owned())
                    == other
            } else {
                word == other
            };
            agrees && agree(shown, found, named)
        }
        ([], [_, ..]) | ([_, ..], []) => false,
    }
}

/// The first shown line that is missing in the output after those before it.
fn absent<'s>(
    shown: &'s [String],
    output: &str,
    named: &mut BTreeMap<String, String>,
) -> Option<&'s str> {
    let words =
        |line: &'_ str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let mut found = output.lines();
    shown.iter().map(String::as_str).find(|line| {
        let wanted = words(line);
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        !found.any(|line| {
            let line: Vec<&str> = line.split_whitespace().collect();
            let mut tried = named.clone();
            let agrees = agree(&wanted, &line, &mut tried);
            if agrees {
                *named = tried;
            }
            agrees
        })
    })
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self {
            home: Home::new(),
            server: None,
            named: BTreeMap::new(),
        }
    }

    /// Writes the files of a page and runs its commands; returns their number.
    pub(crate) fn follows(&mut self, guide: &str) -> usize {
        let page = std::fs::read_to_string(project().join(guide)).unwrap();
        self.named.clear();
        let mut commands = 0;
        for block in blocks(&page) {
            match block {
                Block::File { path, content } => {
                    let file = self.home.path(&path);
                    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                    std::fs::write(file, content).unwrap();
                }
                Block::Transcript(transcript) => {
                    commands += transcript.len();
                    transcript.iter().for_each(|command| self.types(command));
                }
            }
        }
        commands
    }

    fn types(&mut self, command: &Command) {
        let mut line = command.line.clone();
        for (name, value) in &self.named {
            line = line.replace(name, value);
        }
        if line == "charter serve" {
            // It runs on a free port in the background; the previous server has ended.
            self.server = None;
            self.server = Some(self.home.serve());
        } else if let Some(variable) = line.strip_prefix("export ") {
            let (name, value) = variable.split_once('=').expect("a variable has a value");
            let value = self.home.shell(&format!("printf %s {value}")).out;
            self.home.set(name, &value);
        } else if LOOKS.iter().any(|looks| line.starts_with(looks)) {
            eventually(&command.line, || self.ran(command, &line).ok());
        } else if let Err(surprise) = self.ran(command, &line) {
            panic!("{surprise}");
        }
    }

    /// Runs a command and records the matched names; an error describes the difference.
    fn ran(&mut self, command: &Command, line: &str) -> Result<(), String> {
        let Ran { code, out, err } = self.home.shell(line);
        let mut named = self.named.clone();
        let absent = absent(&command.shown, &format!("{out}\n{err}"), &mut named);
        if code == Some(command.code) && absent.is_none() {
            self.named = named;
            return Ok(());
        }
        Err(format!(
            "$ {line}\nended with {code:?}, and has no line {absent:?}:\n{out}\n{err}"
        ))
    }
}

impl Drop for Reader {
    /// Processes of a page that failed half-way are ended by their recorded process ids.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.home.shell("kill $(cat *.pid)");
        }
    }
}

/// From an empty directory to a playbook that was run and rolled back, and on to access rules: the second guide
/// continues where the first one ends.
#[test]
fn the_guides_do_what_they_say() {
    let mut reader = Reader::new();
    for guide in ["write-a-playbook", "policies-and-approvals"] {
        let commands = reader.follows(&format!("docs/guides/{guide}.md"));
        assert!(commands > 10, "{guide} has {commands} commands");
    }
}

/// From a CRM to a brief on its leads, a lead that was changed, and one that was left alone.
#[test]
fn the_guide_to_missions_does_what_it_says() {
    let mut reader = Reader::new();
    let checkout = project();
    reader.home.set("CHECKOUT", checkout.to_str().unwrap());
    assert!(reader.follows("docs/guides/missions.md") > 10);
}

#[test]
fn a_guide_is_read_as_files_and_transcripts() {
    let page = "Text.\n\n```yaml file=a/b.yaml\nx: 1\n```\n\n```console\n$ one \\\n    two  # exit code 2\nfirst\n\nsecond …\n$ three\n```\n";
    let command = |line: &str, code, shown: &[&str]| Command {
        line: line.to_owned(),
        code,
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        blocks(page),
        [
            Block::File {
                path: "a/b.yaml".to_owned(),
                content: "x: 1\n".to_owned()
            },
            Block::Transcript(vec![
                command("one \\\n    two", 2, &["first", "second …"]),
                command("three", 0, &[]),
            ]),
        ]
    );
}

/// A difference between a guide and the output is detected.
#[test]
fn what_is_shown_is_looked_for_in_order() {
    let output = "run-1  waits\nstep   done  3 ms\n\nend\n";
    let cases = [
        (&["<run> waits", "step done …", "end"][..], None),
        (&["end", "<run> waits"], Some("<run> waits")),
        (&["step done"], Some("step done")),
        (&["<run> waits", "<run> done 3 ms"], Some("<run> done 3 ms")),
    ];
    for (shown, wanted) in cases {
        let shown: Vec<String> = shown.iter().map(|line| (*line).to_owned()).collect();
        let mut named = BTreeMap::new();
        assert_eq!(absent(&shown, output, &mut named), wanted);
    }
}
