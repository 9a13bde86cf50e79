//! Domain lenses (seed 000 §2.6): a reference to knowledge, without its text. Fetching, splitting and indexing happen
//! elsewhere.

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
    /// Id of the lens.
    pub lens_id: LensId,
    /// Domain of the lens.
    pub domain: DomainId,
    /// Kind of knowledge.
    pub content_type: ContentType,
    /// Lowest tier that may use the lens; lenses are refused on the basic tier (B000-16).
    #[serde(default = "advanced")]
    pub tier: Tier,
    /// Tenant of the lens; absent for a global lens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Title.
    pub title: Text,
    /// Description of the content.
    pub description: Text,
    /// Source of the text.
    pub source: LensSource,
    /// Tags for searching.
    #[serde(default)]
    pub tags: Vec<Label>,
    /// Hash of the last fetched text, e.g. `sha256:…`. It is kept with the index and shown instead of the authored
    /// value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ShortText>,
    /// Status in the catalogue (this project, for lenses).
    #[serde(default)]
    pub status: Status,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

fn advanced() -> Tier {
    Tier::Advanced
}

string_enum! {
    /// Kind of knowledge in a lens (000 §2.6).
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

/// Source of a lens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LensSource {
    /// Type of the source: a URL, or a file or folder of the package.
    #[serde(rename = "type")]
    pub source_type: LensSourceType,
    /// The URL, or the path inside the package; all files of a folder are included.
    #[serde(rename = "ref")]
    pub reference: Text,
}

string_enum! {
    /// Type of a lens source.
    pub enum LensSourceType {
        /// An http or https URL.
        Url = "url",
        /// A file or folder of the package, relative to its root (this project).
        File = "file",
    }
}

impl Contract for DomainLens {
    const NAME: SchemaName = SchemaName::DomainLens;

    // Checks the rules that the schema cannot express.
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
