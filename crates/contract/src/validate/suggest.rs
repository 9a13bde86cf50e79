//! "Did you mean": the nearest of the words that would have been right.

/// Longest word for which a nearest one is looked for, in bytes: comparing two takes the product of their lengths.
const LONGEST: usize = 128;

/// Candidates that a word is compared with at most.
const MOST_CANDIDATES: usize = 1_000;

/// The candidate nearest to `given`, if it is near enough to be meant.
pub fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    if given.len() > LONGEST {
        return None;
    }
    let lowered = given.to_lowercase();
    let allowed = (given.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .take(MOST_CANDIDATES)
        .filter(|candidate| !candidate.starts_with('_') && candidate.len() <= LONGEST)
        .map(|candidate| (distance(&lowered, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Edits, swaps counted once; `camelCase` and `kebab-case` are near to `snake_case`.
fn distance(lowered: &str, candidate: &str) -> usize {
    let candidate = candidate.to_lowercase();
    if squeezed(lowered) == squeezed(&candidate) {
        return 0;
    }
    strsim::osa_distance(lowered, &candidate)
}

fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
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

    #[test]
    fn a_word_that_is_no_name_is_compared_with_nothing() {
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, ["purpose"]), None);
        let near = format!("{long}x");
        assert_eq!(
            nearest("purpos", [near.as_str(), "purpose"]).as_deref(),
            Some("did you mean `purpose`?")
        );
    }
}
