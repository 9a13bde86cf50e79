//! What a listing says of a document of any kind, borrowed from it: nothing is copied to look through many.

use super::agent::AgentManifest;
use super::domain::Domain;
use super::graph::{GraphEdge, GraphNode};
use super::guardrail::Guardrail;
use super::lens::DomainLens;
use super::mission_type::MissionType;
use super::playbook::Playbook;
use super::policy::Policy;
use super::prompt::PromptTemplate;
use super::skill::Skill;
use super::template::Template;
use super::tool::Tool;
use super::vocabulary::Status;
use crate::ids::DomainId;

/// What a listing says of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'d> {
    /// Its readable title, if it has one.
    pub title: Option<&'d str>,
    /// What it is for, where it says so.
    pub summary: Option<&'d str>,
    /// The domain it names, if any. A domain names itself.
    pub domain: Option<&'d DomainId>,
    /// Whether it is offered.
    pub status: Status,
    /// Whether it was generated and nobody has accepted it yet (B000-4).
    pub is_candidate: bool,
    /// Whether it is a tool of Charter's own that nobody is shown (B000-10).
    pub is_internal: bool,
}

impl<'d> Heading<'d> {
    fn new(status: Status, domain: Option<&'d DomainId>) -> Self {
        Self {
            title: None,
            summary: None,
            domain,
            status,
            is_candidate: false,
            is_internal: false,
        }
    }

    /// Empty texts say nothing.
    fn saying(self, title: Option<&'d str>, summary: Option<&'d str>) -> Self {
        let said = |text: Option<&'d str>| text.filter(|text| !text.is_empty());
        Self {
            title: said(title),
            summary: said(summary),
            ..self
        }
    }
}

/// A document that can be listed.
pub trait Headed {
    /// What a listing says of it.
    fn heading(&self) -> Heading<'_>;
}

impl Headed for Skill {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading {
            is_candidate: self.is_candidate,
            ..Heading::new(self.status, Some(&self.domain))
        };
        heading.saying(
            Some(self.display_name.as_ref()),
            Some(self.description.as_ref()),
        )
    }
}

impl Headed for Tool {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading {
            is_internal: self.is_internal(),
            ..Heading::new(self.status, Some(&self.domain))
        };
        heading.saying(Some(self.name.as_ref()), Some(self.description.as_ref()))
    }
}

impl Headed for Guardrail {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, self.domain.as_ref());
        heading.saying(None, Some(self.rule.as_ref()))
    }
}

impl Headed for DomainLens {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        heading.saying(Some(self.title.as_ref()), Some(self.description.as_ref()))
    }
}

impl Headed for Template {
    fn heading(&self) -> Heading<'_> {
        Heading::new(self.status, self.domain.as_ref())
    }
}

impl Headed for Playbook {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading {
            is_candidate: self.is_candidate,
            ..Heading::new(self.status, Some(&self.domain))
        };
        let first = self.trigger_conditions.first();
        heading.saying(Some(self.name.as_ref()), first.map(AsRef::as_ref))
    }
}

impl Headed for AgentManifest {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        let first = self.capabilities.first();
        heading.saying(Some(self.display_name.as_ref()), first.map(AsRef::as_ref))
    }
}

impl Headed for GraphNode {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, self.domain.as_ref());
        heading.saying(
            self.title.as_ref().map(AsRef::as_ref),
            self.description.as_ref().map(AsRef::as_ref),
        )
    }
}

impl Headed for GraphEdge {
    fn heading(&self) -> Heading<'_> {
        Heading::new(self.status, self.domain.as_ref())
    }
}

impl Headed for Domain {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain_id));
        heading.saying(Some(self.display_name.as_ref()), Some(&self.description))
    }
}

impl Headed for Policy {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, self.domain.as_ref());
        heading.saying(Some(self.title.as_ref()), Some(&self.description))
    }
}

impl Headed for MissionType {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        heading.saying(Some(self.title.as_ref()), Some(self.description.as_ref()))
    }
}

impl Headed for PromptTemplate {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        heading.saying(Some(self.title.as_ref()), None)
    }
}
