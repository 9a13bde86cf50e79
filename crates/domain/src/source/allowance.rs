//! Limits on values and tokens, for one text and for all texts that are read together. Each value or token is counted
//! before it is created.

use std::cell::Cell;

use charter_contract::bounds::{
    IMPORT_TOKENS, IMPORT_VALUES, PACKAGE_TOKENS, PACKAGE_VALUES, YAML_TOKENS, YAML_VALUES,
};

use super::{Position, Reason, SourceError};
use crate::cancellation::Cancellation;

/// The number of tokens between two checks for cancellation.
const POLL_EVERY: usize = 1_024;

/// The values and tokens that the texts of a package, or of an import of skills, may have together, and the
/// cancellation of reading them.
#[derive(Debug)]
pub struct Allowance<'s> {
    values: Cell<usize>,
    tokens: Cell<usize>,
    /// Whether a text needed more than the rest.
    is_used_up: Cell<bool>,
    purpose: Purpose,
    cancel: &'s Cancellation,
}

/// The texts that an allowance is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Documents of a package.
    Package,
    /// Documents of an imported API, which others wrote and which are often large.
    Import,
}

impl<'s> Allowance<'s> {
    /// Creates a full allowance.
    #[must_use]
    pub fn new(cancel: &'s Cancellation) -> Self {
        Self {
            values: Cell::new(PACKAGE_VALUES),
            tokens: Cell::new(PACKAGE_TOKENS),
            is_used_up: Cell::new(false),
            purpose: Purpose::Package,
            cancel,
        }
    }

    /// Creates a full allowance for the documents of an imported API.
    #[must_use]
    pub fn for_import(cancel: &'s Cancellation) -> Self {
        Self {
            values: Cell::new(IMPORT_VALUES),
            tokens: Cell::new(IMPORT_TOKENS),
            purpose: Purpose::Import,
            ..Self::new(cancel)
        }
    }

    /// Returns whether no further text may be read: a text needed more than the rest, or reading was cancelled.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_used_up.get() || self.is_cancelled()
    }

    /// Returns whether reading was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// Counts the values and tokens of one text against its own limits and the shared allowance.
#[derive(Debug)]
pub(super) struct Meter<'a> {
    allowance: &'a Allowance<'a>,
    values: Cell<usize>,
    tokens: Cell<usize>,
    over: Cell<Option<Over>>,
}

/// The limit that ended the reading of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Values,
    Tokens,
    AllValues,
    AllTokens,
    ImportValues,
    ImportTokens,
    Cancelled,
}

impl<'a> Meter<'a> {
    pub(super) fn new(allowance: &'a Allowance<'a>) -> Self {
        match allowance.purpose {
            Purpose::Package => Self::up_to(allowance, YAML_VALUES, YAML_TOKENS),
            Purpose::Import => Self::up_to(allowance, IMPORT_VALUES, IMPORT_TOKENS),
        }
    }

    /// Returns whether integers with more than 64 bits are read as doubles. Generators of API descriptions write the
    /// bounds of unsigned integers so.
    pub(super) fn rounds_integers(&self) -> bool {
        self.allowance.purpose == Purpose::Import
    }

    pub(super) fn up_to(allowance: &'a Allowance<'a>, values: usize, tokens: usize) -> Self {
        Self {
            allowance,
            values: Cell::new(values),
            tokens: Cell::new(tokens),
            over: Cell::new(allowance.is_cancelled().then_some(Over::Cancelled)),
        }
    }

    /// Counts a value.
    pub(super) fn value(&self) {
        self.values(1);
    }

    /// Counts several values.
    pub(super) fn values(&self, count: usize) {
        self.take(&self.values, count, Over::Values);
        self.take(&self.allowance.values, count, Over::AllValues);
    }

    /// Records the limit that this many values would exceed, without counting them.
    pub(super) fn fit(&self, count: usize) {
        if count > self.values.get() || count > self.allowance.values.get() {
            self.values(count);
        }
    }

    /// Counts a token.
    pub(super) fn token(&self) {
        self.take(&self.tokens, 1, Over::Tokens);
        self.take(&self.allowance.tokens, 1, Over::AllTokens);
        if self.tokens.get().is_multiple_of(POLL_EVERY) && self.allowance.is_cancelled() {
            self.over.set(Some(Over::Cancelled));
        }
    }

    /// Returns the limit that was reached, if any.
    pub(super) fn over(&self) -> Option<Over> {
        self.over.get()
    }

    fn take(&self, left: &Cell<usize>, count: usize, over: Over) {
        if self.over.get().is_some() {
            return;
        }
        match left.get().checked_sub(count) {
            Some(less) => left.set(less),
            None => {
                let over = self.named(over);
                self.over.set(Some(over));
                let of_one = matches!(over, Over::Values | Over::Tokens);
                self.allowance.is_used_up.set(!of_one);
            }
        }
    }

    /// Returns the limit by the name that it has for the purpose of the allowance.
    fn named(&self, over: Over) -> Over {
        match (self.allowance.purpose, over) {
            (Purpose::Import, Over::Values | Over::AllValues) => Over::ImportValues,
            (Purpose::Import, Over::Tokens | Over::AllTokens) => Over::ImportTokens,
            (Purpose::Package | Purpose::Import, over) => over,
        }
    }
}

impl Over {
    pub(super) fn refusal(self, position: Position) -> SourceError {
        let of_one = "split it into several files";
        let of_all = "split it into several packages or imports";
        let (message, suggestion) = match self {
            Self::Values => (
                format!("the text has more than {YAML_VALUES} values (YAML_VALUES)"),
                Some(of_one),
            ),
            Self::Tokens => (
                format!("the text has more than {YAML_TOKENS} tokens (YAML_TOKENS)"),
                Some(of_one),
            ),
            Self::AllValues => (
                format!(
                    "the files up to here have more than {PACKAGE_VALUES} values (PACKAGE_VALUES)"
                ),
                Some(of_all),
            ),
            Self::AllTokens => (
                format!(
                    "the files up to here have more than {PACKAGE_TOKENS} tokens (PACKAGE_TOKENS)"
                ),
                Some(of_all),
            ),
            Self::ImportValues => (
                format!(
                    "the documents up to here have more than {IMPORT_VALUES} values (IMPORT_VALUES)"
                ),
                None,
            ),
            Self::ImportTokens => (
                format!(
                    "the documents up to here have more than {IMPORT_TOKENS} tokens (IMPORT_TOKENS)"
                ),
                None,
            ),
            Self::Cancelled => (
                "reading was cancelled: its caller disconnected".to_owned(),
                None,
            ),
        };
        SourceError {
            position,
            reason: match self {
                Self::Values
                | Self::Tokens
                | Self::AllValues
                | Self::AllTokens
                | Self::ImportValues
                | Self::ImportTokens => Reason::Limit,
                Self::Cancelled => Reason::Cancelled,
            },
            message,
            suggestion: suggestion.map(str::to_owned),
        }
    }
}
