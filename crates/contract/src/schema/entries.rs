//! The table of contracts, in the order of `SchemaName`.

use super::{Alias, Draft, Origin, SchemaEntry, of_type};
use crate::catalogue::agent::AgentManifest;
use crate::catalogue::domain::Domain;
use crate::catalogue::evidence::EvidenceRecord;
use crate::catalogue::graph::{GraphEdge, GraphNode};
use crate::catalogue::guardrail::Guardrail;
use crate::catalogue::lens::DomainLens;
use crate::catalogue::playbook::Playbook;
use crate::catalogue::skill::Skill;
use crate::catalogue::tags::TagRecord;
use crate::catalogue::template::Template;
use crate::catalogue::tool::Tool;
use crate::finding::Finding;
use crate::link_graph::AgentSkill;
use crate::package::{PackageManifest, RoutingTest};

const DRAFT: Draft = Draft::Draft202012;

/// The spellings of one catalogue document: its id, then the ones that all share (ruling 15).
macro_rules! aliases {
    ($($special:expr),+) => {
        &[
            $($special,)+
            Alias::field("_created_at", "created_at"),
            Alias::field("_updated_at", "updated_at"),
            Alias::field("_version", "version"),
        ]
    };
}

macro_rules! entry {
    ($type:ident, $source:literal) => {
        entry!($type, $source, &[])
    };
    ($type:ident, $source:literal, $aliases:expr) => {
        SchemaEntry::new::<$type>(
            $source,
            DRAFT,
            Origin::Type(of_type::<$type>),
            $aliases,
            stringify!($type),
        )
    };
    (authored $type:ident, $source:literal) => {
        SchemaEntry::new::<$type>(
            $source,
            DRAFT,
            Origin::Authored(of_type::<$type>),
            &[],
            stringify!($type),
        )
    };
}

const DOMAIN: Alias = Alias::inside("classification", "domain", "domain");
const EMBEDDING: Alias = Alias::field("_embedding", "embedding");

pub(super) static ENTRIES: [SchemaEntry; 16] = [
    entry!(
        Skill,
        "seed 000 §2.2",
        aliases!(
            Alias::field("_id", "skill_id"),
            Alias::field("id", "skill_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        Tool,
        "seed 000 §2.4",
        aliases!(
            Alias::field("_id", "tool_id"),
            Alias::field("id", "tool_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        Guardrail,
        "seed 000 §2.5",
        aliases!(
            Alias::field("_id", "guardrail_id"),
            Alias::field("id", "guardrail_id"),
            DOMAIN
        )
    ),
    entry!(
        DomainLens,
        "seed 000 §2.6",
        aliases!(
            Alias::field("_id", "lens_id"),
            Alias::field("id", "lens_id"),
            DOMAIN,
            Alias::field("_content_hash", "content_hash")
        )
    ),
    entry!(
        Template,
        "seed 000 §2.7",
        aliases!(
            Alias::field("_id", "template_id"),
            Alias::field("id", "template_id"),
            DOMAIN
        )
    ),
    entry!(
        Playbook,
        "seed 000 §2.8",
        aliases!(
            Alias::field("_id", "playbook_id"),
            Alias::field("id", "playbook_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        TagRecord,
        "seed 000 §2.10",
        &[
            Alias::field("_id", "request_id"),
            Alias::field("id", "request_id")
        ]
    ),
    entry!(
        AgentManifest,
        "seed 000 §2.11",
        aliases!(
            Alias::field("_id", "agent_id"),
            Alias::field("id", "agent_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        GraphNode,
        "seed 000 §2.12",
        aliases!(Alias::field("_id", "id"), DOMAIN)
    ),
    entry!(GraphEdge, "seed 000 §2.12", aliases!(DOMAIN)),
    entry!(
        Domain,
        "seed 000 §2.13",
        aliases!(
            Alias::field("_id", "domain_id"),
            Alias::field("id", "domain_id")
        )
    ),
    entry!(
        EvidenceRecord,
        "seed 000 §2.14",
        &[
            Alias::field("_id", "id"),
            Alias::field("_created_at", "created_at")
        ]
    ),
    entry!(AgentSkill, "seed 001, Field Mapping"),
    entry!(authored PackageManifest, "this project, packages"),
    entry!(authored RoutingTest, "this project, packages"),
    entry!(authored Finding, "this project, findings"),
];
