//! Narrow, broad or miss: a pure decision over scored candidates (B000-3).
//!
//! Must not search or score. It records all its inputs, so that it can be stored and replayed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::layers::Scope;
use crate::rank::{Candidate, RankedResult};
use crate::settings::Thresholds;

/// The kind of a routing decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The first candidate is the answer.
    Narrow,
    /// There are several candidates; the caller chooses.
    Broad,
    /// No candidate fits.
    Miss,
}

/// A decision with its inputs and reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The decision.
    pub kind: VerdictKind,
    /// The candidates at or above the floor, in order of preference.
    pub candidates: Vec<Candidate>,
    /// The candidates below the floor, best first.
    #[serde(default)]
    pub dropped: Vec<Candidate>,
    /// The thresholds that decided.
    pub thresholds: Thresholds,
    /// The embedding model, as `name/quantisation`; `None` if only words were compared.
    pub model: Option<String>,
    /// The reason, for people.
    pub reason: String,
}

/// Decides over `candidates`, best first as in a search result.
///
/// Candidates below the floor are dropped. If none is left: miss. If the best is at or above the narrow threshold and
/// leads the others, if any, by at least the margin: narrow. Otherwise broad, even for a single one (ruling 29).
///
/// A tenant's hit that reaches the narrow threshold, by its score in its scope too (ruling 66), comes before all global
/// hits, and only other hits of the tenant count against its lead. If the query names a global entry, only an entry of
/// the tenant that it names too comes before it.
pub fn decide(
    candidates: Vec<Candidate>,
    thresholds: &Thresholds,
    model: Option<String>,
) -> Verdict {
    let reaches = |candidate: &Candidate| candidate.score >= thresholds.floor;
    let (mut kept, dropped): (Vec<_>, Vec<_>) = candidates.into_iter().partition(reaches);
    let tenant_wins = prefer_tenant(&mut kept, thresholds);
    let (kind, reason) = weigh(&kept, thresholds, tenant_wins, dropped.len());
    Verdict {
        kind,
        candidates: kept,
        dropped,
        thresholds: *thresholds,
        model,
        reason,
    }
}

/// Runs [`decide`] on a search result. If a query asks for several things and each has its own entry at the narrow
/// threshold, no single entry answers it: broad, with each of these entries. Also broad if the query may be in an
/// unknown language, because the model gives such texts similar vectors.
pub fn decide_found(
    found: RankedResult,
    thresholds: &Thresholds,
    model: Option<String>,
) -> Verdict {
    let mut several: Vec<Candidate> = Vec::new();
    for clause in found.clauses {
        let best = clause.candidates.into_iter().next();
        let clear = best.filter(|best| best.score >= thresholds.narrow);
        if let Some(best) = clear.filter(|best| several.iter().all(|other| other.id != best.id)) {
            several.push(best);
        }
    }
    let mut verdict = decide(found.candidates, thresholds, model);
    if several.len() < 2 {
        return not_narrow_by_strange_words(verdict, &found.strange);
    }
    let ids: Vec<String> = several
        .iter()
        .map(|best| format!("`{}`", best.id))
        .collect();
    verdict.kind = VerdictKind::Broad;
    verdict.reason = format!("it asks for {} things: {}", ids.len(), ids.join(", "));
    verdict
        .dropped
        .retain(|dropped| several.iter().all(|best| best.id != dropped.id));
    // The best entry of a clause can be below the floor for the whole request.
    several.retain(|best| verdict.candidates.iter().all(|kept| kept.id != best.id));
    let at = verdict.candidates.len().min(1);
    verdict.candidates.splice(at..at, several);
    verdict
}

/// Makes a narrow verdict broad if a query has strange words; an entry that the query names stays narrow.
fn not_narrow_by_strange_words(verdict: Verdict, strange: &[String]) -> Verdict {
    let best = verdict.candidates.first();
    let is_named = best.is_some_and(|best| best.name_match.is_some());
    if verdict.kind != VerdictKind::Narrow || is_named || strange.is_empty() {
        return verdict;
    }
    let words: Vec<String> = strange
        .iter()
        .take(SHOWN_STRANGE)
        .map(|word| format!("`{word}`"))
        .collect();
    Verdict {
        kind: VerdictKind::Broad,
        reason: format!(
            "{}; but neither the model nor the catalogue knows {}",
            verdict.reason,
            words.join(", ")
        ),
        ..verdict
    }
}

/// Most strange words that a reason lists.
const SHOWN_STRANGE: usize = 3;

/// Whether a hit of the tenant's own takes precedence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Precedence {
    ByScore,
    Tenant,
}

/// Moves the tenant's hits that win over global ones to the front.
fn prefer_tenant(kept: &mut [Candidate], thresholds: &Thresholds) -> Precedence {
    let is_global = |candidate: &Candidate| candidate.scope == Scope::Global;
    let is_global_named = kept
        .iter()
        .any(|candidate| is_global(candidate) && candidate.name_match.is_some());
    let wins = |candidate: &Candidate| {
        candidate.scope == Scope::Tenant
            && candidate.score.min(candidate.scope_score) >= thresholds.narrow
            && (candidate.name_match.is_some() || !is_global_named)
    };
    if kept.iter().any(wins) && kept.iter().any(is_global) {
        // Stable: the others keep their order.
        kept.sort_by_key(|candidate| !wins(candidate));
        Precedence::Tenant
    } else {
        Precedence::ByScore
    }
}

fn weigh(
    kept: &[Candidate],
    thresholds: &Thresholds,
    precedence: Precedence,
    dropped: usize,
) -> (VerdictKind, String) {
    let Thresholds {
        floor,
        narrow,
        margin,
    } = thresholds;
    let Some(best) = kept.first() else {
        return (
            VerdictKind::Miss,
            format!("none of {dropped} candidates reaches the floor {floor}"),
        );
    };
    let Candidate { id, score, .. } = best;
    if *score < *narrow {
        let best = if kept.len() == 1 {
            "the only one"
        } else {
            "the best"
        };
        let reason = format!("{best}, `{id}` ({score:.3}), is below the narrow threshold {narrow}");
        return (VerdictKind::Broad, reason);
    }
    if kept.len() == 1 {
        let reason = format!(
            "`{id}` ({score:.3}) clears the narrow threshold {narrow}, and no other candidate reaches the floor {floor}"
        );
        return (VerdictKind::Narrow, reason);
    }
    let rivals = kept[1..].iter().filter(|rival| match precedence {
        Precedence::ByScore => true,
        Precedence::Tenant => rival.scope == Scope::Tenant,
    });
    // The best hit of a clause may come before a hit that is nearer to the whole text. Of equal ones the first counts.
    let rival = rivals.rev().max_by(|a, b| a.fused.total_cmp(&b.fused));
    match rival {
        Some(rival) if best.fused - rival.fused < *margin => {
            let reason = format!(
                "`{id}` ({score:.3}) does not lead `{}` by the margin {margin}",
                rival.id
            );
            (VerdictKind::Broad, reason)
        }
        Some(rival) => {
            let reason = format!(
                "`{id}` ({score:.3}) clears the narrow threshold {narrow} and leads `{}` by the margin {margin}",
                rival.id
            );
            (VerdictKind::Narrow, reason)
        }
        None => {
            let reason = format!(
                "`{id}` ({score:.3}) belongs to the tenant and clears the narrow threshold {narrow}"
            );
            (VerdictKind::Narrow, reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameMatch;
    use crate::rank::ClauseResult;

    fn hit(id: &str, scope: Scope, score: f32, fused: f32) -> Candidate {
        Candidate {
            id: id.to_owned(),
            scope,
            score,
            scope_score: score,
            fused,
            lexical: 0.0,
            coverage: 0.0,
            cosine: None,
            name_match: None,
        }
    }

    const EDGES: Thresholds = Thresholds {
        floor: 0.25,
        narrow: 0.75,
        margin: 0.5,
    };

    fn verdict(hits: &[(&str, Scope, f32, f32)]) -> (VerdictKind, Vec<String>) {
        let hits = hits
            .iter()
            .map(|(id, scope, score, fused)| hit(id, *scope, *score, *fused));
        let verdict = decide(hits.collect(), &EDGES, None);
        let ids = verdict.candidates.into_iter().map(|candidate| candidate.id);
        (verdict.kind, ids.collect())
    }

    fn outcome(kind: VerdictKind, ids: &[&str]) -> (VerdictKind, Vec<String>) {
        (kind, ids.iter().map(|id| (*id).to_owned()).collect())
    }

    const BELOW_FLOOR: f32 = 0.249_999;
    const BELOW_NARROW: f32 = 0.749_999;

    #[test]
    fn b000_3_at_the_floor_a_candidate_stays_and_below_it_it_is_dropped() {
        use Scope::Global;
        assert_eq!(verdict(&[]), outcome(VerdictKind::Miss, &[]));
        assert_eq!(
            verdict(&[("a", Global, BELOW_FLOOR, 1.0)]),
            outcome(VerdictKind::Miss, &[])
        );
        assert_eq!(
            verdict(&[("a", Global, 0.25, 1.0)]),
            outcome(VerdictKind::Broad, &["a"])
        );
        assert_eq!(
            verdict(&[("a", Global, 0.75, 1.0), ("b", Global, BELOW_FLOOR, 0.9)]),
            outcome(VerdictKind::Narrow, &["a"])
        );
        assert_eq!(
            verdict(&[("a", Global, 0.5, 1.0), ("b", Global, 0.25, 0.9)]),
            outcome(VerdictKind::Broad, &["a", "b"])
        );
    }

    #[test]
    fn ruling_29_a_single_candidate_below_the_narrow_threshold_is_broad() {
        use Scope::{Global, Tenant};
        for scope in [Global, Tenant] {
            assert_eq!(
                verdict(&[("a", scope, BELOW_NARROW, 1.0)]),
                outcome(VerdictKind::Broad, &["a"])
            );
            assert_eq!(
                verdict(&[("a", scope, 0.75, 1.0)]),
                outcome(VerdictKind::Narrow, &["a"])
            );
        }
    }

    #[test]
    fn b000_3_candidates_below_the_floor_are_listed_best_first() {
        let hits = [("a", 0.5), ("b", 0.2), ("c", 0.1)];
        let hits = hits.map(|(id, score)| hit(id, Scope::Global, score, score));
        let verdict = decide(hits.to_vec(), &EDGES, None);
        assert_eq!(verdict.candidates, hits[..1]);
        assert_eq!(verdict.dropped, hits[1..]);
    }

    #[test]
    fn b000_3_narrow_needs_the_threshold_and_the_margin() {
        use Scope::Global;
        let second = ("b", Global, 0.3, 0.25);
        assert_eq!(
            verdict(&[("a", Global, 0.75, 0.75), second]),
            outcome(VerdictKind::Narrow, &["a", "b"])
        );
        assert_eq!(
            verdict(&[("a", Global, BELOW_NARROW, 0.75), second]),
            outcome(VerdictKind::Broad, &["a", "b"])
        );
        assert_eq!(
            verdict(&[("a", Global, 0.75, 0.749), second]),
            outcome(VerdictKind::Broad, &["a", "b"])
        );
    }

    #[test]
    fn b000_3_a_tenant_hit_that_clears_the_narrow_threshold_wins_over_global_hits() {
        use Scope::{Global, Tenant};
        let better = ("g", Global, 0.9, 1.0);
        assert_eq!(
            verdict(&[better, ("t", Tenant, 0.75, 0.9)]),
            outcome(VerdictKind::Narrow, &["t", "g"])
        );
        assert_eq!(
            verdict(&[better, ("t", Tenant, BELOW_NARROW, 0.9)]),
            outcome(VerdictKind::Broad, &["g", "t"])
        );
        assert_eq!(
            verdict(&[better, ("t", Tenant, 0.8, 0.9), ("u", Tenant, 0.78, 0.8)]),
            outcome(VerdictKind::Broad, &["t", "u", "g"])
        );
        assert_eq!(
            verdict(&[better, ("t", Tenant, 0.8, 0.9), ("u", Tenant, 0.3, 0.1)]),
            outcome(VerdictKind::Narrow, &["t", "g", "u"])
        );
    }

    #[test]
    fn ruling_66_a_tenant_hit_that_is_weak_in_its_scope_does_not_win_over_a_global_hit() {
        let first = |scope_score: f32| {
            let weak = Candidate {
                scope_score,
                ..hit("t", Scope::Tenant, 0.8, 0.25)
            };
            let better = hit("g", Scope::Global, 0.9, 1.0);
            let verdict = decide(vec![better, weak], &EDGES, None);
            assert_eq!(verdict.kind, VerdictKind::Narrow);
            verdict.candidates[0].id.clone()
        };
        assert_eq!(first(BELOW_NARROW), "g");
        assert_eq!(first(0.75), "t");
    }

    #[test]
    fn b000_3_an_equal_hit_of_the_tenant_comes_before_the_global_one() {
        use Scope::{Global, Tenant};
        assert_eq!(
            verdict(&[("a", Global, 0.75, 1.0), ("b", Tenant, 0.75, 1.0)]),
            outcome(VerdictKind::Narrow, &["b", "a"])
        );
    }

    /// A request that names a document is answered by that document.
    #[test]
    fn b000_3_a_named_global_hit_comes_before_the_tenants_hits_that_are_not_named() {
        let first = |of_tenant: Option<NameMatch>| {
            let global = Candidate {
                name_match: Some(NameMatch::Exact),
                ..hit("g", Scope::Global, 0.99, 1.0)
            };
            let own = Candidate {
                name_match: of_tenant,
                ..hit("t", Scope::Tenant, 0.9, 0.8)
            };
            let verdict = decide(vec![global, own], &EDGES, None);
            verdict.candidates[0].id.clone()
        };
        assert_eq!(first(None), "g");
        assert_eq!(first(Some(NameMatch::Exact)), "t");
    }

    /// A request for two things is not answered with only one of them.
    #[test]
    fn several_things_that_are_clear_are_broad_and_one_of_them_alone_is_not() {
        let clause = |text: &str, id: &str, score: f32| ClauseResult {
            text: text.to_owned(),
            candidates: vec![hit(id, Scope::Global, score, 1.0)],
        };
        let found = |other: f32, clauses: Vec<ClauseResult>| {
            let candidates = vec![
                hit("a", Scope::Global, 0.9, 1.0),
                hit("b", Scope::Global, other, 0.2),
            ];
            let found = RankedResult {
                candidates,
                clauses,
                strange: Vec::new(),
            };
            decide_found(found, &EDGES, None)
        };
        let of = |clauses: Vec<ClauseResult>| {
            let verdict = found(0.3, clauses);
            (verdict.kind, verdict.reason)
        };
        let first = clause("count the hosts", "a", 0.8);
        let (kind, reason) = of(vec![first.clone(), clause("list the disks", "b", 0.75)]);
        assert_eq!(kind, VerdictKind::Broad);
        assert_eq!(reason, "it asks for 2 things: `a`, `b`");
        let second = clause("list the disks", "b", 0.75);
        let verdict = found(0.1, vec![first.clone(), second]);
        let ids = |candidates: &[Candidate]| {
            let ids = candidates.iter().map(|candidate| candidate.id.clone());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(ids(&verdict.candidates), ["a", "b"]);
        assert_eq!(ids(&verdict.dropped), [""; 0]);
        for other in [
            clause("it is urgent", "b", BELOW_NARROW),
            clause("count them again", "a", 0.9),
        ] {
            assert_eq!(of(vec![first.clone(), other]).0, VerdictKind::Narrow);
        }
        assert_eq!(of(Vec::new()).0, VerdictKind::Narrow);
    }

    /// The query may be in another language.
    #[test]
    fn a_query_with_words_that_nothing_knows_is_not_narrow_unless_it_names_its_answer() {
        let of = |named: Option<NameMatch>, strange: &[&str]| {
            let best = Candidate {
                name_match: named,
                ..hit("a", Scope::Global, 0.9, 1.0)
            };
            let found = RankedResult {
                candidates: vec![best],
                clauses: Vec::new(),
                strange: strange.iter().map(|word| (*word).to_owned()).collect(),
            };
            decide_found(found, &EDGES, None)
        };
        assert_eq!(of(None, &[]).kind, VerdictKind::Narrow);
        let verdict = of(None, &["rembourse", "commande"]);
        assert_eq!(verdict.kind, VerdictKind::Broad);
        assert_eq!(verdict.candidates.len(), 1);
        assert_eq!(
            verdict.reason,
            "`a` (0.900) clears the narrow threshold 0.75, and no other candidate reaches the floor 0.25; but neither the \
             model nor the catalogue knows `rembourse`, `commande`"
        );
        let named = of(Some(NameMatch::Exact), &["rembourse"]);
        assert_eq!(named.kind, VerdictKind::Narrow);
    }

    /// The reason of a narrow verdict is the rule that caused it.
    #[test]
    fn a_narrow_verdict_names_the_thresholds_that_it_clears() {
        let reason = |hits: Vec<Candidate>| decide(hits, &EDGES, None).reason;
        let best = hit("a", Scope::Tenant, 0.9, 1.0);
        let rival = |scope: Scope| hit("b", scope, 0.3, 0.25);
        assert_eq!(
            reason(vec![best.clone(), rival(Scope::Tenant)]),
            "`a` (0.900) clears the narrow threshold 0.75 and leads `b` by the margin 0.5"
        );
        assert_eq!(
            reason(vec![best, rival(Scope::Global)]),
            "`a` (0.900) belongs to the tenant and clears the narrow threshold 0.75"
        );
    }

    #[test]
    fn b000_3_the_verdict_records_thresholds_model_and_reason_and_survives_storage() {
        let hits = vec![hit("a", Scope::Global, 0.9, 1.0)];
        let verdict = decide(hits, &EDGES, Some("m/f32".to_owned()));
        assert_eq!(verdict.thresholds, EDGES);
        assert_eq!(verdict.model.as_deref(), Some("m/f32"));
        assert_eq!(
            verdict.reason,
            "`a` (0.900) clears the narrow threshold 0.75, and no other candidate reaches the floor 0.25"
        );
        let stored = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&stored).unwrap(), verdict);
    }
}
