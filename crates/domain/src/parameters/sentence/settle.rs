//! Resolves conflicts between the values of a sentence: among parameters, and among values of one parameter.

use std::cmp::{Ordering, Reverse};

use charter_contract::parameter::Parameter;
use serde_json::Value;

use super::form::{Form, GROUPS};
use super::names::Names;
use super::scope::Scope;
use super::search::distinct;
use super::seen::{Candidate, Doubt, Misread, ParameterReading, Strength};
use crate::parameters::check;

/// The result for a parameter: a value with the index of its first word and the number of words, or nothing.
pub(super) type Settled = Result<Option<(Value, usize, usize)>, Doubt>;

/// Assigns each word to the parameter with the strongest claim. If two claims are equally strong, the parameter with
/// fewer parts in its name wins, or neither.
pub(super) fn share(found: &mut [ParameterReading], names: &[Names], forms: &[Form], words: usize) {
    let mut claims: Vec<[Option<Claim>; GROUPS]> = vec![[None; GROUPS]; words];
    let group = |owner: usize| forms.get(owner).map_or(0, Form::group);
    for (owner, found) in found.iter().enumerate() {
        let parts = names.get(owner).map_or(0, |names| names.parts.len());
        for candidate in &found.candidates {
            let claim = Claim {
                owner,
                parts,
                strength: candidate.strength,
                disputed: false,
            };
            let range = candidate.first..(candidate.first + candidate.words).min(words);
            let held = claims.get_mut(range).into_iter().flatten();
            for held in held.filter_map(|held| held.get_mut(group(owner))) {
                *held = Some(held.map_or(claim, |held| held.or(claim)));
            }
        }
    }
    for (owner, found) in found.iter_mut().enumerate() {
        let own = group(owner);
        let parts = names.get(owner).map_or(0, |names| names.parts.len());
        // The strongest claims on these words, in the groups that compete with this one.
        let others = |first: usize, words: usize| {
            let held = claims.get(first..first + words).into_iter().flatten();
            let rival = held.flat_map(move |held| {
                let held = held.iter().enumerate();
                held.filter(move |(group, _)| own == 0 || *group == 0 || *group == own)
            });
            rival.filter_map(|(_, claim)| *claim)
        };
        found.candidates.retain(|one| {
            others(one.first, one.words).all(|claim| match claim.owner == owner {
                true => !claim.disputed,
                false => claim.rank() < (one.strength, Reverse(parts)),
            })
        });
        found.doubts.retain(|doubt| {
            let mut others = others(doubt.first, doubt.words);
            !others.any(|claim| claim.owner != owner && claim.strength >= doubt.strength)
        });
    }
}

/// A parameter's claim on a word.
#[derive(Debug, Clone, Copy)]
struct Claim {
    owner: usize,
    parts: usize,
    strength: Strength,
    disputed: bool,
}

impl Claim {
    /// Returns the rank of the claim: its strength, then the simplicity of its owner's name.
    fn rank(self) -> (Strength, Reverse<usize>) {
        (self.strength, Reverse(self.parts))
    }

    fn or(self, other: Self) -> Self {
        if self.owner == other.owner {
            let strength = self.strength.max(other.strength);
            return Self { strength, ..self };
        }
        match self.rank().cmp(&other.rank()) {
            Ordering::Greater => self,
            Ordering::Less => other,
            Ordering::Equal => Self {
                disputed: true,
                ..self
            },
        }
    }
}

/// Returns the single value of a parameter.
pub(super) fn one_of(parameter: &Parameter, found: ParameterReading, scope: &Scope) -> Settled {
    let ParameterReading {
        candidates,
        mut doubts,
        ..
    } = found;
    let mut fitting = Vec::new();
    for candidate in candidates {
        match check(parameter, &candidate.value) {
            Ok(()) => fitting.push(candidate),
            Err(fault) if candidate.strength >= Strength::Linked => doubts.push(Doubt {
                first: candidate.first,
                words: candidate.words,
                why: Misread::Unfit(fault.to_string()),
                strength: candidate.strength,
            }),
            Err(_) => {}
        }
    }
    let fitting = corrected(fitting, scope);
    let strongest = fitting.iter().map(|candidate| candidate.strength).max();
    let doubt = doubts
        .into_iter()
        .max_by_key(|doubt| (doubt.strength, Reverse(doubt.first)));
    if let Some(doubt) = doubt
        && strongest.is_none_or(|strongest| doubt.strength > strongest)
    {
        return Err(doubt);
    }
    let best: Vec<&Candidate> = fitting
        .iter()
        .filter(|one| Some(one.strength) == strongest)
        .collect();
    let values = distinct(best.iter().map(|candidate| candidate.value.clone()));
    let Some(first) = best.iter().min_by_key(|one| one.first) else {
        return Ok(None);
    };
    let end = best.iter().map(|one| one.first + one.words).max();
    match values.as_slice() {
        [value] => Ok(Some((value.clone(), first.first, first.words))),
        _ => Err(Doubt {
            first: first.first,
            words: end.unwrap_or(first.first) - first.first,
            why: Misread::Several(values),
            strength: first.strength,
        }),
    }
}

/// Returns the values of a list.
pub(super) fn list_of(parameter: &Parameter, found: ParameterReading, scope: &Scope) -> Settled {
    let doubt = found.doubts.into_iter().max_by_key(|doubt| doubt.strength);
    if let Some(doubt) = doubt {
        return Err(doubt);
    }
    let elements = corrected(found.candidates, scope);
    let Some((first, last)) = elements.first().zip(elements.last()) else {
        return Ok(None);
    };
    let words = last.first + last.words - first.first;
    let value = Value::Array(distinct(elements.iter().map(|one| one.value.clone())));
    match check(parameter, &value) {
        Ok(()) => Ok(Some((value, first.first, words))),
        Err(fault) => Err(Doubt {
            first: first.first,
            words,
            why: Misread::Unfit(fault.to_string()),
            strength: first.strength,
        }),
    }
}

/// Returns the values after the last correction, if there are values before it.
fn corrected(candidates: Vec<Candidate>, scope: &Scope) -> Vec<Candidate> {
    let Some(first) = candidates.iter().map(|one| one.first).min() else {
        return candidates;
    };
    let last = candidates
        .iter()
        .map(|one| one.first)
        .max()
        .unwrap_or(first);
    let Some(from) = scope.correction_before(last).filter(|from| *from > first) else {
        return candidates;
    };
    candidates
        .into_iter()
        .filter(|one| one.first >= from)
        .collect()
}
