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

#[cfg(test)]
mod tests {
    use super::covers;

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
}
