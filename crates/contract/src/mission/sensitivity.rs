//! The order of sensitivity classes. The seeds leave the classes open (002 §4.2 shows `internal_business`). The first
//! word of a class gives its level, so classes such as `internal_business` and `confidential_hr` can be compared.

use crate::ids::Label;

/// The first words of the sensitivity classes that have a level, from the lowest level on.
pub const SENSITIVITY_LEVELS: [&str; 5] =
    ["public", "internal", "confidential", "restricted", "secret"];

/// The relation of a sensitivity class to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sensitivity {
    /// It is the same class.
    Same,
    /// It has a higher level.
    Raised,
    /// It has a lower level, the same level under another name, or no level.
    NotRaised,
}

impl Sensitivity {
    /// Compares a class with the one that it would replace.
    #[must_use]
    pub fn of(class: &Label, instead_of: &Label) -> Self {
        if class == instead_of {
            return Self::Same;
        }
        match (level(class), level(instead_of)) {
            (Some(new), Some(old)) if new > old => Self::Raised,
            (Some(_) | None, Some(_) | None) => Self::NotRaised,
        }
    }
}

fn level(class: &Label) -> Option<usize> {
    let text = class.as_str();
    let first = text.split(['_', '.', '-']).next().unwrap_or(text);
    SENSITIVITY_LEVELS.iter().position(|level| *level == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_raised_by_a_higher_level_only() {
        for (class, instead_of, expected) in [
            ("internal_business", "internal_business", Sensitivity::Same),
            ("anything", "anything", Sensitivity::Same),
            ("confidential", "internal_business", Sensitivity::Raised),
            ("restricted-hr", "confidential.hr", Sensitivity::Raised),
            ("public", "internal", Sensitivity::NotRaised),
            (
                "internal_security",
                "internal_business",
                Sensitivity::NotRaised,
            ),
            ("anything", "public", Sensitivity::NotRaised),
            ("secret", "anything", Sensitivity::NotRaised),
        ] {
            let label = |text: &str| Label::parse(text).unwrap();
            let found = Sensitivity::of(&label(class), &label(instead_of));
            assert_eq!(found, expected, "{class} instead of {instead_of}");
        }
    }
}
