//! The findings of an occurrence of a schedule, compared with the one before: new, unchanged or resolved.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::SCHEDULE_REPORT_ITEMS;
use charter_contract::catalogue::schedule::FindingTrigger;
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::finding::Finding;
use charter_contract::ids::{
    DomainId, EvidenceId, FindingId, ReportItemId, RuleId, ScheduleId, SkillId,
};
use charter_contract::text::{ShortText, Text};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Longest text of a Markdown cell, in characters.
const CELL: usize = 200;

/// How a finding compares with the previous occurrence.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ItemChange {
    /// The previous occurrence did not find it.
    New,
    /// The previous occurrence found it too.
    Unchanged,
    /// The previous occurrence found it, and this one does not.
    Resolved,
}

impl ItemChange {
    /// Returns the word for the change.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Unchanged => "unchanged",
            Self::Resolved => "resolved",
        }
    }
}

/// An item of a report: one finding (000 §2.14 `report_item_id`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportItem {
    /// Id of the item.
    pub report_item_id: ReportItemId,
    /// How it compares with the previous occurrence.
    pub change: ItemChange,
    /// The finding.
    pub finding_id: FindingId,
    /// Rule that produced it.
    pub rule_id: RuleId,
    /// Skill that contains the rule.
    pub skill_id: SkillId,
    /// Its severity.
    pub severity: Severity,
    /// Type of the resource.
    pub resource_type: ShortText,
    /// Id of the resource in its own system.
    pub resource_id: Text,
    /// The evidence records that support it.
    pub evidence_ids: Vec<EvidenceId>,
}

/// The report of an occurrence: its items, new ones first, then unchanged and resolved ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleReport {
    /// Items.
    pub items: Vec<ReportItem>,
    /// Number of new findings.
    pub new: u64,
    /// Number of unchanged findings.
    pub unchanged: u64,
    /// Number of resolved findings.
    pub resolved: u64,
    /// Findings that are not among the items, because a report keeps `SCHEDULE_REPORT_ITEMS`.
    pub omitted: u64,
}

/// Compares the findings of an occurrence with the report of the previous one. `occurrence` is unique for it.
///
/// A finding is identified by its id, which its rule, its resource and its fields determine. One that occurs twice
/// counts once.
#[must_use]
pub fn compare(
    occurrence: &str,
    findings: &[Finding],
    previous: Option<&ScheduleReport>,
) -> ScheduleReport {
    let mut before: BTreeMap<&FindingId, &ReportItem> = BTreeMap::new();
    for item in previous.iter().flat_map(|report| &report.items) {
        if item.change != ItemChange::Resolved {
            before.insert(&item.finding_id, item);
        }
    }
    let mut known = BTreeSet::new();
    let distinct = findings.iter().filter(|one| known.insert(&one.finding_id));
    let distinct: Vec<&Finding> = distinct.collect();
    let (kept, omitted) = distinct.split_at(distinct.len().min(SCHEDULE_REPORT_ITEMS));
    let mut items: Vec<ReportItem> = Vec::new();
    for finding in kept {
        let change = match before.remove(&finding.finding_id) {
            Some(_) => ItemChange::Unchanged,
            None => ItemChange::New,
        };
        items.extend(item_of(occurrence, finding, change));
    }
    // A finding that an incomplete list does not contain may still exist.
    if omitted.is_empty() {
        items.extend(before.into_values().filter_map(|item| {
            Some(ReportItem {
                report_item_id: item_id(occurrence, &item.finding_id)?,
                change: ItemChange::Resolved,
                ..item.clone()
            })
        }));
    }
    items.sort_by_key(|item| (item.change, item.severity));
    let count = |change| items.iter().filter(|item| item.change == change).count() as u64;
    ScheduleReport {
        new: count(ItemChange::New),
        unchanged: count(ItemChange::Unchanged),
        resolved: count(ItemChange::Resolved),
        omitted: omitted.len() as u64,
        items,
    }
}

fn item_of(occurrence: &str, finding: &Finding, change: ItemChange) -> Option<ReportItem> {
    Some(ReportItem {
        report_item_id: item_id(occurrence, &finding.finding_id)?,
        change,
        finding_id: finding.finding_id.clone(),
        rule_id: finding.rule_id.clone(),
        skill_id: finding.skill_id.clone(),
        severity: finding.severity,
        resource_type: finding.resource_type.clone(),
        resource_id: finding.resource_id.clone(),
        evidence_ids: finding.evidence_ids.clone(),
    })
}

fn item_id(occurrence: &str, finding: &FindingId) -> Option<ReportItemId> {
    let digest = Sha256::digest(format!("{occurrence}/{finding}"));
    let hex: String = digest[..12].iter().map(|b| format!("{b:02x}")).collect();
    ReportItemId::parse(&format!("ri_{hex}")).ok()
}

/// Whether an item of a schedule's report matches the filter of a trigger: new, and within every condition.
#[must_use]
pub fn matches_trigger(
    filter: &FindingTrigger,
    schedule: &ScheduleId,
    domain: Option<&DomainId>,
    item: &ReportItem,
) -> bool {
    fn fits<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
        wanted.is_none() || wanted == found
    }
    // The most severe is the least in the order.
    let is_severe = filter
        .min_severity
        .is_none_or(|least| item.severity <= least);
    item.change == ItemChange::New
        && is_severe
        && fits(filter.domain.as_ref(), domain)
        && fits(filter.skill.as_ref(), Some(&item.skill_id))
        && fits(filter.rule.as_ref(), Some(&item.rule_id))
        && fits(filter.resource_type.as_ref(), Some(&item.resource_type))
        && fits(filter.schedule.as_ref(), Some(schedule))
}

/// Returns the path of the report of an occurrence on a server, without the first slash.
#[must_use]
pub fn report_path(schedule: &ScheduleId, occurrence: &str) -> String {
    let key = utf8_percent_encode(occurrence, NON_ALPHANUMERIC);
    format!("v1/schedules/{schedule}/occurrences/{key}/report")
}

impl ScheduleReport {
    /// Writes the report as Markdown. Texts of other systems are escaped.
    #[must_use]
    pub fn to_markdown(&self, title: &str, at: &str) -> String {
        let mut text = format!("# {}\n\n{at}: ", cell(title));
        let counts = format!(
            "{} new, {} unchanged, {} resolved",
            self.new, self.unchanged, self.resolved
        );
        text.push_str(&counts);
        if self.omitted > 0 {
            text.push_str(&format!("; {} more are not listed", self.omitted));
        }
        text.push_str(".\n");
        if self.items.is_empty() {
            return text;
        }
        text.push_str("\n| Change | Severity | Resource | Rule | Item | Evidence |\n|---|---|---|---|---|---|\n");
        for item in &self.items {
            let evidence: Vec<&str> = item.evidence_ids.iter().map(EvidenceId::as_str).collect();
            let row = [
                item.change.as_str().to_owned(),
                item.severity.to_string(),
                cell(&format!("{} {}", item.resource_type, item.resource_id)),
                cell(&format!("{} {}", item.skill_id, item.rule_id)),
                cell(item.report_item_id.as_str()),
                cell(&evidence.join(", ")),
            ];
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
        text
    }
}

/// Returns a text that is data in a Markdown table.
fn cell(text: &str) -> String {
    let mut safe = String::new();
    for character in text.chars().take(CELL) {
        match character {
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '#' | '!' | '~' => {
                safe.push('\\');
                safe.push(character);
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}
