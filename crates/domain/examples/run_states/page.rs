//! Renders the page: two diagrams, and the meaning of each state and event. The meanings come from the comments in the
//! machine's source. The run statuses before an outcome are described here, because the machine computes them and has
//! no type for them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;

use crate::explore::{EDGE, Observed, Transitions};

/// The source file that declares step states and outcomes.
const STANDING: &str = include_str!("../../src/run/standing.rs");

/// The source file that declares events.
const EVENTS: &str = include_str!("../../src/run/event.rs");

/// The head of the page.
const HEAD: &str = "\
<!-- Made from the run machine by `cargo run -p xtask -- codegen`. Do not edit. -->

# States of runs and steps

Everything that acts is a run of steps: a skill's plan, a playbook, a plan that a caller sent. This page shows
the statuses of a run, the states of its steps, and the events that lead from one to the other. The events are those of
the run's journal, which `charter runs show` lists.

The diagrams are generated. `crates/domain/examples/run_states` tries every command in every state that the run machine
(`crates/domain/src/run.rs`) reaches over a few small graphs, and records the transitions. `make check` fails when the
page differs from the machine.

";

/// The introduction to the section about steps.
const STEP: &str = "\
## A step

`elsewhere` marks an event of another step that moves this one. `step_begun` in `running` is a step that was
interrupted and is retried. A reversal stays `pending` unless the run is rolled back.

";

/// Statuses that are not outcomes, and outcomes whose wire name differs from the name of their variant.
const STATUSES: [(&str, &str); 11] = [
    (
        "awaiting_parameters",
        "Mandatory parameters have no value. Nothing starts before they are given.",
    ),
    (
        "awaiting_confirmation",
        "A person has to see the plan and confirm its digest. Nothing starts before.",
    ),
    ("working", "Steps are running, or about to start."),
    (
        "awaiting_approval",
        "At least one step waits for a person's approval; others may continue meanwhile.",
    ),
    (
        "paused",
        "A person paused it: nothing new starts until a person resumes it. Running steps end. Or it waits for another \
         run, which requested approval of the same call (`awaited_run`).",
    ),
    (
        "stopping",
        "It ends early: nothing new starts, running steps end, nothing is reversed.",
    ),
    (
        "rolling_back",
        "It ends early, and completed writes are reversed, the last one first.",
    ),
    (
        "rejected",
        "An approver rejected a call, and no write was made.",
    ),
    (
        "denied",
        "A policy or guardrail refused a call, and no write was made.",
    ),
    (
        "aborted",
        "A person ended it early, and nothing was reversed.",
    ),
    (
        "incomplete",
        "Everything that had to succeed did, but evidence that was required is missing.",
    ),
];

/// Meanings by name.
type Meanings = BTreeMap<String, String>;

/// Renders the page.
///
/// # Errors
/// When an observed state or event has no description, or a described one was not observed.
pub(crate) fn write(observed: &Observed) -> Result<String, Box<dyn Error>> {
    let mut statuses = documented(STANDING, "RunOutcome")?;
    let described = STATUSES.map(|(status, meaning)| (status.to_owned(), meaning.to_owned()));
    statuses.extend(described);
    let states = documented(STANDING, "StepState")?;
    let events = documented(EVENTS, "RunEvent")?;
    complete("status", &statuses, &places(&observed.runs))?;
    complete("state", &states, &places(&observed.steps))?;
    complete("event", &events, &observed.events)?;

    let mut page = HEAD.to_owned();
    page.push_str("## A run\n\nEvents that leave the status as it is are not shown.\n\n");
    page.push_str(&diagram(&observed.runs)?);
    page.push_str(&table("Status", &statuses)?);
    page.push_str(STEP);
    page.push_str(&diagram(&observed.steps)?);
    page.push_str(&table("State", &states)?);
    page.push_str("## Events\n\n");
    page.push_str(&table("Event", &events)?);
    Ok(page.trim_end().to_owned() + "\n")
}

/// Returns every state in the transitions.
fn places(transitions: &Transitions) -> BTreeSet<String> {
    let places = transitions.keys().flat_map(|(from, to)| [*from, *to]);
    places
        .filter(|place| *place != EDGE)
        .map(str::to_owned)
        .collect()
}

/// Checks that the described and the observed names are equal.
fn complete(what: &str, described: &Meanings, seen: &BTreeSet<String>) -> Result<(), String> {
    let described: BTreeSet<String> = described.keys().cloned().collect();
    if let Some(word) = seen.difference(&described).next() {
        return Err(format!("the {what} `{word}` is not described"));
    }
    match described.difference(seen).next() {
        Some(word) => Err(format!(
            "no run that is explored comes to the {what} `{word}`"
        )),
        None => Ok(()),
    }
}

fn diagram(transitions: &Transitions) -> Result<String, std::fmt::Error> {
    let mut text = "```mermaid\nstateDiagram-v2\n".to_owned();
    for ((from, to), events) in transitions {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        match events.as_slice() {
            [] => writeln!(text, "    {from} --> {to}")?,
            events => writeln!(text, "    {from} --> {to} : {}", events.join(", "))?,
        }
    }
    text.push_str("```\n\n");
    Ok(text)
}

fn table(title: &str, meanings: &Meanings) -> Result<String, std::fmt::Error> {
    let mut text = format!("| {title} | Meaning |\n|---|---|\n");
    for (word, meaning) in meanings {
        writeln!(text, "| `{word}` | {meaning} |")?;
    }
    text.push('\n');
    Ok(text)
}

/// Returns the variants of an enumeration in a source file, under their wire names, with their comments.
fn documented(source: &str, name: &str) -> Result<Meanings, String> {
    let opening = format!("pub enum {name} {{\n");
    let body = source
        .split_once(&opening)
        .and_then(|(_, rest)| rest.split_once("\n}\n"))
        .map(|(body, _)| body)
        .ok_or_else(|| format!("there is no enumeration `{name}`"))?;
    let mut meanings = Meanings::new();
    let mut comment: Vec<&str> = Vec::new();
    for line in body.lines() {
        // Lines with deeper indentation belong to a variant's fields.
        let Some(line) = line
            .strip_prefix("    ")
            .filter(|line| !line.starts_with(' '))
        else {
            continue;
        };
        match line.strip_prefix("/// ") {
            Some(text) => comment.push(text),
            None if line.starts_with(char::is_uppercase) => {
                let end = line.find(|c: char| !c.is_alphanumeric());
                let variant = &line[..end.unwrap_or(line.len())];
                meanings.insert(snake_case(variant), std::mem::take(&mut comment).join(" "));
            }
            None => {}
        }
    }
    Ok(meanings)
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
