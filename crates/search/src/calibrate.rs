//! Fits ranking weight, score model and thresholds to sets of labelled queries, within bounds.
//!
//! Few labels must not undo measurements on many: each step needs a number of queries, stays close to the initial
//! settings, and keeps them if it gains nothing. A set's weight is the square root of its number of queries, so that a
//! large set does not dominate. Must not search by itself: it uses the observations of a [`Trial`].

mod scores;
mod thresholds;

use serde::{Deserialize, Serialize};

use crate::eval::{EvalError, Observation, Trial};
use crate::settings::{Fusion, RouteSettings, ScoreModel};

use scores::fit_scores;
use thresholds::{BoundedSet, fit_thresholds, right_and_narrow};
pub use thresholds::{BrokenBound, LEAST_KEPT, MOST_MISSES_NARROW, NarrowBound, TARGET_PRECISION};

/// Fewest queries for fitting the weights.
pub const MIN_QUERIES_FOR_WEIGHTS: usize = 100;
/// Fewest queries for fitting the score model, and for judging the precision of a set's narrow verdicts.
pub const MIN_QUERIES_FOR_SCORES: usize = 50;
/// Fewest queries without an answer for fitting the floor with them; below that it is fitted to answered queries alone.
pub const MIN_MISSES: usize = 20;

/// How far the lexical share may move from its initial value, in steps of [`WEIGHT_STEP`].
const WEIGHT_STEPS: i32 = 5;
const WEIGHT_STEP: f32 = 0.04;
/// Gain in the mean of accuracy and recall that a new weight needs, and that no set may lose by it.
const LEAST_GAIN: f64 = 0.005;

/// A set of labelled queries to fit to.
#[derive(Debug, Clone, Copy)]
pub struct CalibrationSet<'a> {
    /// Its name in [`BrokenBound`].
    pub name: &'a str,
    /// Its queries, embedded by the same model as those of the other sets.
    pub trial: &'a Trial,
}

/// Settings fitted to labelled queries, to be stored with the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The embedding model that it applies to; `None` for words alone.
    pub model: Option<String>,
    /// The fitted settings.
    pub settings: RouteSettings,
    /// Number of queries with an answer.
    pub queries: usize,
    /// Number of queries without an answer.
    pub misses: usize,
    /// Bounds on narrow verdicts that the settings violate, because no settings violate less.
    pub broken: Vec<BrokenBound>,
}

/// The observations of a set's queries.
struct Observed<'a> {
    name: &'a str,
    queries: Vec<Observation>,
}

impl Observed<'_> {
    fn answerable(&self) -> impl Iterator<Item = &Observation> {
        self.queries.iter().filter(|seen| seen.answerable)
    }

    /// Mean of accuracy at 1 and recall at 5.
    fn quality(&self) -> f64 {
        let sum: f64 = self
            .answerable()
            .map(|seen| {
                let first = seen.hits.iter().take(5);
                let found = first.filter(|(_, relevant)| *relevant).count();
                let right = f64::from(u8::from(seen.is_right()));
                (right + found as f64 / seen.relevant as f64) / 2.0
            })
            .sum();
        sum / self.answerable().count().max(1) as f64
    }
}

/// Fits `base` to sets of labelled queries.
///
/// Narrow verdicts are fitted under bounds for each set ([`NarrowBound`]). If no settings satisfy them all, those with
/// the least violation are chosen, and [`Calibration::broken`] lists the violated bounds. If the fitted settings would
/// violate more than the current ones, the current ones stay.
///
/// # Errors
/// [`EvalError::Query`] if a query cannot be routed.
pub fn calibrate(
    sets: &[CalibrationSet<'_>],
    base: &RouteSettings,
) -> Result<Calibration, EvalError> {
    let model = sets.first().and_then(|set| set.trial.model());
    let in_force = observe(sets, base)?;
    let answerable = answerable(&in_force);
    let all: usize = in_force.iter().map(|set| set.queries.len()).sum();
    let weighed = fit_weights(sets, base, &in_force)?;
    let (fusion, observed) = weighed
        .as_ref()
        .map_or((base.fusion, &in_force), |(fusion, observed)| {
            (*fusion, observed)
        });
    let mut found = FittedSettings {
        settings: RouteSettings { fusion, ..*base },
        broken: Vec::new(),
    };
    if answerable >= MIN_QUERIES_FOR_SCORES {
        let scored = match model {
            Some(_) => Scored::ByVectors,
            None => Scored::ByWords,
        };
        found = fit_verdicts(&in_force, observed, scored, base, &found.settings);
    }
    Ok(Calibration {
        model: model.map(str::to_owned),
        settings: found.settings,
        queries: answerable,
        misses: all - answerable,
        broken: found.broken,
    })
}

/// Settings, and the bounds that they violate.
struct FittedSettings {
    settings: RouteSettings,
    broken: Vec<BrokenBound>,
}

/// The score model of a trial.
#[derive(Clone, Copy)]
enum Scored {
    ByVectors,
    ByWords,
}

impl Scored {
    fn model(self, settings: &mut RouteSettings) -> &mut ScoreModel {
        match self {
            Self::ByVectors => &mut settings.score,
            Self::ByWords => &mut settings.words_only_score,
        }
    }
}

/// Fits the score model and the thresholds of `weighed`, under which `observed` was measured. `in_force` was measured
/// under `base`, which is kept if the fitted settings violate more.
fn fit_verdicts(
    in_force: &[Observed<'_>],
    observed: &[Observed<'_>],
    scored: Scored,
    base: &RouteSettings,
    weighed: &RouteSettings,
) -> FittedSettings {
    let mut settings = *weighed;
    let start = *scored.model(&mut settings);
    let before: Vec<Vec<bool>> = in_force
        .iter()
        .map(|set| right_and_narrow(&set.queries, &start, &base.thresholds))
        .collect();
    let fitted = fit_scores(observed, &start);
    *scored.model(&mut settings) = fitted;
    let sets = bounded(observed, &fitted, &before);
    settings.thresholds = fit_thresholds(&sets, &base.thresholds);
    let broken = thresholds::broken(&sets, &settings.thresholds);
    let kept = thresholds::broken(&bounded(in_force, &start, &before), &base.thresholds);
    if excess(&kept) < excess(&broken) {
        return FittedSettings {
            settings: *base,
            broken: kept,
        };
    }
    FittedSettings { settings, broken }
}

fn bounded<'a>(
    observed: &[Observed<'a>],
    model: &ScoreModel,
    before: &[Vec<bool>],
) -> Vec<BoundedSet<'a>> {
    let sets = observed.iter().zip(before);
    sets.map(|(set, before)| BoundedSet::new(set.name, &set.queries, model, before))
        .collect()
}

fn excess(broken: &[BrokenBound]) -> f64 {
    broken.iter().map(BrokenBound::excess).sum()
}

fn observe<'a>(
    sets: &[CalibrationSet<'a>],
    settings: &RouteSettings,
) -> Result<Vec<Observed<'a>>, EvalError> {
    sets.iter()
        .map(|set| {
            Ok(Observed {
                name: set.name,
                queries: set.trial.observations(settings)?,
            })
        })
        .collect()
}

fn answerable(observed: &[Observed<'_>]) -> usize {
    observed.iter().map(|set| set.answerable().count()).sum()
}

/// Returns the weight of each set; the weights sum to 1.
fn weights(observed: &[Observed<'_>]) -> Vec<f64> {
    let root = |set: &Observed<'_>| (set.queries.len() as f64).sqrt();
    let all: f64 = observed.iter().map(root).sum();
    observed
        .iter()
        .map(|set| root(set) / all.max(1.0))
        .collect()
}

/// Returns the lexical share that ranks best, and the observations under it; `None` if the share does not change.
fn fit_weights<'a>(
    sets: &[CalibrationSet<'a>],
    base: &RouteSettings,
    in_force: &[Observed<'a>],
) -> Result<Option<(Fusion, Vec<Observed<'a>>)>, EvalError> {
    let compares_words_only = sets.first().is_none_or(|set| set.trial.model().is_none());
    if compares_words_only || answerable(in_force) < MIN_QUERIES_FOR_WEIGHTS {
        return Ok(None);
    }
    let weights = weights(in_force);
    let before: Vec<f64> = in_force.iter().map(Observed::quality).collect();
    let mut to_beat = mean(&before, &weights) + LEAST_GAIN;
    let mut best = None;
    for step in (-WEIGHT_STEPS..=WEIGHT_STEPS).filter(|step| *step != 0) {
        let fusion = base.fusion.leaning_to_words(step as f32 * WEIGHT_STEP);
        let observed = observe(sets, &RouteSettings { fusion, ..*base })?;
        let found: Vec<f64> = observed.iter().map(Observed::quality).collect();
        let mut pairs = found.iter().zip(&before);
        let none_loses = pairs.all(|(found, before)| *found >= before - LEAST_GAIN);
        let gained = mean(&found, &weights);
        if none_loses && gained > to_beat {
            to_beat = gained;
            best = Some((fusion, observed));
        }
    }
    Ok(best)
}

fn mean(values: &[f64], weights: &[f64]) -> f64 {
    let weighed = values.iter().zip(weights);
    weighed.map(|(value, weight)| value * weight).sum()
}

#[cfg(test)]
mod tests;
