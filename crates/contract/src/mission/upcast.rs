//! Older forms of artifacts, brought to the present one when they are read (B002-1).
//!
//! A stored artifact is never rewritten: it keeps the bytes and the version that it was written
//! with. Whoever reads it gets the present form, by one step for each version in between. A version
//! without a step is refused; nothing is read as if it were another version. Only the present form
//! is written.

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
    /// Every field of the older form: one of a later form under an older version is refused.
    fields: &'static [&'static str],
    /// Changes the fields, but for the version. What it does not recognise it leaves, so that the
    /// contract says what is wrong with it.
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

/// The versions of a kind that can be read, oldest first; the last is the one that is written.
#[must_use]
pub fn versions(kind: ArtifactKind) -> Vec<&'static str> {
    let older = UPCASTERS.iter().filter(|step| step.kind == kind);
    let mut versions: Vec<_> = older.map(|step| step.from).collect();
    versions.push(MissionSchemaVersion::default().as_str());
    versions
}

/// The version that an artifact says it was written in; `None` when it says none.
#[must_use]
pub fn version_of(payload: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Versioned {
        schema_version: String,
    }
    let stated = json::decode_stored(payload).ok();
    stated.map(|Versioned { schema_version }| schema_version)
}

/// Reads an artifact as it was stored, whatever version that was.
///
/// # Errors
/// Every violation of the form: `unsupported_version` for a version that is not known; and of the
/// stage `consistency` for root metadata that is not the mission's (B002-3).
pub fn read_stored(
    payload: &str,
    mission: &MissionRoot,
) -> Result<Stored<Artifact>, Vec<Violation>> {
    let value = parse_json(payload.as_bytes(), Profile::STORED)?;
    let artifact = match step(&value) {
        Some(_) => Artifact::from_value(&upcast(value, mission)?)?,
        // The typed path also finds what a value cannot show, such as a field given twice.
        None => Artifact::parse(payload.as_bytes())?,
    };
    Stored::stamp(artifact, mission)
}

/// Brings the value of an artifact to the present form. A version without a step is left as it is,
/// for the contract to refuse.
///
/// # Errors
/// What the older form does not allow.
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

/// The step that leads on from the version of a value.
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

    /// Every chain of steps ends at the version that is written, and none goes in circles.
    #[test]
    fn b002_1_every_step_leads_towards_the_present_form() {
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
