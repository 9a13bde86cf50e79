//! Measures the cost of matching regular expressions before any is matched. Must not know their location.
//!
//! Matching reads each byte once while the automaton of the pattern stays small; otherwise each byte may examine each
//! state of the pattern.

use std::collections::BTreeSet;

use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};

use super::fault::{PATTERN_MEMORY, PATTERN_TEXT, PATTERNS, SchemaFault};
use crate::bounds::{PATTERN_CACHE, PATTERN_SIZE, SCHEMA_PATTERN_TEXT};

/// Maximum automaton size for a pattern, in bytes; the validator's own limit is higher.
const MAX_AUTOMATON: usize = PATTERN_CACHE / 4;
/// Memory for building an automaton, in bytes. With little memory, no state of the automaton combines many states of
/// the pattern.
const MAX_MAKING: usize = MAX_AUTOMATON / 8 * 5;
/// Memory of all automata of a schema, in bytes; further patterns count as if their automata were large.
const MAX_AUTOMATA: usize = 4 * MAX_AUTOMATON;
/// Steps that each state of a pattern may take for 64 bytes of text.
const STEPS_OF_STATE: u64 = 8;
/// Divisor of the squared pattern length, which gives the memory that weighs as much as translating the pattern.
const TRANSLATED: usize = SCHEMA_PATTERN_TEXT * SCHEMA_PATTERN_TEXT / PATTERN_SIZE;

/// The cost of a schema's patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patterns {
    /// Steps for 64 bytes of text.
    pub(super) steps: u64,
    /// Memory, compiled and in use, in bytes.
    pub(super) memory: usize,
    /// Length of the longest pattern.
    pub(super) longest: usize,
}

impl Patterns {
    /// Measures patterns. An invalid pattern costs nothing: the validator refuses it.
    pub(super) fn measure(patterns: &BTreeSet<&str>) -> Result<Self, SchemaFault> {
        PATTERNS.check(patterns.len(), "")?;
        PATTERN_TEXT.check(patterns.iter().map(|pattern| pattern.len()).sum(), "")?;
        let mut all = Self {
            steps: 1,
            memory: 0,
            longest: 0,
        };
        let mut room = MAX_AUTOMATA;
        for pattern in patterns {
            all.longest = all.longest.max(pattern.len());
            let Ok(states) = States::compile(pattern) else {
                continue;
            };
            all.memory += states.memory();
            if let Some(size) = states.automata_size(room) {
                room = room.saturating_sub(size);
                all.memory += size;
            } else {
                all.steps = all.steps.max(states.count().saturating_mul(STEPS_OF_STATE));
                all.memory += PATTERN_CACHE;
            }
        }
        PATTERN_MEMORY.check(all.memory, "")?;
        Ok(all)
    }
}

/// Returns the memory of a compiled pattern; for an invalid pattern, the cost of detecting that.
pub(super) fn memory(pattern: &str) -> usize {
    match States::compile(pattern) {
        Ok(states) => states.memory(),
        Err(Stateless::TooLarge) => PATTERN_SIZE,
        Err(Stateless::NoPattern) => pattern.len() * pattern.len() / TRANSLATED,
    }
}

/// The reason why a text has no states.
enum Stateless {
    NoPattern,
    TooLarge,
}

/// The states of a pattern, for both matching directions.
struct States {
    forward: NFA,
    backward: NFA,
}

impl States {
    fn compile(pattern: &str) -> Result<Self, Stateless> {
        // Translation takes time quadratic in the length.
        if pattern.len() > SCHEMA_PATTERN_TEXT {
            return Err(Stateless::TooLarge);
        }
        let translated = jsonschema_regex::to_rust_regex(pattern);
        let translated = translated.map_err(|_| Stateless::NoPattern)?;
        let compile = |reverse: bool| {
            let config = Config::new()
                .reverse(reverse)
                .nfa_size_limit(Some(PATTERN_SIZE))
                .which_captures(WhichCaptures::None);
            let built = Compiler::new().configure(config).build(&translated);
            built.map_err(|error| match error.size_limit() {
                Some(_) => Stateless::TooLarge,
                None => Stateless::NoPattern,
            })
        };
        Ok(Self {
            forward: compile(false)?,
            backward: compile(true)?,
        })
    }

    fn memory(&self) -> usize {
        self.forward.memory_usage() + self.backward.memory_usage()
    }

    fn count(&self) -> u64 {
        self.forward
            .states()
            .len()
            .max(self.backward.states().len()) as u64
    }

    /// Returns the size of the automata, if they are small.
    fn automata_size(&self, room: usize) -> Option<usize> {
        let most = room.min(MAX_AUTOMATON);
        let forward = automaton_size(&self.forward, StartKind::Unanchored, most)?;
        let backward = automaton_size(&self.backward, StartKind::Anchored, most)?;
        Some(forward + backward)
    }
}

fn automaton_size(states: &NFA, start: StartKind, most: usize) -> Option<usize> {
    let config = dense::Config::new()
        .start_kind(start)
        .dfa_size_limit(Some(most))
        .determinize_size_limit(Some(MAX_MAKING));
    let automaton = dense::Builder::new()
        .configure(config)
        .build_from_nfa(states)
        .ok()?;
    Some(automaton.memory_usage())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(patterns: &[&str]) -> Result<Patterns, SchemaFault> {
        Patterns::measure(&patterns.iter().copied().collect())
    }

    #[test]
    fn usual_patterns_read_each_byte_once() {
        for pattern in [
            "^sg-",
            "^[a-z]{2}(-[a-z]+)+-[0-9]+$",
            "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$",
            r"^data:[a-z]+/[a-z]+;base64,[A-Za-z0-9+/]+={0,2}$",
            "^.{1,255}$",
            r"^\d{4}-\d{2}-\d{2}$",
        ] {
            assert_eq!(measured(&[pattern]).unwrap().steps, 1, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_whose_automaton_grows_with_the_text_costs_its_states() {
        for pattern in ["(a|b)*a(a|b){200}", "(a|b){200}a(a|b)*$"] {
            let steps = measured(&[pattern]).unwrap().steps;
            assert!(steps > 200 * STEPS_OF_STATE, "{pattern}: {steps}");
        }
    }

    #[test]
    fn patterns_are_bounded_together() {
        let limit = |fault: SchemaFault| match fault {
            SchemaFault::OverLimit { limit, .. } => limit,
            SchemaFault::Unsupported { .. } | SchemaFault::NotASchema(_) => "none",
        };
        let many: Vec<String> = (0..65).map(|at| format!("^{at}$")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(limit(measured(&many).unwrap_err()), "SCHEMA_PATTERNS");
        assert!(measured(&many[1..]).is_ok());
        let long = "x".repeat((16 << 10) + 1);
        assert_eq!(
            limit(measured(&[&long]).unwrap_err()),
            "SCHEMA_PATTERN_TEXT"
        );
        let large: Vec<String> = (0..9)
            .map(|at| format!("{at}(a|b)*a(a|b){{100}}"))
            .collect();
        let large: Vec<&str> = large.iter().map(String::as_str).collect();
        assert_eq!(
            limit(measured(&large).unwrap_err()),
            "SCHEMA_PATTERN_MEMORY"
        );
        // The validator reports these as invalid patterns.
        assert_eq!(measured(&["a(", "(?=a)"]).unwrap().memory, 0);
    }

    #[test]
    fn an_invalid_pattern_weighs_what_its_parsing_costs() {
        assert_eq!(memory("*.log"), 0);
        assert_eq!(memory(&"(".repeat(SCHEMA_PATTERN_TEXT)), PATTERN_SIZE);
        assert_eq!(memory("(a{1000}){1000}"), PATTERN_SIZE);
        assert!((1..PATTERN_SIZE).contains(&memory("^sg-")));
    }
}
