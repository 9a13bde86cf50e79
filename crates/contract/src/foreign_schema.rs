//! JSON Schemas inside documents: for a tool's output, a prompt's answer, a write-back's payload. Their authors are
//! not trusted to know or limit the cost of validation. A schema is therefore measured before it is compiled, and each
//! validation has a budget.
//!
//! Must not know the document that contains a schema, or the handling of a value that the schema refuses.

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

/// Memory of one part of a compiled schema, in bytes, estimated.
const PART_BYTES: usize = 64;
/// Size up to which a compiled schema is always kept, in bytes.
const KEPT_BYTES: usize = 64 << 10;
/// Maximum ratio of the compiled size to the schema's own size for a compiled schema to be kept.
const KEPT_TIMES: usize = 16;
/// Memory of one value of a schema, in bytes, estimated.
const VALUE_BYTES: usize = 64;

/// A JSON Schema inside a document. It is compiled on first use, and copies share the result.
#[derive(Clone)]
pub struct ForeignSchema(Arc<SchemaCell>);

struct SchemaCell {
    json: Map<String, Value>,
    judged: OnceLock<Result<CompiledSchema, SchemaFault>>,
}

/// A usable schema.
enum CompiledSchema {
    /// The compiled schema.
    Kept(Checker),
    /// The compiled schema is much larger than its text, so it is compiled for each use; otherwise a small package
    /// could exhaust the memory.
    TooLargeToKeep,
}

impl ForeignSchema {
    /// Returns the schema as written.
    #[must_use]
    pub fn json(&self) -> &Map<String, Value> {
        &self.0.json
    }

    /// Returns the reason why the schema cannot be used, if there is one. Compiles the schema, which may take some
    /// tenths of a second: do not call it on a thread that other work waits for.
    #[must_use]
    pub fn fault(&self) -> Option<SchemaFault> {
        self.judged().as_ref().err().cloned()
    }

    /// Estimates the number of compiled parts without compiling the schema.
    ///
    /// # Errors
    /// The reason why no value can be validated against the schema.
    pub fn parts(&self) -> Result<usize, SchemaFault> {
        Outline::parse(self.json()).map(|outline| outline.parts)
    }

    /// Returns all violations of a value. If the schema is unusable, or validation takes too much work, that is
    /// reported as the violation. May take as long as [`Self::fault`].
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

    /// Whether the schema accepts a value, as far as this is decided immediately; `false` means undecided or refused.
    #[must_use]
    pub fn accepts_at_once(&self, value: &Value) -> bool {
        match self.0.judged.get() {
            Some(Ok(CompiledSchema::Kept(checker))) => {
                checker.accepts(value, SCHEMA_INLINE_STEPS) == Ok(true)
            }
            Some(Ok(CompiledSchema::TooLargeToKeep) | Err(_)) | None => false,
        }
    }

    /// Reports a schema that cannot be used.
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

/// Returns the reason why a regular expression outside a schema is invalid, in the dialect of schemas.
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

/// Estimates the memory of a compiled regular expression outside a schema, in bytes.
pub(crate) fn pattern_memory(pattern: &str) -> usize {
    patterns::memory(pattern)
}

/// The cost of a regular expression outside a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternCost {
    steps: u64,
    memory: usize,
}

impl PatternCost {
    /// Measures a pattern; `None` for one that exceeds the limits of a schema.
    #[must_use]
    pub fn measure(pattern: &str) -> Option<Self> {
        let measured = patterns::Patterns::measure(&BTreeSet::from([pattern])).ok()?;
        Some(Self {
            steps: measured.steps,
            memory: measured.memory,
        })
    }

    /// Whether matching a text of `bytes` bytes stays within `SCHEMA_STEPS`.
    #[must_use]
    pub fn covers(&self, bytes: usize) -> bool {
        let blocks = (bytes as u64 / 64).saturating_add(1);
        self.steps.saturating_mul(blocks) <= SCHEMA_STEPS as u64
    }

    /// Returns the memory of the compiled and used pattern, in bytes, estimated.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }
}

/// Compiles a schema, and decides whether to keep the result.
fn compile(schema: &Map<String, Value>) -> Result<(Checker, bool), SchemaFault> {
    let outline = Outline::parse(schema)?;
    let checker = Checker::compile(&outline.prepared, outline.costs);
    let checker = checker.map_err(|why| {
        // Describes the error in terms of the schema as written.
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
