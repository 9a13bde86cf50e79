//! Fits the score model: a logistic regression with a prior at the initial model.
//!
//! Must not know thresholds.

use super::{Observed, weights};
use crate::eval::Observation;
use crate::settings::ScoreModel;

/// Strength of the prior at the initial score model, in queries.
const PRIOR_QUERIES: f64 = 20.0;
/// Sweeps over the parameters; Newton steps converge long before.
const SWEEPS: usize = 200;
/// Parameters of a score model that are fitted.
const WEIGHTS: usize = 3;
/// The index of the constant.
const CONSTANT: usize = WEIGHTS - 1;

/// One labelled point of a logistic regression: features, the last being the constant.
struct Point {
    x: [f64; WEIGHTS],
    right: f64,
    weight: f64,
}

impl Point {
    /// `None` without hits.
    fn new(seen: &Observation, weight: f64) -> Option<Self> {
        let features = seen.features?;
        Some(Point {
            x: [features.cosine, features.coverage, 1.0].map(f64::from),
            right: f64::from(u8::from(seen.answerable && seen.is_right())),
            weight,
        })
    }
}

/// Fits the model to whether each best hit is relevant. The decay is not fitted: it only determines how many rivals a
/// verdict considers.
pub(super) fn fit_scores(observed: &[Observed<'_>], start: &ScoreModel) -> ScoreModel {
    let all: usize = observed.iter().map(|set| set.queries.len()).sum();
    let points: Vec<Point> = observed
        .iter()
        .zip(weights(observed))
        .flat_map(|(set, share)| {
            let weight = share * all as f64 / set.queries.len().max(1) as f64;
            let queries = set.queries.iter();
            queries.filter_map(move |seen| Point::new(seen, weight))
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

/// Returns the change of one parameter; all but the constant stay at or above 0, so that a higher feature never lowers
/// a score and scores fall along a ranking.
fn newton_step(
    points: &[Point],
    odds: &[f64],
    weights: &[f64; WEIGHTS],
    prior: &[f64; WEIGHTS],
    parameter: usize,
) -> f64 {
    // The prior is weak per unit of each feature: they vary within about a quarter of one.
    let pull = PRIOR_QUERIES / 16.0;
    let mut slope = pull * (prior[parameter] - weights[parameter]);
    let mut curve = pull;
    for (point, odds) in points.iter().zip(odds) {
        let chance = 1.0 / (1.0 + (-odds).exp());
        let x = point.x[parameter];
        slope += point.weight * x * (point.right - chance);
        curve += point.weight * x * x * chance * (1.0 - chance);
    }
    let change = slope / curve;
    if parameter == CONSTANT {
        change
    } else {
        change.max(-weights[parameter])
    }
}
