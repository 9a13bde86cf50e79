//! The areas of work in the description of `find`: what an agent can expect behind the tool, for its own caller. The names
//! are those of registered documents and configured servers. Must not know how areas are found.

use charter_contract::shorten;
use charter_contract::visible::clean;
use charter_engine::{WorkArea, WorkAreas};

/// Areas that the description names; of more, it names the number.
const SHOWN_AREAS: usize = 12;
/// Most characters of a name.
const SHOWN_OF_NAME: usize = 40;
/// Most characters of the text.
const MAX_TEXT: usize = 2_400;

/// Describes the areas of work, for a model.
pub(super) fn describe(areas: &WorkAreas) -> String {
    if areas.domains.is_empty() && areas.servers.is_empty() {
        return "Nothing is registered for you yet.".to_owned();
    }
    let mut parts = Vec::new();
    if !areas.domains.is_empty() {
        let domains = listed(&areas.domains, domain, "domains");
        parts.push(format!("Use it for work in these domains: {domains}."));
    }
    if !areas.servers.is_empty() {
        let servers = listed(&areas.servers, server, "servers");
        parts.push(format!(
            "It also finds the tools of these MCP servers: {servers}."
        ));
    }
    shorten::to_chars(&parts.join(" "), MAX_TEXT).into_owned()
}

fn listed(areas: &[WorkArea], text: fn(&WorkArea) -> String, noun: &str) -> String {
    let mut texts: Vec<String> = areas.iter().take(SHOWN_AREAS).map(text).collect();
    match areas.len().saturating_sub(SHOWN_AREAS) {
        0 => {}
        more => texts.push(format!("and {more} more {noun}")),
    }
    texts.join("; ")
}

fn domain(area: &WorkArea) -> String {
    let counts = [
        (area.skills, "skill"),
        (area.playbooks, "playbook"),
        (area.mission_types, "mission type"),
        (area.tools, "tool"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, noun)| counted(*count, noun)).collect();
    let examples = area.examples.iter();
    let examples: Vec<String> = examples.map(|name| on_one_line(name)).collect();
    let text = format!("{} ({}", on_one_line(&area.name), counts.join(", "));
    match examples.is_empty() {
        true => text + ")",
        false => format!("{text}, such as: {})", examples.join(", ")),
    }
}

fn on_one_line(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    clean(&words.join(" "), SHOWN_OF_NAME)
}

fn server(area: &WorkArea) -> String {
    format!("{} ({})", area.name, counted(area.tools, "tool"))
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(name: &str, skills: usize, tools: usize, examples: &[&str]) -> WorkArea {
        WorkArea {
            name: name.to_owned(),
            skills,
            tools,
            examples: examples.iter().map(ToString::to_string).collect(),
            ..WorkArea::default()
        }
    }

    #[test]
    fn domains_and_servers_are_named_with_their_kinds_of_work() {
        let areas = WorkAreas {
            domains: vec![
                area("security", 2, 1, &["Open ports", "Public\nbuckets"]),
                area("platform", 0, 3, &[]),
            ],
            servers: vec![area("github", 0, 26, &[])],
        };
        assert_eq!(
            describe(&areas),
            "Use it for work in these domains: security (2 skills, 1 tool, such as: Open ports, Public buckets); \
             platform (3 tools). It also finds the tools of these MCP servers: github (26 tools)."
        );
        assert_eq!(
            describe(&WorkAreas::default()),
            "Nothing is registered for you yet."
        );
    }

    #[test]
    fn many_areas_stay_short() {
        let name = "x".repeat(300);
        let one = area(&name, 1, 0, &[&name, &name, &name]);
        let areas = WorkAreas {
            domains: vec![one; 100],
            servers: Vec::new(),
        };
        let text = describe(&areas);
        assert!(text.chars().count() <= MAX_TEXT + 1, "{text}");
        let few = WorkAreas {
            domains: (0..14).map(|n| area(&format!("d{n}"), 1, 0, &[])).collect(),
            servers: Vec::new(),
        };
        assert!(describe(&few).ends_with("d11 (1 skill); and 2 more domains."));
    }
}
