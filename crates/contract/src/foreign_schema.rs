//! JSON Schemas that documents bring along: of a tool's output, a prompt's answer, a write-back's payload. Whoever
//! registers them is not believed to know, or to care, what checking against them takes. So a schema is measured before it
//! is compiled, and each check has a budget.
//!
//! Must not know which document a schema is part of, and what is done about a value that it refuses.

mod allowance;
mod fault;
mod graph;
mod keywords;
mod outline;
mod patterns;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::bounds::{SCHEMA_INLINE_STEPS, SCHEMA_PATTERN_TEXT, SCHEMA_STEPS};
use crate::schema::{Checker, Costs};
use crate::validate::violations_of;
use crate::violation::{Report, Stage, Violation};

pub use allowance::{SchemaAllowance, SchemaAllowanceSpent};
pub use fault::SchemaFault;

use outline::Outline;

/// Bytes of memory for a part of a compiled schema, by estimate.
const PART_BYTES: usize = 64;
/// A compiled schema of this size is kept in any case, in bytes.
const KEPT_BYTES: usize = 64 << 10;
/// How many times its own size a compiled schema may have to be kept.
const KEPT_TIMES: usize = 16;
/// Bytes of memory for a value of a schema, by estimate.
const VALUE_BYTES: usize = 64;

/// A JSON Schema of a document. It is compiled when it is first used, and copies share what came of it.
#[derive(Clone)]
pub struct ForeignSchema(Arc<SchemaCell>);

struct SchemaCell {
    json: Map<String, Value>,
    judged: OnceLock<Result<CompiledSchema, SchemaFault>>,
}

/// A schema that can be used.
enum CompiledSchema {
    /// Compiled.
    Kept(Checker),
    /// What it compiles to is large beside the schema itself, so it is compiled for each use: else a small package could fill
    /// the memory.
    TooLargeToKeep,
}

impl ForeignSchema {
    /// The schema as it was given.
    #[must_use]
    pub fn json(&self) -> &Map<String, Value> {
        &self.0.json
    }

    /// Why no value can be checked against it, if none can. Compiles it, which may take some tenths of a second: not
    /// for a thread that others wait for.
    #[must_use]
    pub fn fault(&self) -> Option<SchemaFault> {
        self.judged().as_ref().err().cloned()
    }

    /// How many parts it compiles to, by estimate, found out without compiling it.
    ///
    /// # Errors
    /// Why no value can be checked against it.
    pub fn parts(&self) -> Result<usize, SchemaFault> {
        Outline::parse(self.json()).map(|outline| outline.parts)
    }

    /// Everything in a value that the schema does not allow. When no value can be checked, or this one takes too much
    /// work, that is the violation. May take as long as [`Self::fault`].
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let check = |checker: &Checker| violations_of(checker, self.json(), value, SCHEMA_STEPS);
        self.with_checker(check).unwrap_or_else(|fault| {
            vec![Violation {
                stage: Stage::Structure,
                pointer: String::new(),
                keyword: fault.keyword().to_owned(),
                message: format!("cannot be checked, since its schema cannot be used: {fault}"),
                suggestion: None,
            }]
        })
    }

    /// Whether the schema accepts a value, as far as that is found out in no time; `false` says nothing.
    #[must_use]
    pub fn accepts_at_once(&self, value: &Value) -> bool {
        match self.0.judged.get() {
            Some(Ok(CompiledSchema::Kept(checker))) => {
                checker.accepts(value, SCHEMA_INLINE_STEPS) == Ok(true)
            }
            Some(Ok(CompiledSchema::TooLargeToKeep) | Err(_)) | None => false,
        }
    }

    /// Reports that the schema cannot be used.
    pub(crate) fn check(&self, pointer: &str, report: &mut Report) {
        if let Some(fault) = self.fault() {
            let pointer = format!("{pointer}{}", fault.pointer());
            report.meaning(pointer, fault.keyword(), fault.to_string());
        }
    }

    fn judged(&self) -> &Result<CompiledSchema, SchemaFault> {
        self.0.judged.get_or_init(|| {
            let (checker, keep) = compile(self.json())?;
            Ok(if keep {
                CompiledSchema::Kept(checker)
            } else {
                CompiledSchema::TooLargeToKeep
            })
        })
    }

    fn with_checker<T>(&self, check: impl FnOnce(&Checker) -> T) -> Result<T, SchemaFault> {
        match self.judged() {
            Ok(CompiledSchema::Kept(checker)) => Ok(check(checker)),
            Ok(CompiledSchema::TooLargeToKeep) => {
                compile(self.json()).map(|(checker, _)| check(&checker))
            }
            Err(fault) => Err(fault.clone()),
        }
    }
}

/// Why a regular expression outside of a schema is none, in the dialect of schemas.
pub(crate) fn pattern_fault(pattern: &str) -> Option<String> {
    if pattern.len() > SCHEMA_PATTERN_TEXT {
        let length = pattern.len();
        return Some(format!(
            "the pattern has {length} bytes, more than {SCHEMA_PATTERN_TEXT} (SCHEMA_PATTERN_TEXT); shorten it"
        ));
    }
    let schema = json!({"type": "string", "pattern": pattern});
    let compiled = Checker::compile(&schema, Costs::PLAIN);
    compiled
        .err()
        .map(|_| format!("`{pattern}` is not a regular expression"))
}

/// Memory of a regular expression outside of a schema when it is compiled, by estimate.
pub(crate) fn pattern_memory(pattern: &str) -> usize {
    patterns::memory(pattern)
}

/// The work of a regular expression outside of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternCost {
    steps: u64,
    memory: usize,
}

impl PatternCost {
    /// Measures a pattern; `None` for one that takes more than any schema may.
    #[must_use]
    pub fn measure(pattern: &str) -> Option<Self> {
        let measured = patterns::Patterns::measure(&BTreeSet::from([pattern])).ok()?;
        Some(Self {
            steps: measured.steps,
            memory: measured.memory,
        })
    }

    /// Whether matching a text of so many bytes stays within `SCHEMA_STEPS`.
    #[must_use]
    pub fn covers(&self, bytes: usize) -> bool {
        let blocks = (bytes as u64 / 64).saturating_add(1);
        self.steps.saturating_mul(blocks) <= SCHEMA_STEPS as u64
    }

    /// Memory of the pattern, compiled and used, by estimate.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }
}

/// Compiles a schema, and says whether the result is to be kept.
fn compile(schema: &Map<String, Value>) -> Result<(Checker, bool), SchemaFault> {
    let outline = Outline::parse(schema)?;
    let checker = Checker::compile(&outline.prepared, outline.costs);
    let checker = checker.map_err(|why| {
        // In the words for the schema as it was given.
        let given = Checker::misfit(&Value::Object(schema.clone()));
        SchemaFault::NotASchema(given.unwrap_or(why))
    })?;
    let own = outline.size.text + VALUE_BYTES * outline.size.values;
    let keep = outline.parts * PART_BYTES <= KEPT_BYTES + KEPT_TIMES * own;
    Ok((checker, keep))
}

impl From<Map<String, Value>> for ForeignSchema {
    fn from(json: Map<String, Value>) -> Self {
        Self(Arc::new(SchemaCell {
            json,
            judged: OnceLock::new(),
        }))
    }
}

impl PartialEq for ForeignSchema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.json() == other.json()
    }
}

impl Eq for ForeignSchema {}

impl fmt::Debug for ForeignSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.json(), f)
    }
}

impl Serialize for ForeignSchema {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(to)
    }
}

impl<'de> Deserialize<'de> for ForeignSchema {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Map::deserialize(from).map(Self::from)
    }
}

impl JsonSchema for ForeignSchema {
    fn schema_name() -> Cow<'static, str> {
        "ForeignSchema".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Map::<String, Value>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests;
