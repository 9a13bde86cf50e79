//! Candidates: documents composed of registered tools when no registered document fits a request
//! (seed 000 §2.8 `is_candidate`, §2.11; B000-4, B000-5, B000-18).
//!
//! A generator receives a [`Brief`]: the request's words, the kind of document that it asks for, and the [`Boundary`]
//! of the agent that grounds it. Its result is checked against the same brief ([`breaches`]) for every generator.
//! [`compose`] is the generator that needs no model; [`drafted`] turns a code agent's draft into a document. Nothing
//! here stores, routes or runs a candidate, and no word of a request reaches an evaluator.

mod boundary;
mod compose;
mod draft;
mod inside;
mod plan;

use std::fmt;

use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::hex;
use charter_contract::ids::{IdError, PackageName, ToolId};
use sha2::{Digest, Sha256};

pub use boundary::Boundary;
pub use compose::compose;
pub use draft::{CandidateDraft, DraftedParameter, DraftedStep, MAX_REQUESTS, drafted};
pub use inside::breaches;

/// The maximum number of tools that a composition considers, nearest first, and of its steps.
pub const MAX_TOOLS: usize = 8;
/// The maximum size of a candidate as JSON, in bytes.
pub const MAX_BYTES: usize = 64 << 10;
/// The maximum number of characters that a candidate repeats of a request or of a tool's description.
pub(crate) const MAX_WORDS: usize = 200;
/// The number of hexadecimal digits of a candidate's key.
const KEY_DIGITS: usize = 16;
/// The prefix of the names of candidates' packages.
const PACKAGE_PREFIX: &str = "generated-";

/// The kind of document that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    /// An answer: a skill, which only reads.
    Read,
    /// A change: a playbook.
    Change,
}

impl CandidateKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Change => "change",
        }
    }
}

/// The words of a request, without characters that any language here interprets: only letters, digits and a little
/// punctuation, without line breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    all: String,
}

impl Words {
    /// Returns the words of a text; `None` if it has no letter or digit.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let all = plain(text);
        let said = all.chars().any(char::is_alphanumeric);
        said.then_some(Self { all })
    }

    /// Returns the words, shortened to the length that documents repeat.
    #[must_use]
    pub fn shown(&self) -> String {
        shortened(&self.all)
    }
}

/// The key of a request. It ignores case, white space and special characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CandidateKey(String);

impl CandidateKey {
    /// Computes the key of these words and this kind.
    #[must_use]
    pub fn from_words(words: &Words, wanted: CandidateKind) -> Self {
        let asked = format!("{}\n{}", wanted.word(), words.all.to_lowercase());
        let digest = Sha256::digest(asked);
        Self(hex::encode(&digest)[..KEY_DIGITS].to_owned())
    }

    /// Returns the name of the package that the candidate is registered as.
    ///
    /// # Errors
    /// Never for a key that was computed here.
    pub fn package(&self) -> Result<PackageName, IdError> {
        PackageName::parse(&format!("{PACKAGE_PREFIX}{self}"))
    }
}

impl fmt::Display for CandidateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns whether a package has a name that is reserved for candidates.
#[must_use]
pub fn is_generated(package: &PackageName) -> bool {
    package.as_ref().starts_with(PACKAGE_PREFIX)
}

/// The input of a generator.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The request's words.
    pub words: Words,
    /// The kind of document that the request asks for.
    pub wanted: CandidateKind,
    /// The tools and types that the candidate may use.
    pub boundary: Boundary,
    /// Tools inside the boundary that are related to the request, nearest first.
    pub near: Vec<ToolId>,
}

impl Brief {
    /// Returns the candidate's key.
    #[must_use]
    pub fn key(&self) -> CandidateKey {
        CandidateKey::from_words(&self.words, self.wanted)
    }

    /// Returns the id that the candidate must have.
    #[must_use]
    pub fn document_id(&self) -> String {
        format!("{}.{}", self.boundary.domain(), self.name())
    }

    /// Returns the candidate's short name within the domain.
    fn name(&self) -> String {
        format!("generated_{}", self.key())
    }

    fn near_tools(&self) -> impl Iterator<Item = &Tool> {
        let known = self.near.iter().filter_map(|id| self.boundary.tool(id));
        known.take(MAX_TOOLS)
    }

    fn of_class(&self, class: ToolClass) -> Vec<&Tool> {
        self.near_tools()
            .filter(|tool| tool.tool_class == class)
            .collect()
    }
}

/// The reason why no candidate can be made within a boundary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoFit {
    /// No tool is related to the request.
    #[error("no tool within its boundary matches the request")]
    NothingNear,
    /// The request is a question, and only tools that write are related to it.
    #[error("the closest tools write, but a skill may only read: {}", names(.0))]
    OnlyWrites(Vec<ToolId>),
    /// The request is a change, and only tools that read are related to it.
    #[error("the closest tools only read, and none makes the change: {}", names(.0))]
    OnlyReads(Vec<ToolId>),
    /// A tool requires a parameter whose name cannot be written in a reference.
    #[error(
        "the tool `{tool}` needs the parameter `{parameter}`, whose name a step cannot reference"
    )]
    Unreferable {
        /// The tool.
        tool: ToolId,
        /// The parameter.
        parameter: String,
    },
    /// The code agent declined, for this reason.
    #[error("the code agent found no plan: {0}")]
    Declined(String),
    /// A name derived from registered names is invalid.
    #[error("no valid id can be derived for the candidate")]
    Name(#[from] IdError),
}

fn names(tools: &[ToolId]) -> String {
    let names: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    names.join(", ")
}

/// Keeps letters, digits and a little punctuation, and replaces anything else by single spaces.
fn plain(text: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || ",.?!'-%:/_".contains(c);
    let spaced: String = text
        .chars()
        .map(|c| if kept(c) { c } else { ' ' })
        .collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.join(" ")
}

/// Returns at most [`MAX_WORDS`] characters of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests;
