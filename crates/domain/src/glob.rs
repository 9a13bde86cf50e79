//! Globs over dotted ids, as `applies_to` of a guardrail writes them (ruling 6).
//!
//! `*` stands for exactly one segment; a closing `.*` for any number of them, none included, so
//! that `security.*` covers the domain `security` and everything under it. A lone `*` covers all.

/// Whether a glob covers a dotted id.
#[must_use]
pub fn covers(glob: &str, id: &str) -> bool {
    if glob == "*" {
        return true;
    }
    let (stem, open) = match glob.strip_suffix(".*") {
        Some(stem) => (stem, true),
        None => (glob, false),
    };
    let mut wanted = stem.split('.');
    let mut given = id.split('.');
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (None, Some(_)) => return open,
            (Some(_), None) => return false,
            (Some(want), Some(have)) => {
                if want != "*" && want != have {
                    return false;
                }
            }
        }
    }
}

/// The segments before the first `*`: what every id that the glob covers begins with.
#[must_use]
pub fn stem(glob: &str) -> &str {
    let literal = glob.split('.').take_while(|segment| *segment != "*");
    let length: usize = literal.map(|segment| segment.len() + 1).sum();
    glob.get(..length.saturating_sub(1)).unwrap_or(glob)
}

/// Every stem that a glob covering the id may have, shortest first.
pub fn stems_over(id: &str) -> impl Iterator<Item = &str> {
    let dots = id.match_indices('.').map(|(at, _)| &id[..at]);
    let whole = (!id.is_empty()).then_some(id);
    std::iter::once("").chain(dots).chain(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn segments_are_matched_whole() {
        let cases = [
            ("*", "anything.at.all", true),
            ("security.*", "security", true),
            ("security.*", "security.detect", true),
            ("security.*", "security.a.b", true),
            ("security.*", "securityx.detect", false),
            ("security.detect", "security.detect_all", false),
            ("*.detect", "security.detect", true),
            ("*.detect", "a.b.detect", false),
            ("security.*.x", "security.y.x", true),
            ("security.*.x", "security.x", false),
        ];
        for (glob, id, expected) in cases {
            assert_eq!(covers(glob, id), expected, "{glob} over {id}");
        }
    }

    proptest! {
        /// Looking up by stem misses nothing.
        #[test]
        fn b000_12_an_id_has_the_stem_of_every_glob_that_covers_it(
            glob in "(\\*|a|b|ab)(\\.(\\*|a|b|ab)){0,3}", id in "(a|b|ab)?(\\.(a|b|ab)){0,3}",
        ) {
            if covers(&glob, &id) {
                prop_assert!(stems_over(&id).any(|over| over == stem(&glob)), "{glob} {id}");
            }
        }
    }
}
