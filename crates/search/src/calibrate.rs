//! Fits ranking weight, score model and thresholds to labelled queries, within bounds.
//!
//! Few labels must not undo what was measured on many: each step needs a number of queries, keeps
//! close to the settings it starts from, and leaves them alone if it gains nothing. Must not search
//! by itself: it sees what a [`Trial`] observed.

use serde::{Deserialize, Serialize};

use crate::eval::{EvalError, Observation, Trial};
use crate::settings::{Fusion, RouteSettings, ScoreModel, Thresholds};

/// Queries below which weights are not touched.
pub const MIN_QUERIES_FOR_WEIGHTS: usize = 100;
/// Queries below which the score model is not touched.
pub const MIN_QUERIES_FOR_SCORES: usize = 50;
/// Queries that nothing answers below which the floor is set from the answered ones alone.
pub const MIN_MISSES: usize = 20;
/// Share of narrow verdicts that should be right.
pub const TARGET_PRECISION: f64 = 0.9;

/// How far the lexical share may move from where it starts, in steps of [`WEIGHT_STEP`].
const WEIGHT_STEPS: i32 = 5;
const WEIGHT_STEP: f32 = 0.04;
/// Mean of accuracy and recall that another weight must gain to be taken.
const LEAST_GAIN: f64 = 0.005;
/// Strength of the pull towards the starting score model, in queries.
const PRIOR_QUERIES: f64 = 20.0;
/// Sweeps over the parameters; Newton steps converge long before.
const SWEEPS: usize = 200;
/// Share of right answers that a floor may cost.
const LOST_TO_FLOOR: f64 = 0.05;
/// The same without misses to learn from.
const LOST_TO_BLIND_FLOOR: f64 = 0.02;
/// Margins that are tried.
const MARGINS: [f32; 8] = [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15];

/// Settings fitted to one set of labelled queries, to be stored with the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The embedding model it holds for; `None` for words alone.
    pub model: Option<String>,
    /// What was found.
    pub settings: RouteSettings,
    /// Queries that something answers.
    pub queries: usize,
    /// Queries that nothing answers.
    pub misses: usize,
}

/// Fits `base` to a trial.
///
/// # Errors
/// [`EvalError::Query`] if a query cannot be routed.
pub fn calibrate(trial: &Trial, base: &RouteSettings) -> Result<Calibration, EvalError> {
    let (fusion, observations) = fit_weights(trial, base)?;
    let answerable = observations.iter().filter(|seen| seen.answerable).count();
    let mut settings = RouteSettings { fusion, ..*base };
    let start = match trial.model() {
        Some(_) => &mut settings.score,
        None => &mut settings.words_only_score,
    };
    if answerable >= MIN_QUERIES_FOR_SCORES {
        *start = fit_scores(&observations, start);
        settings.thresholds = fit_thresholds(&observations, start, &base.thresholds);
    }
    Ok(Calibration {
        model: trial.model().map(str::to_owned),
        settings,
        queries: answerable,
        misses: observations.len() - answerable,
    })
}

/// The lexical share that ranks best, and what is observed under them.
fn fit_weights(
    trial: &Trial,
    base: &RouteSettings,
) -> Result<(Fusion, Vec<Observation>), EvalError> {
    let observations = trial.observations(base)?;
    let mut best = (base.fusion, observations);
    let answerable = best.1.iter().filter(|seen| seen.answerable).count();
    if trial.model().is_none() || answerable < MIN_QUERIES_FOR_WEIGHTS {
        return Ok(best);
    }
    let mut to_beat = quality(&best.1) + LEAST_GAIN;
    for step in (-WEIGHT_STEPS..=WEIGHT_STEPS).filter(|step| *step != 0) {
        let fusion = base.fusion.leaning_to_words(step as f32 * WEIGHT_STEP);
        let observations = trial.observations(&RouteSettings { fusion, ..*base })?;
        let found = quality(&observations);
        if found > to_beat {
            to_beat = found;
            best = (fusion, observations);
        }
    }
    Ok(best)
}

/// Mean of accuracy at 1 and recall at 5.
fn quality(observations: &[Observation]) -> f64 {
    let answerable = || observations.iter().filter(|seen| seen.answerable);
    let sum: f64 = answerable()
        .map(|seen| {
            let found = seen
                .hits
                .iter()
                .take(5)
                .filter(|(_, relevant)| *relevant)
                .count();
            let right = f64::from(u8::from(seen.is_right()));
            (right + found as f64 / seen.relevant as f64) / 2.0
        })
        .sum();
    sum / answerable().count().max(1) as f64
}

/// Parameters of a score model that are fitted.
const WEIGHTS: usize = 3;
/// Which of them is the constant.
const CONSTANT: usize = WEIGHTS - 1;

/// One labelled point of a logistic regression: features, the last being the constant.
struct Point {
    x: [f64; WEIGHTS],
    right: f64,
}

/// Fits the model to whether each best hit is relevant. The decay stays: it only says how many
/// rivals a verdict keeps in view.
fn fit_scores(observations: &[Observation], start: &ScoreModel) -> ScoreModel {
    let points: Vec<Point> = observations
        .iter()
        .filter_map(|seen| {
            let features = seen.features?;
            Some(Point {
                x: [features.cosine, features.coverage, 1.0].map(f64::from),
                right: f64::from(u8::from(seen.answerable && seen.is_right())),
            })
        })
        .collect();
    let prior = [start.cosine, start.coverage, start.intercept].map(f64::from);
    let mut weights = prior;
    let mut odds: Vec<f64> = points.iter().map(|point| dot(&point.x, &weights)).collect();
    for _ in 0..SWEEPS {
        for parameter in 0..weights.len() {
            let change = newton_step(&points, &odds, &weights, &prior, parameter);
            for (odds, point) in odds.iter_mut().zip(&points) {
                *odds += change * point.x[parameter];
            }
            weights[parameter] += change;
        }
    }
    let [cosine, coverage, intercept] = weights.map(|weight| weight as f32);
    ScoreModel {
        intercept,
        cosine,
        coverage,
        decay: start.decay,
    }
}

fn dot(x: &[f64; WEIGHTS], weights: &[f64; WEIGHTS]) -> f64 {
    x.iter().zip(weights).map(|(x, weight)| x * weight).sum()
}

/// The change of one parameter; all but the constant stay at or above 0, so that a higher feature
/// never lowers a score and scores fall along a ranking.
fn newton_step(
    points: &[Point],
    odds: &[f64],
    weights: &[f64; WEIGHTS],
    prior: &[f64; WEIGHTS],
    parameter: usize,
) -> f64 {
    // The pull is weak per unit of each feature: they move within about a quarter of one.
    let pull = PRIOR_QUERIES / 16.0;
    let mut slope = pull * (prior[parameter] - weights[parameter]);
    let mut curve = pull;
    for (point, odds) in points.iter().zip(odds) {
        let chance = 1.0 / (1.0 + (-odds).exp());
        let x = point.x[parameter];
        slope += x * (point.right - chance);
        curve += x * x * chance * (1.0 - chance);
    }
    let change = slope / curve;
    if parameter == CONSTANT {
        change
    } else {
        change.max(-weights[parameter])
    }
}

/// A query's best score, its lead, and whether it is right; for those that nothing answers, wrong.
struct Outcome {
    score: f32,
    lead: f32,
    right: bool,
    answerable: bool,
}

/// Floor: separates right answers from misses best, at no more than [`LOST_TO_FLOOR`]. Narrow and margin: the most narrow verdicts of
/// which [`TARGET_PRECISION`] are right, or the most precise ones if that cannot be had.
fn fit_thresholds(
    observations: &[Observation],
    model: &ScoreModel,
    base: &Thresholds,
) -> Thresholds {
    let mut outcomes: Vec<Outcome> = observations
        .iter()
        .filter_map(|seen| {
            let features = seen.features?;
            Some(Outcome {
                score: model.score(&features, 0.0),
                lead: seen.lead(),
                right: seen.answerable && seen.is_right(),
                answerable: seen.answerable,
            })
        })
        .collect();
    outcomes.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    let floor = fit_floor(&outcomes).unwrap_or(base.floor);
    let (narrow, margin) = fit_narrow(&outcomes).unwrap_or((base.narrow, base.margin));
    Thresholds {
        floor,
        // Below the floor nothing is left to be narrow about.
        narrow: narrow.max(floor),
        margin,
    }
}

/// `None` if nothing is right.
fn fit_floor(descending: &[Outcome]) -> Option<f32> {
    let right = descending.iter().filter(|outcome| outcome.right).count() as f64;
    let misses = descending
        .iter()
        .filter(|outcome| !outcome.answerable)
        .count();
    if right == 0.0 {
        return None;
    }
    if misses < MIN_MISSES {
        let keep = ((1.0 - LOST_TO_BLIND_FLOOR) * right).ceil() as usize;
        let lowest = descending
            .iter()
            .filter(|outcome| outcome.right)
            .nth(keep.max(1) - 1);
        return lowest.map(|outcome| outcome.score);
    }
    let (mut kept, mut let_in) = (0.0, 0.0);
    let mut best = (f64::NEG_INFINITY, 0.0);
    for outcome in descending {
        kept += f64::from(u8::from(outcome.right)) / right;
        let_in += f64::from(u8::from(!outcome.answerable)) / misses as f64;
        if kept >= 1.0 - LOST_TO_FLOOR && kept - let_in > best.0 {
            best = (kept - let_in, outcome.score);
        }
    }
    Some(best.1)
}

/// `None` if there are too few outcomes to judge.
fn fit_narrow(descending: &[Outcome]) -> Option<(f32, f32)> {
    let least = MIN_QUERIES_FOR_SCORES / 5;
    let mut reached: Option<(usize, f32, f32)> = None;
    let mut precise: Option<(f64, f32, f32)> = None;
    for margin in MARGINS {
        let (mut narrow, mut right) = (0usize, 0usize);
        for outcome in descending.iter().filter(|outcome| outcome.lead >= margin) {
            narrow += 1;
            right += usize::from(outcome.right);
            if narrow < least {
                continue;
            }
            let precision = right as f64 / narrow as f64;
            if precision >= TARGET_PRECISION && reached.is_none_or(|(most, ..)| narrow > most) {
                reached = Some((narrow, outcome.score, margin));
            }
            if precise.is_none_or(|(best, ..)| precision > best) {
                precise = Some((precision, outcome.score, margin));
            }
        }
    }
    reached
        .map(|(_, narrow, margin)| (narrow, margin))
        .or(precise.map(|(_, narrow, margin)| (narrow, margin)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ScoreFeatures;

    /// Queries whose best hit is right exactly when its cosine exceeds one half.
    fn separable(queries: usize) -> Vec<Observation> {
        (0..queries)
            .map(|at| {
                let cosine = at as f32 / queries as f32;
                Observation {
                    answerable: cosine > 0.25,
                    features: Some(ScoreFeatures {
                        cosine,
                        coverage: 0.2,
                    }),
                    hits: vec![(0.0, cosine > 0.5), (0.1, false)],
                    relevant: usize::from(cosine > 0.25),
                    rrf_hits: vec![],
                }
            })
            .collect()
    }

    #[test]
    fn a_feature_that_tells_right_from_wrong_gets_the_weight_and_the_thresholds_follow() {
        let observations = separable(400);
        let start = RouteSettings::default();
        let model = fit_scores(&observations, &start.score);
        let at = |cosine| {
            let features = ScoreFeatures {
                cosine,
                coverage: 0.2,
            };
            model.score(&features, 0.0)
        };
        assert!(model.cosine > start.score.cosine, "{model:?}");
        assert!(
            at(0.35) < 0.2 && at(0.65) > 0.8,
            "{} {}",
            at(0.35),
            at(0.65)
        );
        let found = fit_thresholds(&observations, &model, &start.thresholds);
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
        let mut observations = separable(400);
        for seen in &mut observations {
            if let Some(features) = &mut seen.features {
                features.coverage = 1.0 - features.cosine;
            }
        }
        let model = fit_scores(&observations, &RouteSettings::default().score);
        assert!(model.coverage >= 0.0 && model.cosine > 0.0, "{model:?}");
        assert_eq!(model.decay, RouteSettings::default().score.decay);
    }

    #[test]
    fn without_misses_the_floor_keeps_nearly_all_right_answers() {
        let mut observations = separable(400);
        observations.retain(|seen| seen.answerable);
        let start = RouteSettings::default();
        let found = fit_thresholds(&observations, &start.score, &start.thresholds);
        let right: Vec<f32> = observations
            .iter()
            .filter(|seen| seen.is_right())
            .filter_map(|seen| Some(start.score.score(&seen.features?, 0.0)))
            .collect();
        let kept = right.iter().filter(|score| **score >= found.floor).count();
        assert_eq!(kept, (right.len() as f64 * 0.98).ceil() as usize);
    }
}
