//! Packages (this project): documents that are registered together, in one version. The engine reads files and
//! registers packages.

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
    /// Name of the package.
    pub name: PackageName,
    /// Version of the package.
    pub version: Version,
    /// Title.
    pub title: Text,
    /// Description of the contents.
    #[serde(default)]
    pub description: String,
    /// Licence, as an SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<ShortText>,
    /// Scope: one tenant, or all tenants.
    #[serde(default)]
    pub scope: PackageScope,
}

string_enum! {
    /// Scope of a package. The credential determines the tenant.
    #[derive(Default)]
    pub enum PackageScope {
        /// The tenant that registers the package.
        #[default]
        Tenant = "tenant",
        /// All tenants.
        Global = "global",
    }
}

/// A routing test of a package: a query with its expected results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RoutingTest {
    /// Query, as a user would write it.
    pub query: Text,
    /// Skill or playbook that the query must be routed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<DocumentId>,
    /// Skills and playbooks that the query must not be routed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect_not: Vec<DocumentId>,
    /// Whether the query must match nothing.
    #[serde(default)]
    pub expect_miss: bool,
    /// Whether the test is left out with a warning if it fails, instead of refusing the package: for tests that an
    /// import made from the words of others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
}

/// The files of a package, by path relative to the package root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PackageBundle {
    /// Content by path: a file's text, or the bytes of a PDF (`.pdf`) in base64. Paths use `/` and stay inside the
    /// package.
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
