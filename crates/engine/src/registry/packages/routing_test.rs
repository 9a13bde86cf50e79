//! What the routing tests of a package came to.

use charter_search::VerdictKind;
use schemars::JsonSchema;
use serde::Serialize;

/// Where a routing test of a package led, in the catalogue as it would be with the package in force.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RoutingTestResult")]
pub struct RoutingTestResult {
    /// The query.
    pub query: String,
    /// The file that the test stands in.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Whether it led where it should.
    pub passed: bool,
    /// Narrow, broad or miss.
    pub kind: VerdictKind,
    /// The best candidate; absent for a miss.
    pub reached: Option<String>,
    /// The best candidate's chance of being right, 0 to 1, whether or not it was enough.
    pub score: Option<f32>,
    /// Why, for people.
    pub reason: String,
}
