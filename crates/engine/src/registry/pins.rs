//! Pins: the documents that clients of the Model Context Protocol get as tools of their own, and the MCP servers whose
//! resources and prompts they get. Both are what the tenant's configuration names, as far as the caller may use it.
//! Must not know how they are called.

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::bounds::PINNED_TOOLS;
use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::pin::{Pin, PinSubject};
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::{Implementation, Tool};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::ids::Label;
use charter_domain::{glob, profile};
use charter_effects::{Imports, ServerOffers, prompt_tool, resource_tool};
use tokio::sync::watch;

use crate::catalogue::documents::{DocumentFilter, DocumentService};
use crate::catalogue::resolve::InForce;
use crate::ground::settings::{Pins, TenantPins};
use crate::registry::tool_search::ToolSearchService;
use crate::{Caller, EngineError, ToolFilter};

/// The most agents whose pins apply.
const MAX_AGENTS: usize = 200;

/// Longest name of a tool in the protocol.
const MAX_NAME: usize = 128;

/// A pinned document, under its name for clients.
#[derive(Debug, Clone)]
pub struct PinnedEntry {
    /// The name.
    pub name: String,
    /// The document.
    pub document: PinnedDocument,
}

/// The document of a pin.
#[derive(Debug, Clone)]
pub enum PinnedDocument {
    /// A tool.
    Tool(Box<InForce<Tool>>),
    /// A skill.
    Skill(Box<InForce<Skill>>),
    /// A playbook.
    Playbook(Box<InForce<Playbook>>),
}

/// An MCP server whose resources and prompts a caller is offered.
#[derive(Debug, Clone)]
pub struct OfferedServer {
    /// The server's name.
    pub name: Label,
    /// Its resources and prompts.
    pub offers: ServerOffers,
    /// The tool that reads a resource.
    pub resource_tool: InForce<Tool>,
    /// The tool that gets a prompt.
    pub prompt_tool: InForce<Tool>,
}

/// Finds what clients are offered.
pub struct PinService {
    pins: Pins,
    imports: watch::Receiver<Arc<Imports>>,
    documents: Arc<DocumentService>,
    tools: Arc<ToolSearchService>,
}

impl std::fmt::Debug for PinService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinService").finish_non_exhaustive()
    }
}

impl PinService {
    pub(crate) fn new(
        pins: Pins,
        imports: watch::Receiver<Arc<Imports>>,
        documents: Arc<DocumentService>,
        tools: Arc<ToolSearchService>,
    ) -> Self {
        Self {
            pins,
            imports,
            documents,
            tools,
        }
    }

    /// Returns the pinned documents that the caller may use: those of the configuration in its order, then those of
    /// agents. Of two with one name, the first counts.
    #[must_use]
    pub fn entries(&self, caller: &Caller) -> Vec<PinnedEntry> {
        let of_tenant = self.pins.of(&caller.tenant);
        let mut found = FoundPins::default();
        for pin in &of_tenant.pinned {
            self.find(caller, pin, &mut found);
        }
        for pin in self.pins_of_agents(caller, of_tenant) {
            self.find(caller, &pin, &mut found);
        }
        found.entries
    }

    /// Returns the pinned document of this name.
    #[must_use]
    pub fn entry(&self, caller: &Caller, name: &str) -> Option<PinnedEntry> {
        let mut entries = self.entries(caller).into_iter();
        entries.find(|entry| entry.name == name)
    }

    /// Returns the MCP servers whose resources and prompts the caller is offered, by name.
    #[must_use]
    pub fn offered(&self, caller: &Caller) -> Vec<OfferedServer> {
        let offered = &self.pins.of(&caller.tenant).offered;
        if offered.is_empty() {
            return Vec::new();
        }
        let imports = Arc::clone(&self.imports.borrow());
        let servers = imports.servers.iter();
        let servers = servers.filter(|(name, _)| offered.contains(*name));
        servers
            .filter_map(|(name, server)| {
                Some(OfferedServer {
                    name: name.clone(),
                    offers: server.offers.clone(),
                    resource_tool: self.callable(caller, &resource_tool(name))?,
                    prompt_tool: self.callable(caller, &prompt_tool(name))?,
                })
            })
            .collect()
    }

    /// Returns a tool that the caller could call.
    fn callable(&self, caller: &Caller, id: &str) -> Option<InForce<Tool>> {
        let tool = self.documents.resolve_tool(caller, id).ok()?;
        let is_callable = self.tools.may_call(caller, tool.document());
        is_callable.then_some(tool)
    }

    fn pins_of_agents(&self, caller: &Caller, of_tenant: &TenantPins) -> Vec<Pin> {
        if !of_tenant.of_agents {
            return Vec::new();
        }
        let active = DocumentFilter {
            status: Some(Status::Active),
            ..DocumentFilter::default()
        };
        let kind = DocumentKind::Agent;
        let listed = self
            .documents
            .list_documents(caller, kind, &active, "", MAX_AGENTS);
        let agents = listed
            .iter()
            .filter_map(|agent| self.documents.resolve_agent(caller, &agent.id).ok());
        let usable = agents.filter(|agent| {
            let own = caller.profile.as_ref();
            own.is_none_or(|own| profile::admits(agent.document(), own))
        });
        usable
            .flat_map(|agent| agent.document().pinned.clone())
            .collect()
    }

    /// Adds the documents of a pin that the caller may use.
    fn find(&self, caller: &Caller, pin: &Pin, found: &mut FoundPins) {
        let name = pin.name.as_ref().map(ToString::to_string);
        let named = |id: &str| name.clone().unwrap_or_else(|| id.to_owned());
        match pin.subject() {
            Some(PinSubject::Tool(id)) if id.contains('*') => {
                for tool in self.documents.resolve_tools(caller, &ToolFilter::default()) {
                    let document = tool.document();
                    if glob::covers(id, document.tool_id.as_ref())
                        && !reads_offers(document)
                        && self.tools.may_call(caller, document)
                    {
                        found.add(own_name(document), PinnedDocument::Tool(Box::new(tool)));
                    }
                }
            }
            Some(PinSubject::Tool(id)) => {
                if let Some(tool) = self.callable(caller, id) {
                    let name = name.unwrap_or_else(|| own_name(tool.document()));
                    found.add(name, PinnedDocument::Tool(Box::new(tool)));
                }
            }
            Some(PinSubject::Skill(id)) => {
                let skill = self.documents.resolve_skill(caller, id.as_ref());
                if let Some(skill) = usable(skill, |skill| {
                    skill.status == Status::Active && !skill.is_candidate
                }) {
                    found.add(named(id.as_ref()), PinnedDocument::Skill(Box::new(skill)));
                }
            }
            Some(PinSubject::Playbook(id)) => {
                let playbook = self.documents.resolve_playbook(caller, id.as_ref());
                if let Some(playbook) = usable(playbook, |playbook| {
                    playbook.status == Status::Active && !playbook.is_candidate
                }) {
                    let document = PinnedDocument::Playbook(Box::new(playbook));
                    found.add(named(id.as_ref()), document);
                }
            }
            None => {}
        }
    }
}

fn usable<T>(
    found: Result<InForce<T>, EngineError>,
    is_active: impl Fn(&T) -> bool,
) -> Option<InForce<T>> {
    found.ok().filter(|found| is_active(found.document()))
}

/// The entries that were found, with distinct names.
#[derive(Default)]
struct FoundPins {
    names: BTreeSet<String>,
    entries: Vec<PinnedEntry>,
}

impl FoundPins {
    fn add(&mut self, name: String, document: PinnedDocument) {
        if self.entries.len() >= PINNED_TOOLS {
            tracing::debug!(
                limit = PINNED_TOOLS,
                "a pinned document is beyond the limit"
            );
            return;
        }
        if self.names.insert(name.clone()) {
            self.entries.push(PinnedEntry { name, document });
        }
    }
}

/// Whether a tool reads a server's resources or prompts, for which clients have methods of their own.
fn reads_offers(tool: &Tool) -> bool {
    let Some(Implementation::Mcp { server, .. }) = &tool.implementation else {
        return false;
    };
    let id: &str = tool.tool_id.as_ref();
    id == resource_tool(server) || id == prompt_tool(server)
}

/// Returns the name of a tool for clients: its name on its MCP server if the protocol allows it, else its id.
fn own_name(tool: &Tool) -> String {
    let on_server = match &tool.implementation {
        Some(Implementation::Mcp { tool: name, .. }) => Some(name.as_str()),
        Some(_) | None => None,
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let on_server = on_server
        .filter(|name| !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(allowed));
    on_server.map_or_else(|| tool.tool_id.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(on_server: &str) -> Tool {
        serde_json::from_value(json!({
            "tool_id": "mcp.files.read", "name": "read", "provider": "mcp", "tool_class": "write",
            "domain": "platform", "description": "Reads.", "language": "mcp", "requires_approval": true,
            "permission_level": "system",
            "implementation": {"type": "mcp", "server": "files", "tool": on_server, "definition": "sha256:0"},
        }))
        .unwrap()
    }

    #[test]
    fn a_tool_has_its_name_on_its_server_if_clients_accept_it() {
        assert_eq!(own_name(&tool("read_file")), "read_file");
        for refused in ["read file", "läs", &"x".repeat(MAX_NAME + 1)] {
            assert_eq!(own_name(&tool(refused)), "mcp.files.read", "{refused}");
        }
    }
}
