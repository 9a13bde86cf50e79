//! Scores and verdicts fitted to synthetic observations.

use super::*;
use crate::settings::{ScoreFeatures, Thresholds};

/// Queries whose best hit is right exactly when its cosine exceeds one half.
fn separable(queries: usize) -> Vec<Observation> {
    (0..queries)
        .map(|at| {
            let cosine = at as f32 / queries as f32;
            Observation {
                answerable: cosine > 0.25,
                relevant: usize::from(cosine > 0.25),
                ..seen(cosine, 0.1, cosine > 0.5)
            }
        })
        .collect()
}

/// A query with an answer, whose best hit leads by `lead`.
fn seen(cosine: f32, lead: f32, right: bool) -> Observation {
    Observation {
        answerable: true,
        features: Some(ScoreFeatures {
            cosine,
            coverage: 0.2,
        }),
        hits: vec![(0.0, right), (lead, false)],
        relevant: 1,
        requests: vec![],
        rrf_hits: vec![],
    }
}

fn observed(queries: Vec<Observation>) -> Observed<'static> {
    Observed {
        name: "made up",
        queries,
    }
}

fn thresholds_of(set: &Observed<'_>, model: &ScoreModel) -> Thresholds {
    let base = Thresholds::default();
    let before = [right_and_narrow(&set.queries, model, &base)];
    fit_thresholds(&bounded(std::slice::from_ref(set), model, &before), &base)
}

#[test]
fn a_feature_that_tells_right_from_wrong_gets_the_weight_and_the_thresholds_follow() {
    let set = observed(separable(400));
    let start = RouteSettings::default().score;
    let model = fit_scores(std::slice::from_ref(&set), &start);
    let at = |cosine| {
        let features = ScoreFeatures {
            cosine,
            coverage: 0.2,
        };
        model.score(&features, 0.0)
    };
    assert!(model.cosine > start.cosine, "{model:?}");
    assert!(
        at(0.35) < 0.2 && at(0.65) > 0.8,
        "{} {}",
        at(0.35),
        at(0.65)
    );
    let found = thresholds_of(&set, &model);
    assert!(
        found.narrow > at(0.42) && found.narrow <= at(0.51),
        "{found:?}"
    );
    assert!(
        found.floor > at(0.49) && found.floor <= found.narrow,
        "{found:?}"
    );
}

#[test]
fn a_feature_that_misleads_loses_its_weight_but_never_turns_against_the_score() {
    let mut queries = separable(400);
    for seen in &mut queries {
        if let Some(features) = &mut seen.features {
            features.coverage = 1.0 - features.cosine;
        }
    }
    let start = RouteSettings::default().score;
    let model = fit_scores(&[observed(queries)], &start);
    assert!(model.coverage >= 0.0 && model.cosine > 0.0, "{model:?}");
    assert_eq!(model.decay, start.decay);
}

#[test]
fn without_misses_the_floor_keeps_nearly_all_right_answers() {
    let mut queries = separable(400);
    queries.retain(|seen| seen.answerable);
    let set = observed(queries);
    let model = RouteSettings::default().score;
    let found = thresholds_of(&set, &model);
    let right: Vec<f32> = set
        .answerable()
        .filter(|seen| seen.is_right())
        .filter_map(|seen| Some(model.score(&seen.features?, 0.0)))
        .collect();
    let kept = right.iter().filter(|score| **score >= found.floor).count();
    assert_eq!(kept, (right.len() as f64 * 0.98).ceil() as usize);
}

#[test]
fn a_set_weighs_with_the_square_root_of_its_queries() {
    let of = |queries: usize| observed(separable(queries));
    assert_eq!(weights(&[of(16), of(144)]), [0.25, 0.75]);
    assert_eq!(weights(&[of(7)]), [1.0]);
    assert_eq!(weights(&[]), [0.0; 0]);
}

#[test]
fn settings_in_force_stay_where_the_fitted_ones_would_break_more() {
    // Eight verdicts are narrow and right. More, as a fit needs, are narrow only without a margin, and are wrong.
    let mut queries = vec![seen(0.9, 0.1, true); 8];
    queries.extend(vec![seen(0.9, 0.01, false); 52]);
    let base = RouteSettings::default();
    let sets = [observed(queries)];
    let found = fit_verdicts(&sets, &sets, Scored::ByVectors, &base, &base);
    assert_eq!((found.settings, found.broken), (base, vec![]));
}

#[test]
fn the_score_model_that_is_in_use_is_fitted_and_the_other_stays() {
    let base = RouteSettings::default();
    let sets = [observed(separable(400))];
    let by_words = fit_verdicts(&sets, &sets, Scored::ByWords, &base, &base).settings;
    assert_eq!(by_words.score, base.score);
    assert_ne!(by_words.words_only_score, base.words_only_score);
    let by_vectors = fit_verdicts(&sets, &sets, Scored::ByVectors, &base, &base).settings;
    assert_ne!(by_vectors.score, base.score);
    assert_eq!(by_vectors.words_only_score, base.words_only_score);
}
