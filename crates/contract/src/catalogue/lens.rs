//! Domain lenses (seed 000 §2.6): a reference to knowledge, never its text.
//! Fetching, cutting and indexing happen elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vocabulary::{Status, Tier};
use crate::ids::{DomainId, Label, LensId, TenantId};
use crate::schema::SchemaName;
use crate::text::{HttpUrl, ShortText, Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(DomainLens, LensSource);

/// A domain lens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct DomainLens {
    /// Its id.
    pub lens_id: LensId,
    /// The domain it belongs to.
    pub domain: DomainId,
    /// What kind of knowledge it is.
    pub content_type: ContentType,
    /// The tier from which it may be used; lenses are refused on the basic tier (B000-16).
    #[serde(default = "advanced")]
    pub tier: Tier,
    /// Its tenant; absent for a global lens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Its title.
    pub title: Text,
    /// What it holds.
    pub description: Text,
    /// Where it is fetched from.
    pub source: LensSource,
    /// Tags for searching.
    #[serde(default)]
    pub tags: Vec<Label>,
    /// Hash of what was fetched last, e.g. `sha256:…`; kept with the index and shown with the lens,
    /// whatever was authored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ShortText>,
    /// Whether it is offered (this project, for lenses).
    #[serde(default)]
    pub status: Status,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

fn advanced() -> Tier {
    Tier::Advanced
}

string_enum! {
    /// The kind of knowledge of a lens (000 §2.6).
    pub enum ContentType {
        /// A compliance framework.
        Framework = "framework",
        /// A concept of a cloud service (merged from Cloud Knowledge).
        CloudService = "cloud_service",
        /// An internal policy or runbook.
        Policy = "policy",
        /// A general reference.
        Reference = "reference",
    }
}

/// Where a lens is fetched from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LensSource {
    /// A link, or a file or folder of the package.
    #[serde(rename = "type")]
    pub source_type: LensSourceType,
    /// The link, or the path inside the package; of a folder every file is taken.
    #[serde(rename = "ref")]
    pub reference: Text,
}

string_enum! {
    /// What `source.ref` is.
    pub enum LensSourceType {
        /// An http(s) link.
        Url = "url",
        /// A file or folder of the package, relative to its root (this project).
        File = "file",
    }
}

impl Contract for DomainLens {
    const NAME: SchemaName = SchemaName::DomainLens;

    // Checks what the schema cannot say.
    fn check(&self, report: &mut Report) {
        let reference = self.source.reference.as_str();
        match self.source.source_type {
            LensSourceType::Url if HttpUrl::parse(reference).is_err() => {
                let message = format!("`{reference}` is not an http:// or https:// link");
                report.meaning("/source/ref", "url", message);
            }
            LensSourceType::File if !super::tool::is_package_path(reference) => {
                let message = format!("`{reference}` does not stay inside the package");
                report.meaning("/source/ref", "relative_path", message);
            }
            LensSourceType::Url | LensSourceType::File => {}
        }
        if self.tier == Tier::Basic {
            let message = "a lens belongs to the advanced tier".to_owned();
            report.meaning("/tier", "tier", message);
        }
    }
}
