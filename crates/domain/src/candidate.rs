//! Candidates: what is put together from registered tools when nothing registered fits a request
//! (seed 000 §2.8 `is_candidate`, §2.11; B000-4, B000-5, B000-18).
//!
//! A generator gets a [`Brief`]: the request's words, what it wants, and the [`Boundary`] of the agent
//! that grounds it. What it returns is measured against the same brief ([`breaches`]), whoever
//! generated it. [`compose`] is the generator that needs no model; what a code agent
//! drafts becomes a document by [`drafted`]. Nothing here stores, routes or
//! runs a candidate, and no word of a request reaches anything that is evaluated.

mod boundary;
mod compose;
mod draft;
mod inside;
mod plan;

use std::fmt;

use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::{IdError, PackageName, ToolId};
use sha2::{Digest, Sha256};

pub use boundary::Boundary;
pub use compose::compose;
pub use draft::{CandidateDraft, DraftedParameter, DraftedStep, MAX_REQUESTS, drafted};
pub use inside::breaches;

/// Most tools that a composition looks at, nearest first; so many steps it has at most.
pub const MAX_TOOLS: usize = 8;
/// Largest candidate as JSON, in bytes.
pub const MAX_BYTES: usize = 64 << 10;
/// Most characters of a request, or of a tool's description, that a candidate repeats.
pub(crate) const MAX_WORDS: usize = 200;
/// Hexadecimal digits of a candidate's key.
const KEY_DIGITS: usize = 16;
/// What the packages of candidates begin with.
const PACKAGE_PREFIX: &str = "generated-";

/// What a request wants done.
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

/// The words of a request, and nothing that any language here gives a meaning to: letters, digits
/// and a little punctuation, without line breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    all: String,
}

impl Words {
    /// The words of a text; none when it has no letter or digit.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let all = plain(text);
        let said = all.chars().any(char::is_alphanumeric);
        said.then_some(Self { all })
    }

    /// As much of them as a document repeats.
    #[must_use]
    pub fn shown(&self) -> String {
        shortened(&self.all)
    }
}

/// The same request has the same key, whatever its capitals, white space and special characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CandidateKey(String);

impl CandidateKey {
    /// The key of what is wanted in these words.
    #[must_use]
    pub fn from_words(words: &Words, wanted: CandidateKind) -> Self {
        let asked = format!("{}\n{}", wanted.word(), words.all.to_lowercase());
        let digest = Sha256::digest(asked);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(hex[..KEY_DIGITS].to_owned())
    }

    /// The package that a candidate is registered as.
    ///
    /// # Errors
    /// Never for a key that was made here.
    pub fn package(&self) -> Result<PackageName, IdError> {
        PackageName::parse(&format!("{PACKAGE_PREFIX}{self}"))
    }
}

impl fmt::Display for CandidateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a package has a name that candidates are registered under.
#[must_use]
pub fn is_generated(package: &PackageName) -> bool {
    package.as_ref().starts_with(PACKAGE_PREFIX)
}

/// What a generator works from.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The request's words.
    pub words: Words,
    /// What it wants.
    pub wanted: CandidateKind,
    /// What may be used.
    pub boundary: Boundary,
    /// Tools inside the boundary that have to do with the request, nearest first.
    pub near: Vec<ToolId>,
}

impl Brief {
    /// The candidate's key.
    #[must_use]
    pub fn key(&self) -> CandidateKey {
        CandidateKey::from_words(&self.words, self.wanted)
    }

    /// The id that the candidate has to have.
    #[must_use]
    pub fn document_id(&self) -> String {
        format!("{}.{}", self.boundary.domain(), self.name())
    }

    /// Its short name within the domain.
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

/// Why no candidate could be made within a boundary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoFit {
    /// No tool comes near.
    #[error("no tool within its boundary matches the request")]
    NothingNear,
    /// A question, and only tools that change something come near.
    #[error("the closest tools write, but a skill may only read: {}", names(.0))]
    OnlyWrites(Vec<ToolId>),
    /// A change, and only tools that read come near.
    #[error("the closest tools only read, and none makes the change: {}", names(.0))]
    OnlyReads(Vec<ToolId>),
    /// A tool needs a parameter whose name no reference can hold.
    #[error(
        "the tool `{tool}` needs the parameter `{parameter}`, whose name a step cannot reference"
    )]
    Unreferable {
        /// The tool.
        tool: ToolId,
        /// The parameter.
        parameter: String,
    },
    /// The code agent found nothing that it could make.
    #[error("the code agent found no plan: {0}")]
    Declined(String),
    /// A name that follows from what is registered is none.
    #[error("the candidate cannot be named")]
    Name(#[from] IdError),
}

fn names(tools: &[ToolId]) -> String {
    let names: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    names.join(", ")
}

/// Letters, digits and a little punctuation; anything else becomes a space, and spaces one.
fn plain(text: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || ",.?!'-%:/_".contains(c);
    let spaced: String = text
        .chars()
        .map(|c| if kept(c) { c } else { ' ' })
        .collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.join(" ")
}

/// At most [`MAX_WORDS`] characters of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests;
