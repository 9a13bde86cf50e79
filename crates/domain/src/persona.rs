//! Personas: the audience of a document (seed 000 §2.10). A document that lists none applies to every persona.
//!
//! The caller chooses the persona, so it selects documents but protects nothing.

use charter_contract::ids::Label;

/// How closely a document fits a persona, closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PersonaFit {
    /// It lists the persona.
    Named,
    /// It lists no persona.
    General,
}

/// Returns how a document with this list fits a persona; `None` if it lists only other personas.
#[must_use]
pub fn fit(personas: &[Label], persona: &str) -> Option<PersonaFit> {
    if personas.is_empty() {
        return Some(PersonaFit::General);
    }
    let named = personas.iter().any(|listed| listed.as_str() == persona);
    named.then_some(PersonaFit::Named)
}
