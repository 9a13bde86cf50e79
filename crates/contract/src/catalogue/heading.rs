//! The summary of a document in listings, borrowed from the document so that scanning many copies nothing.

use super::agent::AgentManifest;
use super::domain::Domain;
use super::graph::{GraphEdge, GraphNode};
use super::guardrail::Guardrail;
use super::lens::DomainLens;
use super::mission_type::MissionType;
use super::playbook::Playbook;
use super::policy::Policy;
use super::prompt::PromptTemplate;
use super::schedule::Schedule;
use super::skill::Skill;
use super::template::Template;
use super::tool::Tool;
use super::vocabulary::Status;
use crate::ids::DomainId;

/// The summary of a document in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'d> {
    /// Its readable title, if it has one.
    pub title: Option<&'d str>,
    /// Description, if the document has one.
    pub summary: Option<&'d str>,
    /// Domain that the document names, if any. A domain names itself.
    pub domain: Option<&'d DomainId>,
    /// Status in the catalogue.
    pub status: Status,
    /// Whether the document was generated and not yet accepted (B000-4).
    pub is_candidate: bool,
    /// Whether the document is one of Charter's internal tools, which no caller sees (B000-10).
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

    /// Sets title and summary; empty texts count as absent.
    fn with_texts(self, title: Option<&'d str>, summary: Option<&'d str>) -> Self {
        let non_empty = |text: Option<&'d str>| text.filter(|text| !text.is_empty());
        Self {
            title: non_empty(title),
            summary: non_empty(summary),
            ..self
        }
    }
}

/// A document that can be listed.
pub trait Headed {
    /// Returns the summary for listings.
    fn heading(&self) -> Heading<'_>;
}

impl Headed for Skill {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading {
            is_candidate: self.is_candidate,
            ..Heading::new(self.status, Some(&self.domain))
        };
        heading.with_texts(
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
        heading.with_texts(Some(self.title()), Some(self.description.as_ref()))
    }
}

impl Headed for Guardrail {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, self.domain.as_ref());
        heading.with_texts(None, Some(self.rule.as_ref()))
    }
}

impl Headed for DomainLens {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        heading.with_texts(Some(self.title.as_ref()), Some(self.description.as_ref()))
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
        heading.with_texts(Some(self.name.as_ref()), first.map(AsRef::as_ref))
    }
}

impl Headed for AgentManifest {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        let first = self.capabilities.first();
        heading.with_texts(Some(self.display_name.as_ref()), first.map(AsRef::as_ref))
    }
}

impl Headed for GraphNode {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, self.domain.as_ref());
        heading.with_texts(
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
        heading.with_texts(Some(self.display_name.as_ref()), Some(&self.description))
    }
}

impl Headed for Policy {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, self.domain.as_ref());
        heading.with_texts(Some(self.title.as_ref()), Some(&self.description))
    }
}

impl Headed for MissionType {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        heading.with_texts(Some(self.title.as_ref()), Some(self.description.as_ref()))
    }
}

impl Headed for Schedule {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, self.domain.as_ref());
        heading.with_texts(Some(self.title.as_ref()), Some(self.description.as_str()))
    }
}

impl Headed for PromptTemplate {
    fn heading(&self) -> Heading<'_> {
        let heading = Heading::new(self.status, Some(&self.domain));
        heading.with_texts(Some(self.title.as_ref()), None)
    }
}
