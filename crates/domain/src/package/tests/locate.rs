//! Tests of locating a document in its package's files.

use charter_contract::catalogue::DocumentKind;
use serde_json::json;

use super::*;

fn domain(id: &str) -> Document {
    let value = json!({"domain_id": id, "display_name": id, "domain_type": "domain"});
    Document::from_value(DocumentKind::Domain, &value)
        .unwrap()
        .0
}

fn node(id: &str) -> Document {
    let value = json!({"id": id, "type": "ResourceType", "provider": "p", "service": "s"});
    Document::from_value(DocumentKind::GraphNode, &value)
        .unwrap()
        .0
}

fn edge(from: &str, to: &str) -> Document {
    let value = json!({"from": from, "type": "requires", "to": to});
    Document::from_value(DocumentKind::GraphEdge, &value)
        .unwrap()
        .0
}

fn found(files: &[(&str, &str)], document: &Document) -> Option<(String, usize, String)> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let place = locate(&files.collect(), document, &Cancellation::default())?;
    let (line, text) = place.passage();
    Some((place.file.to_string(), line, text.to_owned()))
}

fn at(file: &str, line: usize, text: &str) -> Option<(String, usize, String)> {
    Some((file.to_owned(), line, text.to_owned()))
}

const FILE: &str = "domains/all.yaml";

#[test]
fn a_document_that_is_its_file_is_all_of_it() {
    let text =
        "# Why there is one.\ndomain_id: orchard\ndisplay_name: Orchard\ndomain_type: domain\n";
    assert_eq!(
        found(&[(FILE, text)], &domain("orchard")),
        at(FILE, 1, text)
    );
    assert_eq!(found(&[(FILE, text)], &domain("garden")), None);
    let elsewhere = [("docs/all.yaml", text), ("scripts/a.py", "orchard")];
    assert_eq!(found(&elsewhere, &domain("orchard")), None);
}

#[test]
fn a_document_of_a_list_is_its_lines() {
    let text = "- domain_id: orchard\n  display_name: garden\n  domain_type: domain\n\n\
                - {domain_id: garden, display_name: G, domain_type: domain}\n\
                - domain_id: lawn\n  display_name: L\n  domain_type: domain # the last\n";
    let files = [("domains/a.yaml", "[broken"), (FILE, text)];
    let lines = "- domain_id: orchard\n  display_name: garden\n  domain_type: domain";
    assert_eq!(found(&files, &domain("orchard")), at(FILE, 1, lines));
    let line = "- {domain_id: garden, display_name: G, domain_type: domain}";
    assert_eq!(found(&files, &domain("garden")), at(FILE, 5, line));
    let lines = "- domain_id: lawn\n  display_name: L\n  domain_type: domain # the last";
    assert_eq!(found(&files, &domain("lawn")), at(FILE, 6, lines));
}

#[test]
fn a_document_that_shares_its_line_is_what_stands_there_for_it() {
    let one = r#"{"domain_id":"a","display_name":"Ä","domain_type":"domain"}"#;
    let two = one.replace(":\"a\"", ":\"b\"");
    let text = format!("[{one},{two}]");
    let files = [("domains/all.json", text.as_str())];
    let file = "domains/all.json";
    assert_eq!(found(&files, &domain("a")), at(file, 1, &format!("{one},")));
    assert_eq!(found(&files, &domain("b")), at(file, 1, &format!("{two}]")));
}

#[test]
fn nodes_and_edges_are_told_apart() {
    let text = "nodes:\n  - {id: a.b, type: ResourceType, provider: p, service: s}\n  - {id: c.d, type: ResourceType, provider: p, service: s}\nedges:\n  - from: a.b\n    type: requires\n    to: c.d\n";
    let files = [("expert_graph/all.yaml", text)];
    let file = "expert_graph/all.yaml";
    let line = "  - {id: c.d, type: ResourceType, provider: p, service: s}";
    assert_eq!(found(&files, &node("c.d")), at(file, 3, line));
    let lines = "  - from: a.b\n    type: requires\n    to: c.d";
    assert_eq!(found(&files, &edge("a.b", "c.d")), at(file, 5, lines));
    assert_eq!(found(&files, &edge("c.d", "a.b")), None);
}
