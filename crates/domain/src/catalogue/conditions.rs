//! The expressions of a guardrail, which the catalogue keeps compiled.

use charter_contract::catalogue::guardrail::Guardrail;
use charter_contract::text::Text;

use crate::expression::{LazyCondition, Roots};

/// The expressions of a guardrail, each compiled when it is first asked.
#[derive(Debug)]
pub struct Conditions {
    pub(crate) when: Option<LazyCondition>,
    pub(crate) exceptions: Vec<LazyCondition>,
}

impl Conditions {
    /// The expressions of this guardrail.
    #[must_use]
    pub fn from_guardrail(guardrail: &Guardrail) -> Self {
        let lazy = |source: &Text| LazyCondition::new(source.as_str(), Roots::Gate);
        let exceptions = guardrail.exceptions.iter();
        Self {
            when: guardrail.when.as_ref().map(lazy),
            exceptions: exceptions
                .map(|exception| lazy(&exception.condition))
                .collect(),
        }
    }
}
