//! "Did you mean": finds the nearest valid word.

/// Maximum length of a compared name, in bytes: comparing two costs the product of their lengths.
const MAX_COMPARED: usize = 64;

/// Returns the candidate nearest to `given`, if it is close enough.
pub fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    if given.len() > MAX_COMPARED {
        return None;
    }
    let given = PreparedName::new(given);
    candidates
        .into_iter()
        .filter(|candidate| !candidate.starts_with('_') && candidate.len() <= MAX_COMPARED)
        .filter_map(|candidate| Some((given.distance(candidate)?, candidate)))
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// A name, prepared for many comparisons.
struct PreparedName {
    lowered: String,
    squeezed: String,
    /// Maximum edit distance of a candidate.
    allowed: usize,
}

impl PreparedName {
    fn new(given: &str) -> Self {
        let lowered = given.to_lowercase();
        Self {
            squeezed: squeezed(&lowered),
            lowered,
            allowed: (given.chars().count() / 3).clamp(1, 3),
        }
    }

    /// Returns the edit distance, with a swap as one edit, if it is small enough; `camelCase` and `kebab-case` are
    /// close to `snake_case`.
    fn distance(&self, candidate: &str) -> Option<usize> {
        let candidate = candidate.to_lowercase();
        if self.squeezed == squeezed(&candidate) {
            return Some(0);
        }
        let longer = self
            .lowered
            .chars()
            .count()
            .abs_diff(candidate.chars().count());
        if longer > self.allowed {
            return None;
        }
        let distance = strsim::osa_distance(&self.lowered, &candidate);
        (distance <= self.allowed).then_some(distance)
    }
}

fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    /// Comparing costs the product of the lengths: a megabyte against a megabyte would take hours.
    #[test]
    fn long_names_are_not_compared() {
        let name = "n".repeat(64);
        let near = format!("{}m", &name[1..]);
        assert_eq!(
            nearest(&name, [near.as_str()]),
            Some(format!("did you mean `{near}`?"))
        );
        let long = "n".repeat(1 << 20);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(nearest(&name, [long.as_str()]), None);
    }

    #[test]
    fn near_words_are_suggested_and_distant_words_are_not() {
        let fields = ["purpose", "display_name", "skill_id", "_id"];
        for (given, expected) in [
            ("purpos", Some("did you mean `purpose`?")),
            ("displayName", Some("did you mean `display_name`?")),
            ("skil_di", Some("did you mean `skill_id`?")),
            ("owner", None),
            ("x", None),
        ] {
            assert_eq!(nearest(given, fields).as_deref(), expected, "{given}");
        }
    }
}
