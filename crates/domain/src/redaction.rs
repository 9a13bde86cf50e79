//! Redaction classes: the callers that may see the payload of an evidence record (seed 000 §2.14).
//!
//! The seed shows `standard` and leaves the rest open. A record without a class is `standard`. An unknown class is
//! treated as the strictest, so that a class from a newer version never exposes more here. A payload may be withheld,
//! but is never changed: its digest stays in the evidence log.

use charter_contract::catalogue::evidence::RedactionClass;
use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::ids::Label;

/// Returns the permission level that is required to see the payload of a record of this class.
#[must_use]
pub fn level(class: Option<&Label>) -> PermissionLevel {
    match class.map(|class| class.as_str().parse::<RedactionClass>()) {
        None | Some(Ok(RedactionClass::Standard)) => PermissionLevel::User,
        Some(Ok(RedactionClass::Restricted)) => PermissionLevel::System,
        Some(Ok(RedactionClass::Secret) | Err(_)) => PermissionLevel::Admin,
    }
}

/// Returns whether every caller that may read the record may see its payload.
#[must_use]
pub fn is_open(class: Option<&Label>) -> bool {
    level(class) == PermissionLevel::User
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b000_19_an_unknown_class_is_the_strictest() {
        let level = |class: &str| level(Some(&Label::parse(class).unwrap()));
        assert_eq!(super::level(None), PermissionLevel::User);
        for (class, expected) in [
            ("standard", PermissionLevel::User),
            ("restricted", PermissionLevel::System),
            ("secret", PermissionLevel::Admin),
            ("Standard", PermissionLevel::Admin),
            ("made_up", PermissionLevel::Admin),
        ] {
            assert_eq!(level(class), expected, "{class}");
        }
    }
}
