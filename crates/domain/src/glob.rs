//! Globs over dotted ids, as in a guardrail's `applies_to` (ruling 6).
//!
//! `*` matches exactly one segment; a closing `.*` matches any number of segments, including none, so that `security.*`
//! covers the domain `security` and everything under it. A lone `*` covers all ids.

/// Returns whether a glob covers a dotted id.
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

/// Returns the segments before the first `*`: the prefix of every id that the glob covers.
#[must_use]
pub fn stem(glob: &str) -> &str {
    let literal = glob.split('.').take_while(|segment| *segment != "*");
    let length: usize = literal.map(|segment| segment.len() + 1).sum();
    glob.get(..length.saturating_sub(1)).unwrap_or(glob)
}

/// Returns every possible stem of a glob that covers the id, shortest first.
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
        /// A lookup by stem finds every glob that covers the id.
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
