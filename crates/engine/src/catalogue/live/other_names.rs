//! Names of documents that no request is routed to: tools, agents, mission types.

use charter_contract::catalogue::DocumentKind;
use charter_domain::catalogue::View;
use charter_search::{NameIndex, NameMatch};

/// The names that are visible to a tenant.
#[derive(Debug, Default)]
pub(crate) struct OtherNames {
    names: NameIndex,
    documents: Vec<(DocumentKind, String)>,
}

impl OtherNames {
    pub(crate) fn from_view(view: &View) -> Self {
        let tools = view.tools().map(|found| {
            let tool = found.document();
            let names = vec![tool.tool_id.to_string(), tool.name.to_string()];
            (DocumentKind::Tool, names)
        });
        let agents = view.agents().map(|found| {
            let agent = found.document();
            (DocumentKind::Agent, vec![agent.agent_id.to_string()])
        });
        let mission_types = view.mission_types().map(|found| {
            let id = found.document().mission_type.to_string();
            (DocumentKind::MissionType, vec![id])
        });
        let all: Vec<(DocumentKind, Vec<String>)> =
            tools.chain(agents).chain(mission_types).collect();
        let written = all.iter().zip(0..).flat_map(|((_, names), position)| {
            names.iter().map(move |name| (position, name.as_str()))
        });
        Self {
            names: NameIndex::from_names(written),
            documents: all
                .into_iter()
                .filter_map(|(kind, names)| Some((kind, names.into_iter().next()?)))
                .collect(),
        }
    }

    /// Returns the document that a word of a text names.
    pub(crate) fn named_in(&self, text: &str) -> Option<(DocumentKind, &str, NameMatch)> {
        let (position, named) = self.names.named_by_a_word(text)?;
        let (kind, id) = self.documents.get(position)?;
        Some((*kind, id.as_str(), named))
    }
}
