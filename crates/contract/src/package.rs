//! Packages (this project): what is registered at once, in one version. Reading
//! files and registering are the engine's business.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{DocumentId, PackageName};
use crate::schema::SchemaName;
use crate::text::{ShortText, Text, Version};
use crate::validate::Contract;
use crate::violation::{Report, pointer_segment};

object_only!(PackageManifest, RoutingTest, PackageBundle);

/// The manifest of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PackageManifest {
    /// Its name.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// Its title.
    pub title: Text,
    /// What it holds.
    #[serde(default)]
    pub description: String,
    /// Its licence, as an SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<ShortText>,
    /// Whom it is for.
    #[serde(default)]
    pub scope: PackageScope,
}

string_enum! {
    /// Whom a package is for; the tenant itself comes from the credential.
    #[derive(Default)]
    pub enum PackageScope {
        /// The tenant that registers it.
        #[default]
        Tenant = "tenant",
        /// Everyone.
        Global = "global",
    }
}

/// A routing test of a package: what a query should and should not reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RoutingTest {
    /// The query, as a user would write it.
    pub query: Text,
    /// The skill or playbook it should reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<DocumentId>,
    /// Skills and playbooks it must not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect_not: Vec<DocumentId>,
    /// Whether nothing should be reached.
    #[serde(default)]
    pub expect_miss: bool,
}

/// The files of a package, by their path relative to its root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PackageBundle {
    /// Path to content: a file's text, or the bytes of a PDF (`.pdf`) in base64. Paths use `/` and stay inside the package.
    pub files: BTreeMap<String, String>,
}

impl Contract for PackageManifest {
    const NAME: SchemaName = SchemaName::PackageManifest;

    fn check(&self, _: &mut Report) {}
}

impl Contract for PackageBundle {
    const NAME: SchemaName = SchemaName::PackageBundle;

    fn check(&self, report: &mut Report) {
        for path in self.files.keys() {
            if !crate::catalogue::tool::is_package_path(path) {
                let pointer = format!("/files/{}", pointer_segment(path));
                report.meaning(
                    pointer,
                    "relative_path",
                    format!("`{path}` does not stay inside the package"),
                );
            }
        }
    }
}

impl Contract for RoutingTest {
    const NAME: SchemaName = SchemaName::RoutingTest;

    fn check(&self, report: &mut Report) {
        if self.expect_miss && self.expect.is_some() {
            let message = "a query cannot both reach a document and miss".to_owned();
            report.consistency("/expect_miss", "expectation", message);
        }
        if !self.expect_miss && self.expect.is_none() && self.expect_not.is_empty() {
            let message =
                "a test needs an expectation: `expect`, `expect_not` or `expect_miss`".to_owned();
            report.meaning("", "expectation", message);
        }
        if let Some(at) = self
            .expect_not
            .iter()
            .position(|not| Some(not) == self.expect.as_ref())
        {
            let message = "listed as both expected and not expected".to_owned();
            report.consistency(format!("/expect_not/{at}"), "expectation", message);
        }
    }
}
