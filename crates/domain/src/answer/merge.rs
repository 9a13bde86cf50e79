//! Merges the findings of several skills into one list, and orders them for display.

use std::collections::{BTreeMap, HashMap};

use charter_contract::finding::Finding;
use charter_contract::ids::FindingId;

/// The findings of several skills in one list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergedFindings {
    /// The findings without duplicates, in descending order of severity. Equal severities keep the order of the skills.
    pub findings: Vec<Finding>,
    /// Merged duplicates, each with the finding that replaced it.
    pub replaced: BTreeMap<FindingId, FindingId>,
}

/// Merges the findings of several skills into one list.
///
/// Two findings are duplicates if they are about the same resource and have the same rule and fields, or the same
/// words. The more severe one is kept, with the evidence of both. The findings of one skill keep their order.
#[must_use]
pub fn merged(of_skills: Vec<Vec<Finding>>) -> MergedFindings {
    let is_one = of_skills.len() < 2;
    let all = of_skills.into_iter().flatten();
    if is_one {
        return MergedFindings {
            findings: all.collect(),
            replaced: BTreeMap::new(),
        };
    }
    let mut findings: Vec<Finding> = Vec::new();
    let mut standing_for: BTreeMap<FindingId, usize> = BTreeMap::new();
    let mut places: HashMap<(String, String), Vec<usize>> = HashMap::new();
    for finding in all {
        let resource = (
            finding.resource_type.to_string(),
            finding.resource_id.to_string(),
        );
        let id = finding.finding_id.clone();
        let known = places.entry(resource).or_default();
        let same = known
            .iter()
            .copied()
            .find(|at| says_the_same(&findings[*at], &finding));
        let at = match same {
            Some(at) => {
                join(&mut findings[at], finding);
                at
            }
            None => {
                known.push(findings.len());
                findings.push(finding);
                findings.len() - 1
            }
        };
        standing_for.insert(id, at);
    }
    let replaced = standing_for.into_iter().filter_map(|(id, at)| {
        let kept = &findings[at].finding_id;
        (*kept != id).then(|| (id, kept.clone()))
    });
    let replaced = replaced.collect();
    findings.sort_by_key(|finding| finding.severity);
    MergedFindings { findings, replaced }
}

/// Orders findings of equal severity by a model's ranking. The first `listed` findings are ordered separately from the
/// others, so that the ranking hides no listed finding. Unranked findings keep their order and come last.
pub fn ranked(findings: &mut [Finding], ranking: &[FindingId], listed: usize) {
    let ranks: HashMap<&FindingId, usize> = ranking.iter().zip(0..).collect();
    let rank = |finding: &Finding| {
        let known = ranks.get(&finding.finding_id);
        known.copied().unwrap_or(usize::MAX)
    };
    let (written, counted) = findings.split_at_mut(listed.min(findings.len()));
    for part in [written, counted] {
        for group in part.chunk_by_mut(|a, b| a.severity == b.severity) {
            group.sort_by_key(rank);
        }
    }
}

/// Returns whether two skills found the same: by rules of the same name with the same fields, or in the same words.
/// Findings of one skill are never duplicates.
fn says_the_same(a: &Finding, b: &Finding) -> bool {
    if a.skill_id == b.skill_id {
        return false;
    }
    if a.rule_id == b.rule_id && a.fields == b.fields {
        return true;
    }
    let said = words(a);
    said != (None, None) && said == words(b)
}

/// Returns the title and the summary of a finding, if its template has them.
fn words(finding: &Finding) -> (Option<&str>, Option<&str>) {
    let text = |name: &str| finding.rendered.as_ref()?.get(name)?.as_str();
    (text("title"), text("summary"))
}

fn join(kept: &mut Finding, other: Finding) {
    let proof = kept.evidence_ids.iter().chain(&other.evidence_ids);
    let mut evidence = Vec::new();
    for id in proof {
        if !evidence.contains(id) {
            evidence.push(id.clone());
        }
    }
    if other.severity < kept.severity {
        *kept = other;
    }
    kept.evidence_ids = evidence;
}
