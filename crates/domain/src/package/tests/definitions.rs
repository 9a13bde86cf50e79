//! Tools in the form of seed 003.

use charter_contract::catalogue::DocumentKind;

use super::*;

const DEFINITION: &str = "
id: tool-get-weather
name: Get the weather
description: Reads the weather of a city.
parameters:
  city: {type: string, description: The city, required: true}
result_schema: {type: object}
tool_class: readonly
domain: security
";

const FILE: &str = "tools/weather.yaml";

#[test]
fn b003_4_a_tool_definition_is_a_tool_of_its_package() {
    let skill = SKILL
        .replace("tool_id: demo.list", "tool_id: get-weather")
        .replace("parameters: {region:", "parameters: {city:");
    let changes = [(FILE, DEFINITION), ("skills/find.yaml", skill.as_str())];
    assert_eq!(problems(&changes), Vec::<String>::new());
    // A skill only reads, and a definition without a class writes.
    let writes = DEFINITION.replace("tool_class: readonly\n", "");
    let refused = problems(&[(FILE, writes.as_str()), changes[1]]);
    assert!(
        refused
            .iter()
            .any(|line| line.starts_with("skills/find.yaml:")),
        "{refused:?}"
    );
}

#[test]
fn problems_of_a_tool_definition_are_reported_at_their_lines() {
    let broken = DEFINITION.replace("readonly", "readnoly");
    let found = problems(&[(FILE, broken.as_str())]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("tools/weather.yaml:8:"), "{found:?}");
}

#[test]
fn a_tool_definition_is_located_by_its_catalogue_id() {
    let reading = read(files(&[(FILE, DEFINITION)]), &Cancellation::default());
    let package = reading.package.unwrap();
    let mut documents = package.documents.iter().map(|document| &document.value);
    let tool = documents
        .find(|document| document.kind() == DocumentKind::Tool && document.id() == "get-weather")
        .unwrap();
    let place = locate(&package.files, tool, &Cancellation::default()).unwrap();
    assert_eq!(place.file.as_ref(), FILE);
}
