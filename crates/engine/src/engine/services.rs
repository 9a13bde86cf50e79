//! The services of an engine, built from the ground up.

use std::sync::Arc;

use tokio::sync::Notify;

use super::Ports;
use crate::catalogue::documents::DocumentService;
use crate::catalogue::live::{CatalogueService, TextVectors};
use crate::ground::checks::CheckSlots;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::peers::Peers;
use crate::ground::settings::Settings;
use crate::identity::credentials::{CredentialPorts, CredentialService};
use crate::identity::keys::{KeyService, KeySettings};
use crate::identity::sign_in::{SignInParts, SignInService};
use crate::knowledge::agent_skills::{AgentSkillService, SkillIndexes, SkillPorts};
use crate::knowledge::expert_graph::ExpertGraphService;
use crate::knowledge::lenses::LensService;
use crate::knowledge::look_up::LookUpService;
use crate::knowledge::memory::MemoryService;
use crate::registry::indexing::{IndexParts, IndexService};
use crate::registry::packages::{PackageService, RoutingTests};
use crate::registry::pins::PinService;
use crate::registry::route_examples::RouteExampleService;
use crate::registry::routing::RoutingService;
use crate::registry::skill_scripts::SkillScriptService;
use crate::registry::tool_search::ToolSearchService;

use crate::registry::tools::ToolRegistrationService;

/// The services below runs.
pub(crate) struct Services {
    pub(super) peers: Arc<Peers>,
    pub(super) keys: Arc<KeyService>,
    pub(super) credentials: Arc<CredentialService>,
    pub(super) sign_in: Arc<SignInService>,
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) documents: Arc<DocumentService>,
    pub(super) lenses: Arc<LensService>,
    pub(super) expert_graph: Arc<ExpertGraphService>,
    pub(super) memories: Arc<MemoryService>,
    pub(super) agent_skills: Arc<AgentSkillService>,
    pub(super) routing: Arc<RoutingService>,
    pub(crate) packages: Arc<PackageService>,
    pub(super) skill_scripts: Arc<SkillScriptService>,
    pub(super) route_examples: Arc<RouteExampleService>,
    pub(super) tool_search: Arc<ToolSearchService>,
    pub(super) tool_registrations: Arc<ToolRegistrationService>,
    pub(super) pins: Arc<PinService>,
    pub(super) indexes: Arc<IndexService>,
}

/// The parts that every storey is built from.
struct Parts<'p> {
    ports: &'p Ports,
    settings: &'p Settings,
    core: CorePorts,
    background: BackgroundTasks,
    news: Arc<Notify>,
    peers: Arc<Peers>,
    checks: CheckSlots,
}

/// The services that read what is in force.
struct Reading {
    vectors: Arc<TextVectors>,
    catalogue: Arc<CatalogueService>,
    lenses: Arc<LensService>,
}

impl Services {
    /// Builds the services of the process that other processes know as `holder`.
    pub(super) fn new(
        ports: &Ports,
        settings: &Settings,
        background: BackgroundTasks,
        news: Arc<Notify>,
        holder: String,
    ) -> Self {
        let core = CorePorts {
            store: Arc::clone(&ports.store),
            clock: Arc::clone(&ports.clock),
            ids: Arc::clone(&ports.ids),
        };
        let peers = Peers::new(
            Arc::clone(&core.store),
            Arc::clone(&core.clock),
            Arc::clone(&core.ids),
            holder,
        );
        let parts = Parts {
            ports,
            settings,
            core,
            background,
            news,
            peers: Arc::new(peers),
            checks: CheckSlots::default(),
        };
        let reading = parts.reading();
        let skills = Arc::<SkillIndexes>::default();
        let keys = Arc::new(parts.keys(Arc::clone(&skills)));
        let agent_skills = parts.agent_skills(&reading, Arc::clone(&skills));
        let memories = parts.memories(&reading, &keys);
        let documents = Arc::new(DocumentService::new(
            Arc::clone(&reading.catalogue),
            skills,
            Arc::clone(&parts.core.store),
            parts.checks.clone(),
            settings.persona.clone(),
        ));
        let tool_search = Arc::new(ToolSearchService::new(
            Arc::clone(&reading.catalogue),
            Arc::clone(&documents),
        ));
        let pins = PinService::new(
            settings.pins.clone(),
            ports.imports.clone(),
            Arc::clone(&documents),
            Arc::clone(&tool_search),
        );
        let routing = parts.routing(&reading);
        let (memories, agent_skills) = (Arc::new(memories), Arc::new(agent_skills));
        let indexes = parts.indexes(&reading, &memories, &agent_skills);
        let packages = Arc::new(parts.packages(&reading, Arc::clone(&routing)));
        let tool_registrations = parts.tool_registrations(&reading, &packages);
        let credentials = Arc::new(parts.credentials());
        Self {
            keys,
            sign_in: Arc::new(parts.sign_in(&credentials)),
            credentials,
            documents,
            expert_graph: Arc::new(ExpertGraphService::new(Arc::clone(&reading.catalogue))),
            memories,
            skill_scripts: parts.skill_scripts(&agent_skills, &packages),
            agent_skills,
            packages,
            routing,
            route_examples: Arc::new(parts.route_examples(&reading)),
            tool_search,
            tool_registrations: Arc::new(tool_registrations),
            pins: Arc::new(pins),
            indexes: Arc::new(indexes),
            catalogue: reading.catalogue,
            lenses: reading.lenses,
            peers: parts.peers,
        }
    }
}

impl Parts<'_> {
    fn memories(&self, reading: &Reading, keys: &Arc<KeyService>) -> MemoryService {
        MemoryService::new(
            self.core.clone(),
            Arc::clone(keys),
            Arc::clone(&reading.vectors),
            self.settings.memories,
        )
    }

    fn indexes(
        &self,
        reading: &Reading,
        memories: &Arc<MemoryService>,
        agent_skills: &Arc<AgentSkillService>,
    ) -> IndexService {
        let parts = IndexParts {
            peers: Arc::clone(&self.peers),
            vectors: Arc::clone(&reading.vectors),
            catalogue: Arc::clone(&reading.catalogue),
            lenses: Arc::clone(&reading.lenses),
            memories: Arc::clone(memories),
            agent_skills: Arc::clone(agent_skills),
        };
        IndexService::new(
            Arc::clone(&self.core.store),
            Arc::clone(&self.core.clock),
            parts,
        )
    }

    fn keys(&self, skills: Arc<SkillIndexes>) -> KeyService {
        KeyService::new(
            Arc::clone(&self.core.store),
            Arc::clone(&self.core.clock),
            Arc::clone(&self.core.ids),
            Arc::clone(&self.news),
            KeySettings {
                credentials: self.settings.credentials,
                four_eyes: self.settings.four_eyes,
            },
            skills,
        )
    }

    fn credentials(&self) -> CredentialService {
        let ports = CredentialPorts {
            core: self.core.clone(),
            background: self.background.clone(),
            news: Arc::clone(&self.news),
            servers: Arc::clone(&self.ports.authorization_servers),
        };
        CredentialService::new(ports, &self.settings.tool_credentials)
    }

    fn sign_in(&self, credentials: &Arc<CredentialService>) -> SignInService {
        SignInService::new(SignInParts {
            core: self.core.clone(),
            background: self.background.clone(),
            servers: Arc::clone(&self.ports.authorization_servers),
            providers: Arc::clone(&self.ports.providers),
            credentials: Arc::clone(credentials),
            keys: self.settings.tool_credentials.keys.clone(),
            settings: self.settings.console_sessions,
        })
    }

    fn reading(&self) -> Reading {
        let vectors = Arc::new(TextVectors::new(
            Arc::clone(&self.core.store),
            self.ports.embedder.clone(),
        ));
        let catalogue = Arc::new(CatalogueService::new(
            self.core.clone(),
            Arc::clone(&vectors),
            self.ports.imports.clone(),
            self.settings.lease,
            self.background.shutdown.clone(),
            self.background.tasks.clone(),
        ));
        let lenses = LensService::new(
            self.core.clone(),
            self.background.clone(),
            Arc::clone(&catalogue),
            Arc::clone(&vectors),
            Arc::clone(&self.peers),
            Arc::clone(&self.ports.sources),
            self.settings.lenses.clone(),
        );
        Reading {
            vectors,
            catalogue,
            lenses: Arc::new(lenses),
        }
    }

    fn agent_skills(&self, reading: &Reading, indexes: Arc<SkillIndexes>) -> AgentSkillService {
        AgentSkillService::new(
            self.core.clone(),
            self.background.clone(),
            Arc::clone(&reading.catalogue),
            Arc::clone(&reading.vectors),
            self.checks.clone(),
            SkillPorts {
                indexes,
                node: self.ports.skill_index.clone(),
                vectors: self.settings.skill_vectors,
                duty: self.settings.duty,
            },
        )
    }

    fn routing(&self, reading: &Reading) -> Arc<RoutingService> {
        let look_up =
            LookUpService::new(Arc::clone(&reading.catalogue), Arc::clone(&reading.lenses));
        Arc::new(RoutingService::new(
            Arc::clone(&self.core.store),
            Arc::clone(&self.core.ids),
            Arc::clone(&reading.catalogue),
            Arc::clone(&reading.vectors),
            Arc::clone(&self.ports.models),
            Arc::new(look_up),
        ))
    }

    fn packages(&self, reading: &Reading, routing: Arc<RoutingService>) -> PackageService {
        PackageService::new(
            self.core.clone(),
            self.background.tasks.clone(),
            Arc::clone(&reading.catalogue),
            Arc::clone(&reading.vectors),
            Arc::clone(&reading.lenses),
            self.checks.clone(),
            RoutingTests {
                routing,
                candidates: self.settings.candidates,
                broad_skills: self.settings.broad_skills,
            },
        )
    }

    fn skill_scripts(
        &self,
        agent_skills: &Arc<AgentSkillService>,
        packages: &Arc<PackageService>,
    ) -> Arc<SkillScriptService> {
        Arc::new(SkillScriptService::new(
            Arc::clone(agent_skills),
            Arc::clone(packages),
            self.checks.clone(),
        ))
    }

    fn tool_registrations(
        &self,
        reading: &Reading,
        packages: &Arc<PackageService>,
    ) -> ToolRegistrationService {
        ToolRegistrationService::new(
            Arc::clone(&self.core.store),
            self.background.tasks.clone(),
            Arc::clone(&reading.catalogue),
            Arc::clone(packages),
        )
    }

    fn route_examples(&self, reading: &Reading) -> RouteExampleService {
        RouteExampleService::new(
            self.core.clone(),
            Arc::clone(&reading.catalogue),
            Arc::clone(&reading.vectors),
            Arc::clone(&self.news),
        )
    }
}
