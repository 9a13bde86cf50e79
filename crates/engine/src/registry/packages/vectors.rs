//! Vectors inside documents. They are never compared: an index uses only vectors of the current model (ruling 4). A
//! vector that the current model cannot have made is kept with its document, with a warning.

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::catalogue::Document;
use charter_contract::number::Vector;
use charter_domain::package::{Package, Problem, SourceLocation};

/// Fewer numbers than any embedding model makes: an abbreviated example.
const LEAST_DIMS: usize = 64;

/// Returns warnings about vectors that are not of the current model, which makes vectors of `dims` numbers.
pub(super) fn foreign_vectors(package: &Package, dims: Option<usize>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for document in &package.documents {
        for (field, vector) in vectors_of(&document.value) {
            if warnings.len() == PACKAGE_PROBLEMS {
                return warnings;
            }
            let Some(why) = fault(vector, dims) else {
                continue;
            };
            let message = format!("{why}: it is kept with the document but not used");
            let pointer = pointer_of(&document.place, field);
            let warning = Problem::at(&document.place, &pointer, "dims", message).warning();
            warnings
                .push(warning.suggest("remove it: vectors are computed from the document's texts"));
        }
    }
    warnings
}

fn vectors_of(document: &Document) -> Vec<(&'static str, &Vector)> {
    let (own, capabilities) = match document {
        Document::Skill(skill) => (skill.embedding.as_ref(), None),
        Document::Tool(tool) => (tool.embedding.as_ref(), None),
        Document::Playbook(playbook) => (playbook.embedding.as_ref(), None),
        Document::Agent(agent) => (
            agent.embedding.as_ref(),
            agent.capabilities_embedding.as_ref(),
        ),
        Document::Guardrail(_)
        | Document::Policy(_)
        | Document::DomainLens(_)
        | Document::Template(_)
        | Document::PromptTemplate(_)
        | Document::MissionType(_)
        | Document::Schedule(_)
        | Document::GraphNode(_)
        | Document::GraphEdge(_)
        | Document::Domain(_) => (None, None),
    };
    [("embedding", own), ("capabilities_embedding", capabilities)]
        .into_iter()
        .filter_map(|(field, vector)| Some((field, vector?)))
        .collect()
}

/// Returns why the current model cannot have made a vector, if that is detectable.
fn fault(vector: &Vector, dims: Option<usize>) -> Option<String> {
    let found = vector.as_slice().len();
    match dims {
        _ if vector.is_zero() => Some("every number of this vector is zero".to_owned()),
        Some(dims) if found != dims => Some(format!(
            "this vector has {found} numbers, but vectors of the model in use have {dims}"
        )),
        None if found < LEAST_DIMS => Some(format!(
            "this vector has {found} numbers, fewer than any embedding model uses"
        )),
        Some(_) | None => None,
    }
}

/// Returns the pointer of a document's field, which may be written with an underscore before its name (seed 000).
fn pointer_of(place: &SourceLocation, field: &str) -> String {
    let underscored = format!("/_{field}");
    match place.position(&underscored) == place.position("") {
        true => format!("/{field}"),
        false => underscored,
    }
}

#[cfg(test)]
mod tests {
    use charter_domain::cancellation::Cancellation;
    use charter_domain::package::{ProblemSeverity, read};
    use serde_json::json;

    use super::*;

    /// Only the abbreviated vectors of the seed's documents are reported, with their lines.
    #[test]
    fn ruling_4_a_vector_that_the_model_in_use_did_not_make_is_warned_about() {
        let files = json!({"files": {
            "package.yaml": "name: seed000\nversion: 0.1.0\ntitle: Seed 000\nscope: global\n",
            "agents/agent.json": include_str!("../../../../contract/tests/seeds/agent.json"),
            "playbooks/playbook.json": include_str!("../../../../contract/tests/seeds/playbook.json"),
            "skills/skill.json": include_str!("../../../../contract/tests/seeds/skill.json"),
            "tools/tool.json": include_str!("../../../../contract/tests/seeds/tool.json"),
        }});
        let bundle = serde_json::from_value(files).unwrap();
        let package = read(bundle, &Cancellation::default()).package.unwrap();
        for dims in [None, Some(384)] {
            let found = foreign_vectors(&package, dims);
            assert!(
                found
                    .iter()
                    .all(|problem| problem.severity == ProblemSeverity::Warning)
            );
            let places: Vec<(&str, &str, usize)> = found
                .iter()
                .map(|problem| (&*problem.file, &*problem.pointer, problem.line))
                .collect();
            assert_eq!(
                places,
                [
                    ("agents/agent.json", "/_embedding", 3),
                    ("agents/agent.json", "/capabilities_embedding", 20),
                    ("playbooks/playbook.json", "/_embedding", 3),
                    ("skills/skill.json", "/_embedding", 3),
                ]
            );
        }
        // Vectors of two numbers, with a model that makes three.
        let found = foreign_vectors(&package, Some(3));
        let places: Vec<&str> = found.iter().map(|problem| &*problem.pointer).collect();
        assert_eq!(places, ["/capabilities_embedding", "/_embedding"]);
        assert_eq!(
            found[0].message,
            "this vector has 2 numbers, but vectors of the model in use have 3: it is kept with the document but not \
             used"
        );
    }
}
