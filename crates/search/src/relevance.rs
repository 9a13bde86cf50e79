//! How well an entry fits a query by itself: the same whatever else was found, so that it can be compared over queries and
//! collections. Must not know what is ranked by it; nothing is.

use crate::settings::{ScoreFeatures, ScoreModel};

/// With meaning: fitted on questions about notes, abstracts, skills and tools, with questions among them that nothing
/// answers. A cosine of .15 without a word in common, as unrelated texts have it, comes to .03.
const BY_MEANING: ScoreModel = ScoreModel {
    intercept: -4.6,
    cosine: 8.2,
    coverage: 2.2,
    decay: 0.0,
};
/// By words alone, fitted on the same.
const BY_WORDS: ScoreModel = ScoreModel {
    intercept: -2.3,
    cosine: 0.0,
    coverage: 5.8,
    decay: 0.0,
};

/// The chance, 0 to 1, that an entry has to do with a query: by its cosine, and the share of the query's words, those that
/// say something, that it has. An entry without a vector of the query's model has a cosine of exactly 0, and its words
/// count alone.
pub(crate) fn relevance(cosine: Option<f32>, share: f32) -> f32 {
    let compared = cosine.filter(|cosine| *cosine != 0.0);
    let features = ScoreFeatures {
        cosine: compared.unwrap_or(0.0),
        coverage: share,
    };
    match compared {
        Some(_) => BY_MEANING.score(&features, 0.0),
        None => BY_WORDS.score(&features, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unrelated_passages_score_low_and_answers_high() {
        let near = |cosine: f32, share: f32, expected: f32| {
            let found = relevance(Some(cosine), share);
            assert!((found - expected).abs() < 0.05, "{cosine} {share}: {found}");
        };
        near(0.05, 0.0, 0.015);
        near(0.15, 0.0, 0.03);
        near(0.15, 0.25, 0.06);
        near(0.4, 0.25, 0.31);
        near(0.6, 0.5, 0.8);
        near(0.8, 1.0, 0.98);
        assert!(relevance(None, 0.1) < 0.2);
        assert!(relevance(None, 1.0) > 0.9);
        // A zero vector was not compared.
        assert_eq!(relevance(Some(0.0), 0.5), relevance(None, 0.5));
    }

    proptest! {
        /// More in common is never less relevant.
        #[test]
        fn it_grows_with_either(cosine in 0.01f32..1.0, share in 0.0f32..1.0, more in 0.0f32..0.5) {
            for given in [None, Some(cosine)] {
                let base = relevance(given, share);
                prop_assert!((0.0..=1.0).contains(&base));
                prop_assert!(relevance(given, share + more) >= base);
            }
            prop_assert!(relevance(Some(cosine + more), share) >= relevance(Some(cosine), share));
        }
    }
}
