//! The areas of work that a caller's catalogue covers, so that an agent knows when to look into it. Must not know how they
//! are shown.

use std::collections::BTreeMap;

use charter_contract::catalogue::tool::{Implementation, Tool};

use super::ToolSearchService;
use crate::{Ability, Caller, ToolFilter};

/// Names of skills and playbooks that an area mentions.
const EXAMPLES: usize = 3;

/// The work of one domain, or of one MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkArea {
    /// The domain, or the name of the server.
    pub name: String,
    /// Number of skills, which answer questions.
    pub skills: usize,
    /// Number of playbooks, which change something.
    pub playbooks: usize,
    /// Number of mission types.
    pub mission_types: usize,
    /// Number of tools that the caller could call.
    pub tools: usize,
    /// The first names of its skills and playbooks.
    pub examples: Vec<String>,
}

/// The areas of work of a caller, the largest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkAreas {
    /// By domain.
    pub domains: Vec<WorkArea>,
    /// The tools of MCP servers, by server.
    pub servers: Vec<WorkArea>,
}

impl WorkArea {
    fn size(&self) -> usize {
        self.skills + self.playbooks + self.mission_types + self.tools
    }
}

impl ToolSearchService {
    /// Returns the areas of work of the skills, playbooks, mission types and tools that the caller may use.
    #[must_use]
    pub fn work_areas(&self, caller: &Caller) -> WorkAreas {
        let mut domains: BTreeMap<String, WorkArea> = BTreeMap::new();
        let mut servers: BTreeMap<String, WorkArea> = BTreeMap::new();
        for ability in self.documents.abilities(caller) {
            add_ability(&mut domains, ability);
        }
        let tools = self.documents.resolve_tools(caller, &ToolFilter::default());
        for tool in tools.iter().map(|tool| tool.document()) {
            if self.may_call(caller, tool) {
                let (areas, name) = match server_of(tool) {
                    Some(server) => (&mut servers, server),
                    None => (&mut domains, tool.domain.to_string()),
                };
                areas.entry(name).or_default().tools += 1;
            }
        }
        WorkAreas {
            domains: by_size(domains),
            servers: by_size(servers),
        }
    }
}

fn add_ability(domains: &mut BTreeMap<String, WorkArea>, ability: Ability) {
    let mut tags = ability.tags.into_iter();
    let (Some(kind), Some(domain)) = (tags.next(), tags.next()) else {
        return;
    };
    let area = domains.entry(domain).or_default();
    match kind.as_str() {
        "skill" => area.skills += 1,
        "playbook" => area.playbooks += 1,
        _ => area.mission_types += 1,
    }
    if area.examples.len() < EXAMPLES {
        area.examples.push(ability.name);
    }
}

/// The MCP server of an imported tool.
fn server_of(tool: &Tool) -> Option<String> {
    match &tool.implementation {
        Some(Implementation::Mcp { server, .. }) => Some(server.to_string()),
        Some(
            Implementation::Script { .. }
            | Implementation::Http { .. }
            | Implementation::Builtin { .. }
            | Implementation::Stage { .. }
            | Implementation::Analysis {},
        )
        | None => None,
    }
}

fn by_size(areas: BTreeMap<String, WorkArea>) -> Vec<WorkArea> {
    let named = areas
        .into_iter()
        .map(|(name, area)| WorkArea { name, ..area });
    let mut areas: Vec<WorkArea> = named.collect();
    areas.sort_by_key(|area| std::cmp::Reverse(area.size()));
    areas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ability(kind: &str, domain: &str, name: &str) -> Ability {
        Ability {
            id: name.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            tags: vec![kind.to_owned(), domain.to_owned()],
            examples: Vec::new(),
        }
    }

    #[test]
    fn the_largest_area_comes_first_with_its_first_names() {
        let mut areas = BTreeMap::new();
        for (kind, domain, name) in [
            ("skill", "cost", "a"),
            ("skill", "security", "b"),
            ("playbook", "security", "c"),
            ("mission_type", "security", "d"),
            ("skill", "security", "e"),
        ] {
            add_ability(&mut areas, ability(kind, domain, name));
        }
        let areas = by_size(areas);
        assert_eq!(
            areas[0],
            WorkArea {
                name: "security".to_owned(),
                skills: 2,
                playbooks: 1,
                mission_types: 1,
                tools: 0,
                examples: ["b", "c", "d"].map(str::to_owned).to_vec(),
            }
        );
        assert_eq!(areas[1].name, "cost");
    }
}
