//! The message about findings that are new or resolved. It names the most severe ones, and has the number of the
//! others.

use charter_contract::ids::TenantId;
use charter_contract::json::decode_stored;
use charter_contract::notification::NotificationTopic;
use charter_contract::time::Timestamp;
use charter_domain::schedule::{ItemChange, ReportItem, ScheduleReport, report_path};
use charter_effects::channel::MessageContent;
use serde_json::{Value, json};

use super::NotificationService;
use crate::EngineError;
use crate::execution::events::FindingEventRef;

/// Findings that a message names.
const NAMED_FINDINGS: usize = 10;

/// Occurrences that a message lists.
const LISTED_OCCURRENCES: usize = 50;

/// The changed findings of an occurrence.
#[derive(Default)]
struct OccurrenceFindings {
    /// The most severe ones.
    items: Vec<ReportItem>,
    /// The console's page of the occurrence's work.
    page: Option<String>,
}

impl NotificationService {
    /// Returns one message for the findings of one or several occurrences.
    pub(super) async fn about_findings(
        &self,
        tenant: &TenantId,
        (topic, at): (NotificationTopic, Timestamp),
        events: &[FindingEventRef],
    ) -> Result<MessageContent, EngineError> {
        let change = match topic == NotificationTopic::FindingResolved {
            true => ItemChange::Resolved,
            false => ItemChange::New,
        };
        let mut named: Vec<(&FindingEventRef, ReportItem)> = Vec::new();
        let mut pages: Vec<String> = Vec::new();
        for event in events {
            let found = self.findings_of(tenant, event, change).await?;
            named.extend(found.items.into_iter().map(|item| (event, item)));
            pages.extend(found.page);
        }
        named.sort_by_key(|(_, item)| item.severity);
        named.truncate(NAMED_FINDINGS);
        let count: u64 = events.iter().map(|event| event.count).sum();
        let omitted = count.saturating_sub(named.len() as u64);
        let title = match count {
            1 => format!("1 {} finding", change.as_str()),
            count => format!("{count} {} findings", change.as_str()),
        };
        // A digest of several occurrences has no page of its own.
        let (report, page) = match events {
            [event] => (
                self.address(&report_path(&event.schedule_id, &event.occurrence)),
                pages.first().map_or("", String::as_str),
            ),
            _ => (None, ""),
        };
        let link = self.link(page);
        let items = named.iter().map(|(event, item)| described(event, item));
        let items: Vec<Value> = items.collect();
        Ok(MessageContent {
            topic: topic.as_str().to_owned(),
            at,
            paragraphs: paragraphs(&named, omitted, events, change),
            facts: report
                .clone()
                .map(|report| ("Report", report))
                .into_iter()
                .collect(),
            call: None,
            decision: None,
            data: json!({
                "findings": events, "count": count, "items": items, "omitted": omitted, "report": report,
                "summary": title, "link": link,
            }),
            title,
            link,
        })
    }

    /// Returns the changed findings of an occurrence; none if its report no longer exists.
    async fn findings_of(
        &self,
        tenant: &TenantId,
        event: &FindingEventRef,
        change: ItemChange,
    ) -> Result<OccurrenceFindings, EngineError> {
        let store = &self.ports.store;
        let found = store.occurrence(tenant, &event.schedule_id, &event.occurrence);
        let Some(found) = found.await? else {
            return Ok(OccurrenceFindings::default());
        };
        let report = found.report.as_deref().map(decode_stored::<ScheduleReport>);
        let report = report.and_then(Result::ok).unwrap_or_default();
        let items = report.items.into_iter();
        let items = items.filter(|item| item.change == change);
        Ok(OccurrenceFindings {
            items: items.take(NAMED_FINDINGS).collect(),
            page: found.work.as_deref().and_then(page_of),
        })
    }
}

/// Returns the console's page of the work that an occurrence started.
fn page_of(work: &str) -> Option<String> {
    let work: Value = decode_stored(work).ok()?;
    let pages = [
        ("request", "requests"),
        ("run", "runs"),
        ("mission", "missions"),
    ];
    pages.into_iter().find_map(|(kind, page)| {
        let id = work.get(kind)?.as_str()?;
        Some(format!("{page}/{id}"))
    })
}

/// Returns the lines of a message: the named findings, the number of the others, and the occurrences.
fn paragraphs(
    named: &[(&FindingEventRef, ReportItem)],
    omitted: u64,
    events: &[FindingEventRef],
    change: ItemChange,
) -> Vec<String> {
    let findings = named.iter().map(|(_, item)| {
        let (severity, rule) = (item.severity, &item.rule_id);
        format!(
            "{severity} {rule}: {} {}",
            item.resource_type, item.resource_id
        )
    });
    let mut lines: Vec<String> = findings.collect();
    if omitted > 0 && !named.is_empty() {
        lines.push(format!("{omitted} more findings are not listed here."));
    }
    lines.extend(events.iter().take(LISTED_OCCURRENCES).map(|event| {
        let domain = event.domain.as_ref().map_or("", |domain| domain.as_str());
        let (schedule, severity) = (&event.schedule_id, event.severity);
        format!(
            "{schedule} {domain}: {} {}, up to {severity} ({})",
            event.count,
            change.as_str(),
            event.occurrence
        )
    }));
    let more = events.len().saturating_sub(LISTED_OCCURRENCES);
    if more > 0 {
        lines.push(format!(
            "{more} more runs of schedules are not listed here."
        ));
    }
    lines
}

/// Returns a named finding for programs.
fn described(event: &FindingEventRef, item: &ReportItem) -> Value {
    json!({
        "schedule_id": event.schedule_id, "occurrence": event.occurrence, "report_item_id": item.report_item_id,
        "severity": item.severity, "rule_id": item.rule_id, "resource_type": item.resource_type,
        "resource_id": item.resource_id,
    })
}
