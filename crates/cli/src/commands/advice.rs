//! Hints for failures at the command line. The hint of a public code suits every client of the API. A command also
//! knows which command lists the existing entries, and how it takes a value. Must not know how a command works.

use charter_contract::catalogue::DocumentKind;
use charter_contract::error_code::ErrorCode;
use charter_contract::mission::ArtifactKind;
use charter_domain::parameters::ProposedValue;
use serde_json::Value;

use super::skills::Skills;
use super::{Command, runs};
use crate::failure::{PROPOSALS, ReportedFailure};

/// The detail of a failure that names the kind of the missing thing.
const WHAT: &str = "what";

/// The detail of a failure that lists the known kinds, after a request for an unknown one.
const KINDS: &str = "kinds";

/// The details of a failure that list existing ids, and count the rest.
const KNOWN: &str = "known";
const MORE: &str = "more";

/// The number of ids that a hint lists.
const NAMED: usize = 8;

/// The commands that list the entries of a kind, in addition to `charter list`.
const LISTINGS: [(&str, &str); 24] = [
    ("agent skill", "charter skills tree"),
    ("approval", "charter approvals list"),
    ("assignment", "charter mission assignments"),
    ("channel", "charter notify channels"),
    ("credential", "charter credential list"),
    ("domain lens", "charter lens list"),
    ("enabled schedule", "charter schedule list"),
    ("event of the run", "charter runs show ID"),
    ("evidence", "charter evidence list"),
    ("evidence record", "charter evidence list"),
    ("file", "charter skills show ID"),
    ("framework", "charter list graph_node"),
    ("key", "charter key list"),
    ("lens", "charter lens list"),
    ("memory", "charter memory list"),
    ("mission", "charter mission list"),
    ("occurrence", "charter schedule history ID"),
    ("package", "charter package list"),
    ("route example", "charter route examples list"),
    ("run", "charter runs list"),
    ("schema", "charter schema list"),
    ("step of the run", "charter runs show ID"),
    ("task", "charter mission show ID"),
    ("version", "charter package history NAME"),
];

/// The facts about a command that its hints depend on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Advice {
    /// Whether its skills are Agent Skills.
    agent_skills: bool,
    /// How the command takes parameters.
    parameters: Option<&'static str>,
    /// Whether it uses memories' proposals for missing parameters; `None` for a command that cannot.
    memories: Option<bool>,
    /// How the documents that it sends are checked.
    documents: Option<&'static str>,
    /// How it proceeds in spite of references.
    references: Option<&'static str>,
}

impl Advice {
    pub(super) fn for_command(command: &Command) -> Self {
        let mut advice = Self::default();
        if let Command::Skills(command) = command {
            advice.agent_skills = true;
            if let Skills::Import { .. } = command {
                advice.documents = Some("--dry-run checks them again without writing.");
            }
            if let Skills::Delete { .. } = command {
                advice.references =
                    Some("Delete those skills first, or repeat the command with --force.");
            }
        }
        if let Command::Package(_) | Command::Dev(_) = command {
            let check = "`charter package validate DIR` checks it again without writing.";
            advice.documents = Some(check);
        }
        if let Command::Call(_) = command {
            advice.documents = Some("`charter resolve tool TOOL` shows its parameters.");
        }
        if let Command::Ask(_) | Command::Playbook(_) | Command::Gate(_) = command {
            advice.parameters = Some("Give each with -p NAME=VALUE.");
        }
        if let Command::Ask(command) = command {
            advice.memories = Some(command.uses_memory());
        }
        if let Command::Runs(command) = command {
            advice.parameters = Some(match command {
                runs::Runs::Start(_) => "Give each with -p NAME=VALUE.",
                _ => "`charter runs set ID NAME=VALUE` provides them.",
            });
            advice.documents =
                Some("`charter package validate FILE` checks a plan without starting it.");
        }
        advice
    }

    /// Adds the hint for a failure, if one is known.
    pub(super) fn give(self, mut error: anyhow::Error) -> anyhow::Error {
        if let Some(reported) = error.downcast_mut::<ReportedFailure>()
            && let Some(hint) = self.hint(reported)
        {
            reported.hint = Some(hint);
        }
        error
    }

    fn hint(self, reported: &ReportedFailure) -> Option<String> {
        let code: ErrorCode = reported.code.parse().ok()?;
        let hint = match code {
            ErrorCode::NotFound if reported.details.get(KINDS).is_some() => {
                "Name one of the kinds that the message lists."
            }
            ErrorCode::NotFound | ErrorCode::InvalidRequest => {
                let what = reported.details.get(WHAT)?.as_str()?;
                // No command lists requests: an error lists the existing ones.
                return match (known_ids(reported), self.listing(what)) {
                    (Some(known), Some(listing)) => {
                        Some(format!("Known: {known}; `{listing}` shows all."))
                    }
                    (Some(known), None) => Some(format!("Known: {known}.")),
                    (None, listing) => listing.map(|listing| format!("`{listing}` shows all.")),
                };
            }
            ErrorCode::MissingParameters => match (self.memories, proposed(reported)) {
                (Some(false), Proposed::Any | Proposed::Contradicting) => {
                    "Give each with -p NAME=VALUE, or use the values that memories propose with --use-memory."
                }
                (Some(true), Proposed::Contradicting) => {
                    "The memories contradict each other, so none is used: give each with -p NAME=VALUE."
                }
                (Some(_) | None, Proposed::Any | Proposed::Contradicting | Proposed::Nothing) => {
                    self.parameters?
                }
            },
            ErrorCode::InvalidDocument | ErrorCode::RoutingTestFailed => self.documents?,
            ErrorCode::StillReferenced => self.references?,
            ErrorCode::Unauthenticated => {
                "Set CHARTER_API_KEY, or `api_key` in the configuration, to a key of that server."
            }
            ErrorCode::ApprovalRequired => "`charter approvals list` lists the pending approvals.",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// The command that lists the entries of a kind.
    fn listing(self, what: &str) -> Option<String> {
        let what = what.strip_prefix("active ").unwrap_or(what);
        let what = match what {
            "skill" if self.agent_skills => "agent skill",
            "candidate" | "skill or playbook" => "skill",
            other => other,
        };
        if let Some((_, listing)) = LISTINGS.iter().find(|(kind, _)| *kind == what) {
            return Some((*listing).to_owned());
        }
        if what.parse::<ArtifactKind>().is_ok() {
            return Some("charter mission artifacts ID".to_owned());
        }
        let kind: DocumentKind = what.replace(' ', "_").parse().ok()?;
        kind.is_registrable()
            .then(|| format!("charter list {kind}"))
    }
}

/// Memories' proposals for the missing parameters of a failure.
enum Proposed {
    Nothing,
    Any,
    /// Several values for one parameter.
    Contradicting,
}

fn proposed(failure: &ReportedFailure) -> Proposed {
    let proposals: Vec<ProposedValue> = failure.listed(PROPOSALS);
    let mut parameters: Vec<_> = proposals.iter().map(|one| &one.parameter).collect();
    let count = parameters.len();
    parameters.sort();
    parameters.dedup();
    match (count, parameters.len()) {
        (0, _) => Proposed::Nothing,
        (count, distinct) if count > distinct => Proposed::Contradicting,
        _ => Proposed::Any,
    }
}

/// The ids that a failure lists, as a part of a sentence.
fn known_ids(failure: &ReportedFailure) -> Option<String> {
    let known = failure.details.get(KNOWN)?.as_array()?;
    let named: Vec<String> = known
        .iter()
        .filter_map(|id| Some(format!("`{}`", id.as_str()?)))
        .take(NAMED)
        .collect();
    let counted = failure.details.get(MORE).and_then(Value::as_u64);
    let beyond = u64::try_from(known.len().saturating_sub(named.len())).unwrap_or(0);
    let named = match named.as_slice() {
        [] => return None,
        named => named.join(", "),
    };
    Some(match beyond.saturating_add(counted.unwrap_or(0)) {
        0 => named,
        more => format!("{named} and {more} more"),
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use serde_json::json;

    use super::*;
    use crate::commands::Cli;

    /// The hint for a failure of a command.
    fn hint(line: &str, code: ErrorCode, details: Value) -> Option<String> {
        let words = line.split(' ');
        let cli = Cli::try_parse_from(words).unwrap();
        let failure = ReportedFailure {
            details,
            ..ReportedFailure::new(code, "it failed")
        };
        let general = failure.hint.clone();
        let advised = Advice::for_command(&cli.command).give(failure.into());
        let advised = advised.downcast_ref::<ReportedFailure>().unwrap();
        advised.hint.clone().filter(|_| advised.hint != general)
    }

    #[test]
    fn not_found_hints_at_the_list_command() {
        for (line, what, listing) in [
            ("charter runs show x", "run", "charter runs list"),
            ("charter resolve tool x", "tool", "charter list tool"),
            (
                "charter playbook run x",
                "active playbook",
                "charter list playbook",
            ),
            ("charter skills show x", "skill", "charter skills tree"),
            (
                "charter ask q --skill x",
                "active skill",
                "charter list skill",
            ),
            ("charter lens show x", "domain lens", "charter lens list"),
            (
                "charter runs show x --at 9",
                "event of the run",
                "charter runs show ID",
            ),
            (
                "charter gate explain --run x --step y",
                "step of the run",
                "charter runs show ID",
            ),
            (
                "charter skills show x --file y",
                "file",
                "charter skills show ID",
            ),
            (
                "charter graph query coverage x",
                "framework",
                "charter list graph_node",
            ),
            (
                "charter mission artifacts x y --kind worker_result",
                "worker_result",
                "charter mission artifacts ID",
            ),
            (
                "charter resolve guardrails --skill x",
                "skill or playbook",
                "charter list skill",
            ),
        ] {
            let found = hint(line, ErrorCode::NotFound, json!({ "what": what }));
            let expected = format!("`{listing}` shows all.");
            assert_eq!(found, Some(expected), "{line}");
        }
        let kinds = json!({"kinds": ["skill", "tool"]});
        let kind = hint("charter list x", ErrorCode::NotFound, kinds).unwrap();
        assert_eq!(kind, "Name one of the kinds that the message lists.");
        for what in ["moon", "request"] {
            let details = json!({ "what": what });
            let unknown = hint("charter runs show x", ErrorCode::NotFound, details);
            assert_eq!(unknown, None, "{what}");
        }
    }

    #[test]
    fn what_is_not_found_comes_with_the_ids_that_the_error_lists() {
        for (what, known, more, expected) in [
            (
                "lens",
                json!(["a", "b"]),
                json!(null),
                "Known: `a`, `b`; `charter lens list` shows all.",
            ),
            (
                "lens",
                json!([]),
                json!(null),
                "`charter lens list` shows all.",
            ),
            (
                "lens",
                json!(["a", "b", "c", "d", "e", "f", "g", "h", "i"]),
                json!(2),
                "Known: `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h` and 3 more; `charter lens list` shows all.",
            ),
            (
                "request",
                json!(["req-1", "req-2"]),
                json!(null),
                "Known: `req-1`, `req-2`.",
            ),
        ] {
            let details = json!({"what": what, "known": known, "more": more});
            let found = hint("charter lens show x", ErrorCode::NotFound, details);
            assert_eq!(found.as_deref(), Some(expected));
        }
    }

    /// The commands that a hint names.
    fn commands_in(hint: &str) -> impl Iterator<Item = &str> {
        let parts = hint.split('`').skip(1).step_by(2);
        parts.filter(|part| part.starts_with("charter "))
    }

    /// Whether a command with these words exists; ignores words that are values.
    fn exists(named: &str) -> bool {
        let mut command = Cli::command();
        for word in named.split(' ').skip(1) {
            match command.find_subcommand(word).cloned() {
                Some(below) => command = below,
                None => break,
            }
        }
        !command.has_subcommands()
    }

    #[test]
    fn every_command_that_a_hint_names_exists() {
        assert!(!exists("charter list-all") && !exists("charter runs lst"));
        for (what, _) in LISTINGS {
            let listing = Advice::default().listing(what).unwrap();
            assert!(exists(&listing), "{listing}");
        }
        for kind in DocumentKind::ALL
            .iter()
            .filter(|kind| kind.is_registrable())
        {
            let what = kind.as_str().replace('_', " ");
            let listing = Advice::default().listing(&what).unwrap();
            assert!(exists(&listing), "{listing}");
        }
        for kind in ArtifactKind::ALL {
            let listing = Advice::default().listing(kind.as_str()).unwrap();
            assert!(exists(&listing), "{listing}");
        }
        for code in ErrorCode::ALL {
            assert!(commands_in(code.hint()).all(exists), "{code}");
        }
    }

    #[test]
    fn hints_use_the_commands_own_flags() {
        let none = || json!({});
        for (line, code, expected) in [
            (
                "charter ask q",
                ErrorCode::MissingParameters,
                "-p NAME=VALUE",
            ),
            (
                "charter runs confirm x --digest y",
                ErrorCode::MissingParameters,
                "charter runs set",
            ),
            (
                "charter package register d",
                ErrorCode::InvalidDocument,
                "charter package validate",
            ),
            (
                "charter skills import d",
                ErrorCode::InvalidDocument,
                "--dry-run",
            ),
            (
                "charter runs start f",
                ErrorCode::InvalidDocument,
                "charter package validate FILE",
            ),
            (
                "charter call x",
                ErrorCode::InvalidDocument,
                "charter resolve tool",
            ),
            (
                "charter skills delete x",
                ErrorCode::StillReferenced,
                "--force",
            ),
            (
                "charter runs list",
                ErrorCode::Unauthenticated,
                "CHARTER_API_KEY",
            ),
        ] {
            let found = hint(line, code, none()).unwrap();
            assert!(found.contains(expected), "{line}: {found}");
            assert!(commands_in(&found).all(exists), "{line}: {found}");
        }
        for (line, code) in [
            ("charter package unregister x", ErrorCode::StillReferenced),
            ("charter memory list", ErrorCode::InvalidDocument),
            ("charter runs list", ErrorCode::RateLimited),
        ] {
            assert_eq!(hint(line, code, none()), None, "{line}");
        }
    }

    #[test]
    fn missing_parameters_hint_at_what_memories_propose() {
        let proposal = |value: &str| {
            json!({
                "parameter": "region", "value": value, "title": "Where we are", "words": value,
                "memory_id": "mem-01930000-0000-7000-8000-000000000001",
            })
        };
        let one = json!([proposal("us-east-1")]);
        let two = json!([proposal("us-east-1"), proposal("us-west-1")]);
        for (line, proposals, expected) in [
            ("charter ask q", &one, "with --use-memory."),
            ("charter ask q", &two, "with --use-memory."),
            ("charter ask q --use-memory", &two, "contradict each other"),
            (
                "charter playbook run x",
                &one,
                "Give each with -p NAME=VALUE.",
            ),
        ] {
            let details = json!({ "proposals": proposals });
            let found = hint(line, ErrorCode::MissingParameters, details).unwrap();
            assert!(found.contains(expected), "{line}: {found}");
        }
    }
}
