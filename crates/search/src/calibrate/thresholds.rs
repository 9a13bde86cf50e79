//! Fits floor, narrow threshold and margin, under bounds that hold for each set.
//!
//! Must not know how scores are made.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{MIN_MISSES, MIN_QUERIES_FOR_SCORES};
use crate::eval::Observation;
use crate::settings::{ScoreModel, Thresholds};

/// Largest share of a set's queries without an answer that may be routed narrowly.
pub const MOST_MISSES_NARROW: f64 = 0.05;
/// Share of a set's narrow verdicts that should be right; one on a query without an answer is wrong.
pub const TARGET_PRECISION: f64 = 0.9;
/// Share of the right narrow verdicts under the current settings that should stay narrow and right.
pub const LEAST_KEPT: f64 = 0.75;

/// Share of right answers that a floor may cost.
const LOST_TO_FLOOR: f64 = 0.05;
/// The same share without queries that have no answer.
const LOST_TO_BLIND_FLOOR: f64 = 0.02;
/// Margins that are tried.
const MARGINS: [f32; 8] = [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15];
/// Number of steps from 0 to 1 in which narrow thresholds are tried.
const NARROW_STEPS: u8 = 200;
/// Fewest narrow verdicts for judging thresholds.
const LEAST_NARROW: usize = MIN_QUERIES_FOR_SCORES / 5;

/// A bound on narrow verdicts, for each set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NarrowBound {
    /// At most [`MOST_MISSES_NARROW`] of the queries without an answer are routed narrowly.
    MissesNarrow,
    /// At least [`TARGET_PRECISION`] of the narrow verdicts are right.
    Precision,
    /// At least [`LEAST_KEPT`] of the right narrow verdicts under the current settings stay so.
    Kept,
}

impl NarrowBound {
    /// Returns how far a share exceeds the bound; 0 within it.
    fn excess(self, share: f64) -> f64 {
        let beyond = match self {
            Self::MissesNarrow => share - MOST_MISSES_NARROW,
            Self::Precision => TARGET_PRECISION - share,
            Self::Kept => LEAST_KEPT - share,
        };
        beyond.max(0.0)
    }
}

/// A bound that settings violate on a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokenBound {
    /// The set.
    pub set: String,
    /// The bound.
    pub bound: NarrowBound,
    /// The measured share, 0 to 1.
    pub share: f64,
}

impl BrokenBound {
    /// Returns how far the share exceeds the bound.
    pub(super) fn excess(&self) -> f64 {
        self.bound.excess(self.share)
    }
}

impl fmt::Display for BrokenBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { set, share, .. } = self;
        match self.bound {
            NarrowBound::MissesNarrow => write!(
                f,
                "`{set}`: {share:.3} of the queries that nothing answers are routed narrowly; the maximum is \
                 {MOST_MISSES_NARROW}"
            ),
            NarrowBound::Precision => write!(
                f,
                "`{set}`: {share:.3} of the narrow verdicts are correct; the minimum is {TARGET_PRECISION}"
            ),
            NarrowBound::Kept => write!(
                f,
                "`{set}`: {share:.3} of the correct narrow verdicts stay narrow; the minimum is {LEAST_KEPT}"
            ),
        }
    }
}

/// The values that determine a query's verdict, and whether its best hit is right. On a query without an answer it is
/// wrong.
struct Outcome {
    score: f32,
    /// Score of the second hit.
    rival: f32,
    lead: f32,
    right: bool,
    answerable: bool,
    /// Whether it is right and narrow under the current settings.
    was_right_and_narrow: bool,
}

impl Outcome {
    /// `None` without hits.
    fn new(seen: &Observation, model: &ScoreModel, was_right_and_narrow: bool) -> Option<Self> {
        let features = seen.features?;
        let lead = seen.lead();
        Some(Outcome {
            score: model.score(&features, 0.0),
            rival: model.score(&features, lead),
            lead,
            right: seen.answerable && seen.is_right(),
            answerable: seen.answerable,
            was_right_and_narrow,
        })
    }

    /// Whether no other hit prevents a narrow verdict.
    fn leads(&self, floor: f32, margin: f32) -> bool {
        self.rival < floor || self.lead >= margin
    }

    fn is_narrow(&self, thresholds: &Thresholds) -> bool {
        self.score >= thresholds.floor.max(thresholds.narrow)
            && self.leads(thresholds.floor, thresholds.margin)
    }
}

/// Returns for each query whether its verdict under these settings is narrow and right.
pub(super) fn right_and_narrow(
    queries: &[Observation],
    model: &ScoreModel,
    thresholds: &Thresholds,
) -> Vec<bool> {
    let holds = |outcome: Outcome| outcome.right && outcome.is_narrow(thresholds);
    let outcomes = queries.iter().map(|seen| Outcome::new(seen, model, false));
    outcomes.map(|outcome| outcome.is_some_and(holds)).collect()
}

/// One set with the measures of its bounds.
pub(super) struct BoundedSet<'a> {
    name: &'a str,
    outcomes: Vec<Outcome>,
    answerable: usize,
    misses: usize,
    /// Number of queries whose verdict is narrow and right under the current settings.
    right_before: usize,
}

impl<'a> BoundedSet<'a> {
    /// `before` holds for each query whether its verdict under the current settings is right and narrow.
    pub(super) fn new(
        name: &'a str,
        queries: &[Observation],
        model: &ScoreModel,
        before: &[bool],
    ) -> Self {
        let answerable = queries.iter().filter(|seen| seen.answerable).count();
        let pairs = queries.iter().zip(before);
        BoundedSet {
            name,
            outcomes: pairs
                .filter_map(|(seen, before)| Outcome::new(seen, model, *before))
                .collect(),
            answerable,
            misses: queries.len() - answerable,
            right_before: before.iter().filter(|before| **before).count(),
        }
    }

    fn right(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.right)
    }

    /// Returns the share of each bound; `None` if the divisor is 0, or too small to judge.
    fn shares(&self, narrow: &Narrow) -> [(NarrowBound, Option<f64>); 3] {
        let judged = self.answerable >= MIN_QUERIES_FOR_SCORES;
        let all = narrow.right + narrow.wrong;
        let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
        [
            (NarrowBound::MissesNarrow, share(narrow.misses, self.misses)),
            (
                NarrowBound::Precision,
                share(narrow.right, all).filter(|_| judged),
            ),
            (
                NarrowBound::Kept,
                share(narrow.kept, self.right_before).filter(|_| judged),
            ),
        ]
    }

    fn excess(&self, narrow: &Narrow) -> f64 {
        let shares = self.shares(narrow).into_iter();
        shares
            .filter_map(|(bound, share)| Some(bound.excess(share?)))
            .sum()
    }
}

/// Narrow verdicts of a set.
#[derive(Clone, Copy, Default)]
struct Narrow {
    right: usize,
    /// Including those on queries without an answer.
    wrong: usize,
    misses: usize,
    /// The right ones that are also right under the current settings.
    kept: usize,
}

impl Narrow {
    fn add(&mut self, outcome: &Outcome) {
        let count = |holds: bool| usize::from(holds);
        self.right += count(outcome.right);
        self.wrong += count(!outcome.right);
        self.misses += count(!outcome.answerable);
        self.kept += count(outcome.right && outcome.was_right_and_narrow);
    }
}

/// Returns the bounds that thresholds violate.
pub(super) fn broken(sets: &[BoundedSet<'_>], thresholds: &Thresholds) -> Vec<BrokenBound> {
    sets.iter()
        .flat_map(|set| broken_on(set, thresholds))
        .collect()
}

fn broken_on(set: &BoundedSet<'_>, thresholds: &Thresholds) -> Vec<BrokenBound> {
    let mut narrow = Narrow::default();
    for outcome in &set.outcomes {
        if outcome.is_narrow(thresholds) {
            narrow.add(outcome);
        }
    }
    let mut broken = Vec::new();
    for (bound, share) in set.shares(&narrow) {
        if let Some(share) = share.filter(|share| bound.excess(*share) > 0.0) {
            broken.push(BrokenBound {
                set: set.name.to_owned(),
                bound,
                share,
            });
        }
    }
    broken
}

/// Floor: separates right answers from misses best, at a cost of at most [`LOST_TO_FLOOR`] of each set. Narrow and
/// margin: those with the least violation of the bounds, and among these the ones with the most right narrow verdicts.
pub(super) fn fit_thresholds(sets: &[BoundedSet<'_>], base: &Thresholds) -> Thresholds {
    let descending = descending(sets);
    let floor = fit_floor(sets, &descending).unwrap_or(base.floor);
    let (narrow, margin) =
        fit_narrow(sets, &descending, floor, base).unwrap_or((base.narrow, base.margin));
    Thresholds {
        floor,
        // No candidate below the floor remains, so none can be narrow.
        narrow: narrow.max(floor),
        margin,
    }
}

/// Returns the outcomes of all sets with the index of their set, highest score first.
fn descending<'a>(sets: &'a [BoundedSet<'_>]) -> Vec<(usize, &'a Outcome)> {
    let mut all: Vec<(usize, &Outcome)> = sets
        .iter()
        .enumerate()
        .flat_map(|(at, set)| set.outcomes.iter().map(move |outcome| (at, outcome)))
        .collect();
    all.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
    all
}

/// `None` if nothing is right.
fn fit_floor(sets: &[BoundedSet<'_>], descending: &[(usize, &Outcome)]) -> Option<f32> {
    let rights: Vec<usize> = sets.iter().map(|set| set.right().count()).collect();
    let has_misses = |at: usize| rights[at] > 0 && sets[at].misses >= MIN_MISSES;
    if !(0..sets.len()).any(has_misses) {
        return sets.iter().filter_map(blind_floor).reduce(f32::min);
    }
    let mut kept = vec![0usize; sets.len()];
    let mut let_in = vec![0usize; sets.len()];
    let mut best: Option<(f64, f32)> = None;
    for (at, outcome) in descending {
        kept[*at] += usize::from(outcome.right);
        let_in[*at] += usize::from(!outcome.answerable);
        let kept_share = |at: usize| kept[at] as f64 / rights[at] as f64;
        let mut with_right = (0..sets.len()).filter(|at| rights[*at] > 0);
        if !with_right.all(|at| kept_share(at) >= 1.0 - LOST_TO_FLOOR) {
            continue;
        }
        let gain: f64 = (0..sets.len())
            .filter(|at| has_misses(*at))
            .map(|at| kept_share(at) - let_in[at] as f64 / sets[at].misses as f64)
            .sum();
        if best.is_none_or(|(most, _)| gain > most) {
            best = Some((gain, outcome.score));
        }
    }
    best.map(|(_, floor)| floor)
}

/// Returns the floor that keeps nearly all right answers of a set; `None` if nothing is right.
fn blind_floor(set: &BoundedSet<'_>) -> Option<f32> {
    let mut scores: Vec<f32> = set.right().map(|outcome| outcome.score).collect();
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    let keep = ((1.0 - LOST_TO_BLIND_FLOOR) * scores.len() as f64).ceil() as usize;
    scores.get(keep.max(1) - 1).copied()
}

/// The quality of a narrow threshold and a margin.
#[derive(Clone, Copy)]
struct Choice {
    excess: f64,
    /// Right narrow verdicts as a share of the queries with an answer, summed over the sets.
    coverage: f64,
    narrow: f32,
    margin: f32,
}

impl Choice {
    fn beats(&self, other: &Choice) -> bool {
        (-self.excess, self.coverage) > (-other.excess, other.coverage)
    }
}

/// `None` if there are too few outcomes to judge.
fn fit_narrow(
    sets: &[BoundedSet<'_>],
    descending: &[(usize, &Outcome)],
    floor: f32,
    base: &Thresholds,
) -> Option<(f32, f32)> {
    let steps = (0..=NARROW_STEPS).map(|step| f32::from(step) / f32::from(NARROW_STEPS));
    let mut tried: Vec<f32> = steps
        .chain([floor, base.narrow])
        .filter(|narrow| *narrow >= floor)
        .collect();
    tried.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut best: Option<Choice> = None;
    for margin in MARGINS.into_iter().chain([base.margin]) {
        let mut counts = vec![Narrow::default(); sets.len()];
        let mut left = descending.iter().peekable();
        for narrow in &tried {
            while let Some((at, outcome)) = left.next_if(|(_, outcome)| outcome.score >= *narrow) {
                if outcome.leads(floor, margin) {
                    counts[*at].add(outcome);
                }
            }
            let all: usize = counts
                .iter()
                .map(|narrow| narrow.right + narrow.wrong)
                .sum();
            if all < LEAST_NARROW {
                continue;
            }
            let pairs = || sets.iter().zip(&counts);
            let choice = Choice {
                excess: pairs().map(|(set, narrow)| set.excess(narrow)).sum(),
                coverage: pairs()
                    .map(|(set, narrow)| narrow.right as f64 / set.answerable.max(1) as f64)
                    .sum(),
                narrow: *narrow,
                margin,
            };
            if best.is_none_or(|best| choice.beats(&best)) {
                best = Some(choice);
            }
        }
    }
    best.map(|choice| (choice.narrow, choice.margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `count` outcomes whose best hit is the only one.
    fn alone(count: usize, score: f32, right: bool) -> Vec<Outcome> {
        among(count, score, right, 0.0, f32::INFINITY)
    }

    fn among(count: usize, score: f32, right: bool, rival: f32, lead: f32) -> Vec<Outcome> {
        let one = |_| Outcome {
            score,
            rival,
            lead,
            right,
            answerable: true,
            was_right_and_narrow: false,
        };
        (0..count).map(one).collect()
    }

    fn misses(count: usize, score: f32) -> Vec<Outcome> {
        let mut misses = alone(count, score, false);
        misses.iter_mut().for_each(|miss| miss.answerable = false);
        misses
    }

    /// Marks outcomes as narrow and right under the current settings.
    fn kept(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        for outcome in &mut outcomes {
            outcome.was_right_and_narrow = true;
        }
        outcomes
    }

    fn set(name: &str, outcomes: Vec<Vec<Outcome>>) -> BoundedSet<'_> {
        let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
        let count = |holds: fn(&Outcome) -> bool| outcomes.iter().filter(|one| holds(one)).count();
        BoundedSet {
            name,
            answerable: count(|outcome| outcome.answerable),
            misses: count(|outcome| !outcome.answerable),
            right_before: count(|outcome| outcome.was_right_and_narrow),
            outcomes,
        }
    }

    fn fit(sets: &[BoundedSet<'_>]) -> (f32, f32, f32) {
        let found = fit_thresholds(sets, &Thresholds::default());
        (found.floor, found.narrow, found.margin)
    }

    fn broken_by_fit(sets: &[BoundedSet<'_>]) -> Vec<BrokenBound> {
        broken(sets, &fit_thresholds(sets, &Thresholds::default()))
    }

    #[test]
    fn at_most_one_in_twenty_of_the_queries_that_nothing_answers_is_narrow() {
        // All three above the floor would be 3 of 20; at .8 one of 20 is left, and 50 of 60 right answers.
        let sets = [set(
            "a",
            vec![
                alone(50, 0.8, true),
                alone(10, 0.6, true),
                misses(1, 0.85),
                misses(2, 0.65),
                misses(17, 0.1),
            ],
        )];
        assert_eq!(fit(&sets), (0.6, 0.8, 0.0));
        assert_eq!(broken_by_fit(&sets), Vec::new());
    }

    #[test]
    fn narrow_verdicts_are_right_on_each_set_not_only_over_all() {
        // From .7 on 630 of 660 are right over both, and 30 of 60 on the second.
        let large = set("a", vec![alone(300, 0.9, true), alone(300, 0.7, true)]);
        let second = set("b", vec![alone(30, 0.9, true), alone(30, 0.7, false)]);
        assert_eq!(fit(&[large, second]), (0.7, 0.9, 0.0));
    }

    #[test]
    fn the_precision_of_a_set_that_is_too_small_to_judge_raises_nothing() {
        let large = set("a", vec![alone(30, 0.9, true), alone(30, 0.7, true)]);
        let small = set("b", vec![alone(20, 0.9, true), alone(20, 0.7, false)]);
        assert_eq!(fit(&[large, small]), (0.7, 0.7, 0.0));
    }

    #[test]
    fn the_margin_keeps_out_close_rivals_above_the_floor() {
        // The five at .4 are the only hits above the floor, so that the margin does not apply to them.
        let sets = [set(
            "a",
            vec![
                among(60, 0.9, true, 0.5, 0.1),
                among(10, 0.9, false, 0.5, 0.03),
                among(5, 0.4, true, 0.3, 0.0),
            ],
        )];
        assert_eq!(fit(&sets), (0.4, 0.4, 0.04));
        assert_eq!(broken_by_fit(&sets), Vec::new());
    }

    #[test]
    fn three_quarters_of_the_right_narrow_verdicts_stay_where_that_breaks_less() {
        // At .6 precision is 60 of 67; at .8 it is 1, and 40 of 60 would stay.
        let sets = [set(
            "a",
            vec![
                kept(alone(40, 0.8, true)),
                kept(alone(20, 0.6, true)),
                alone(7, 0.6, false),
            ],
        )];
        assert_eq!(fit(&sets), (0.6, 0.6, 0.0));
        let found: Vec<String> = broken_by_fit(&sets)
            .iter()
            .map(BrokenBound::to_string)
            .collect();
        assert_eq!(
            found,
            ["`a`: 0.896 of the narrow verdicts are correct; the minimum is 0.9"]
        );
    }

    #[test]
    fn each_bound_that_cannot_be_kept_is_named_with_its_set() {
        let sets = [
            set("good", vec![alone(60, 0.9, true)]),
            set(
                "bad",
                vec![
                    kept(alone(20, 0.9, true)),
                    alone(20, 0.95, false),
                    alone(20, 0.1, false),
                    misses(10, 0.95),
                    misses(10, 0.1),
                ],
            ),
        ];
        let named = |bound, share| BrokenBound {
            set: "bad".to_owned(),
            bound,
            share,
        };
        let expected = [
            named(NarrowBound::MissesNarrow, 0.5),
            named(NarrowBound::Precision, 0.4),
        ];
        assert_eq!(broken_by_fit(&sets), expected);
    }

    #[test]
    fn the_floor_keeps_nearly_all_right_answers_of_each_set() {
        let high = set("a", vec![alone(20, 0.9, true), misses(20, 0.5)]);
        assert_eq!(fit(&[high]).0, 0.9);
        let high = set("a", vec![alone(20, 0.9, true), misses(20, 0.5)]);
        let low = set("b", vec![alone(20, 0.4, true)]);
        assert_eq!(fit(&[high, low]).0, 0.4);
    }

    #[test]
    fn with_too_few_narrow_verdicts_the_thresholds_in_force_stay() {
        let sets = [set("a", vec![alone(LEAST_NARROW - 1, 0.5, true)])];
        let Thresholds { narrow, margin, .. } = Thresholds::default();
        assert_eq!(fit(&sets), (0.5, narrow, margin));
    }
}
