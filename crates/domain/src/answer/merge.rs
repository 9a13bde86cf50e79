//! The findings of several skills as one list, and the order in which they are shown.

use std::collections::{BTreeMap, HashMap};

use charter_contract::finding::Finding;
use charter_contract::ids::FindingId;

/// The findings of several skills as one list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergedFindings {
    /// Each once, the most severe first. Equal severities keep the order of the skills.
    pub findings: Vec<Finding>,
    /// Findings that another one stands for, with that one.
    pub replaced: BTreeMap<FindingId, FindingId>,
}

/// Puts the findings of several skills into one list.
///
/// Two findings are one where they are about the same resource and say the same: by rule and fields, or by their words.
/// The more severe one stays, with the evidence of both. The findings of one skill keep their order.
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

/// Orders findings of equal severity as a model ranked them, the first `listed` among themselves and the others among
/// themselves: a ranking moves no finding out of what is written out. What it does not name keeps its order, behind.
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

/// What rules of the same name found with the same fields, or what is put into the same words. One skill does not say
/// the same twice.
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

/// The title and the summary of a finding, where its template has them.
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
