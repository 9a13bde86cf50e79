//! How well an entry fits a query, independent of the other results, so that it can be compared over queries and
//! collections. It does not affect any ranking.

use crate::settings::{ScoreFeatures, ScoreModel};

/// With vectors: fitted on questions about notes, abstracts, skills and tools, including questions without an answer. A
/// cosine of .15 without a common word, as unrelated texts have it, gives .03.
const BY_MEANING: ScoreModel = ScoreModel {
    intercept: -4.6,
    cosine: 8.2,
    coverage: 2.2,
    decay: 0.0,
};
/// By words alone, fitted on the same questions.
const BY_WORDS: ScoreModel = ScoreModel {
    intercept: -2.3,
    cosine: 0.0,
    coverage: 5.8,
    decay: 0.0,
};

/// Returns the probability, 0 to 1, that an entry is related to a query: from its cosine, and from the share of the
/// query's meaningful words that it contains. An entry without a vector of the query's model has a cosine of exactly 0,
/// and only its words count.
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
