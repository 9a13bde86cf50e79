//! Upcasts older forms of artifacts to the current one when they are read (B002-1).
//!
//! A stored artifact is never rewritten: it keeps its original bytes and version. Readers get the current form, by one
//! step for each version in between. A version without a step is refused, never read as another version. Only the
//! current form is written.

mod v0;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Artifact, ArtifactKind, MissionRoot, MissionSchemaVersion, Stored, violation};
use crate::json::{self, Profile};
use crate::validate::{nearest, parse_json, pointer_segment};
use crate::violation::{MAX_VIOLATIONS, Violation};

/// The step from one version of a form to the next.
struct Upcaster {
    kind: ArtifactKind,
    from: &'static str,
    to: &'static str,
    /// All fields of the older form: a field of a later form in an older version is refused.
    fields: &'static [&'static str],
    /// Converts the fields, except the version. It leaves unknown values for the contract to report.
    apply: fn(&mut Map<String, Value>, &MissionRoot) -> Result<(), Violation>,
}

const UPCASTERS: &[Upcaster] = &[
    Upcaster {
        kind: ArtifactKind::WorkerResult,
        from: "v0",
        to: "v1",
        fields: v0::WORKER_RESULT,
        apply: v0::worker_result,
    },
    Upcaster {
        kind: ArtifactKind::ReviewPacket,
        from: "v0",
        to: "v1",
        fields: v0::REVIEW_PACKET,
        apply: v0::review_packet,
    },
];

/// Returns the readable versions of a kind, oldest first; the last is the version that is written.
#[must_use]
pub fn versions(kind: ArtifactKind) -> Vec<&'static str> {
    let older = UPCASTERS.iter().filter(|step| step.kind == kind);
    let mut versions: Vec<_> = older.map(|step| step.from).collect();
    versions.push(MissionSchemaVersion::default().as_str());
    versions
}

/// Returns the version that an artifact states, if any.
#[must_use]
pub fn version_of(payload: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Versioned {
        schema_version: String,
    }
    let stated = json::decode_stored(payload).ok();
    stated.map(|Versioned { schema_version }| schema_version)
}

/// Reads a stored artifact of any version.
///
/// # Errors
/// Every violation of the form, with `unsupported_version` for an unknown version; and violations of the stage
/// `consistency` for root metadata that differs from the mission's (B002-3).
pub fn read_stored(
    payload: &str,
    mission: &MissionRoot,
) -> Result<Stored<Artifact>, Vec<Violation>> {
    let value = parse_json(payload.as_bytes(), Profile::STORED)?;
    let artifact = match step(&value) {
        Some(_) => Artifact::from_value(&upcast(value, mission)?)?,
        // The typed path also detects faults that a value hides, such as a duplicate field.
        None => Artifact::parse(payload.as_bytes())?,
    };
    Stored::stamp(artifact, mission)
}

/// Converts the value of an artifact to the current form. A version without a step is left for the contract to refuse.
///
/// # Errors
/// Violations of the older form.
pub fn upcast(mut value: Value, mission: &MissionRoot) -> Result<Value, Vec<Violation>> {
    while let Some(step) = step(&value) {
        let Value::Object(artifact) = &mut value else {
            break;
        };
        let unknown = unknown_fields(artifact, step.fields);
        if !unknown.is_empty() {
            return Err(unknown);
        }
        (step.apply)(artifact, mission).map_err(|found| vec![found])?;
        artifact.insert("schema_version".to_owned(), step.to.into());
    }
    Ok(value)
}

/// Returns the step from the version of a value.
fn step(value: &Value) -> Option<&'static Upcaster> {
    let stated = |field| value.get(field).and_then(Value::as_str);
    let (name, version) = (stated("schema_name")?, stated("schema_version")?);
    let mut steps = UPCASTERS.iter();
    steps.find(|step| step.kind.as_str() == name && step.from == version)
}

fn unknown_fields(artifact: &Map<String, Value>, known: &[&'static str]) -> Vec<Violation> {
    let unknown = artifact
        .keys()
        .filter(|field| !known.contains(&field.as_str()));
    unknown
        .take(MAX_VIOLATIONS)
        .map(|field| Violation {
            suggestion: nearest(field, known.iter().copied()),
            ..violation(
                &format!("/{}", pointer_segment(field)),
                "additionalProperties",
                format!("unknown field `{field}`"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every chain of steps ends at the written version, and none is a cycle.
    #[test]
    fn b002_1_every_upcast_leads_to_a_newer_version() {
        let present = MissionSchemaVersion::default().as_str();
        for first in UPCASTERS {
            let mut version = first.from;
            for _ in UPCASTERS {
                let mut steps = UPCASTERS.iter().filter(|step| step.kind == first.kind);
                match steps.find(|step| step.from == version) {
                    Some(step) => version = step.to,
                    None => break,
                }
            }
            assert_eq!(version, present, "{} {}", first.kind, first.from);
        }
    }

    #[test]
    fn b002_1_versions_are_listed_oldest_first() {
        assert_eq!(versions(ArtifactKind::WorkerResult), ["v0", "v1"]);
        assert_eq!(versions(ArtifactKind::PolicyDecision), ["v1"]);
    }
}
