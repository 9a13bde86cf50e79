//! The content of messages, read when they are sent: the present state counts. Foreign text is data: channels bound and
//! escape it.

use charter_contract::ids::{ApprovalId, Label, RunId, TenantId};
use charter_contract::json::decode_stored;
use charter_contract::notification::NotificationTopic;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, ApprovalStatus};
use charter_domain::graph::PlanSource;
use charter_domain::run::{RunOutcome, StopCause};
use charter_effects::channel::{ApprovalButton, MessageContent};
use charter_store::journal::RunRecord;
use charter_store::notification::{ClaimedMessage, NotificationRecord};
use serde_json::{Value, json};

use super::NotificationService;
use super::collect::Subject;
use super::confirmation::about_confirmation;
use crate::{Caller, EngineError};

/// The content of a message, or why there is none.
pub(super) enum Rendered {
    Message(Box<MessageContent>),
    /// The event is out of date.
    OutOfDate(String),
    /// Its stored body is damaged.
    Unreadable(String),
}

impl Rendered {
    fn out_of_date(why: impl Into<String>) -> Self {
        Self::OutOfDate(why.into())
    }
}

impl NotificationService {
    /// Returns the content of a claimed message.
    pub(super) async fn content(
        &self,
        message: &ClaimedMessage,
        now: Timestamp,
    ) -> Result<Rendered, EngineError> {
        let Some(first) = message.notifications.first() else {
            return Ok(Rendered::Unreadable("it has no notification".to_owned()));
        };
        let mut findings = Vec::new();
        for one in &message.notifications {
            match decode_stored::<Subject>(&one.notification.body) {
                Ok(Subject::Findings(found)) => findings.push(found),
                Ok(subject) => return self.single(message, first, subject, now).await,
                Err(error) => return Ok(Rendered::Unreadable(error.to_string())),
            }
        }
        let event = (first.notification.topic, first.notification.created_at);
        let content = self.about_findings(&message.tenant_id, event, &findings);
        Ok(Rendered::Message(Box::new(content.await?)))
    }

    async fn single(
        &self,
        message: &ClaimedMessage,
        record: &NotificationRecord,
        subject: Subject,
        now: Timestamp,
    ) -> Result<Rendered, EngineError> {
        let tenant = &message.tenant_id;
        let (topic, at) = (record.notification.topic, record.notification.created_at);
        match subject {
            Subject::Approval { approval_id, .. } => {
                let place = (tenant, &message.channel);
                self.approval(place, &approval_id, (topic, at), now).await
            }
            Subject::Run { run_id } => self.run(tenant, &run_id, (topic, at)).await,
            Subject::Mission { run_id } => self.mission(tenant, &run_id, at).await,
            Subject::Confirmation { run_id } => self.confirmation(tenant, &run_id, at).await,
            Subject::Findings(found) => {
                let found = [found];
                let content = self.about_findings(tenant, (topic, at), &found);
                Ok(Rendered::Message(Box::new(content.await?)))
            }
        }
    }

    async fn approval(
        &self,
        (tenant, channel): (&TenantId, &Label),
        approval_id: &ApprovalId,
        (topic, at): (NotificationTopic, Timestamp),
        now: Timestamp,
    ) -> Result<Rendered, EngineError> {
        let Some(found) = self.ports.store.approval(tenant, approval_id).await? else {
            return Ok(Rendered::out_of_date("the approval no longer exists"));
        };
        let approval: Approval = match decode_stored(&found.record.body) {
            Ok(approval) => approval,
            Err(error) => return Ok(Rendered::Unreadable(error.to_string())),
        };
        if approval.state != ApprovalStatus::Pending {
            let why = format!("the approval was {} already", approval.state.word());
            return Ok(Rendered::OutOfDate(why));
        }
        if now >= approval.expires_at {
            return Ok(Rendered::out_of_date("the approval has expired"));
        }
        let settings = self.parts.settings.channel(tenant, channel);
        let decides =
            settings.is_some_and(|settings| settings.slack.is_some()) && !approval.destructive;
        let decision = decides.then(|| ApprovalButton {
            channel: channel.clone(),
            approval: approval_id.clone(),
            digest: approval.digest.to_string(),
        });
        let link = self.link(&format!("approvals/{approval_id}"));
        let group = approval.escalation.group(now);
        let content = about_approval(&approval, &found.run_title, (topic, at), group, link);
        let content = MessageContent {
            decision,
            ..content
        };
        Ok(Rendered::Message(Box::new(content)))
    }

    async fn run(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        (topic, at): (NotificationTopic, Timestamp),
    ) -> Result<Rendered, EngineError> {
        let Some(record) = self.ports.store.run(tenant, run_id).await? else {
            return Ok(Rendered::out_of_date("the run no longer exists"));
        };
        let cause = if topic == NotificationTopic::RunFailed {
            self.cause(tenant, run_id).await
        } else {
            None
        };
        let status = record.status.in_words();
        let link = self.link(&format!("runs/{run_id}"));
        let title = format!("Run {status}: {}", record.title);
        let mut facts = vec![("Run", run_id.to_string()), ("Status", status)];
        if let Some(user) = &record.user_id {
            facts.push(("Started by", user.to_string()));
        }
        let data = json!({
            "run_id": run_id, "status": record.status, "run_title": record.title,
            "started_by": record.user_id, "cause": cause, "summary": title, "link": link,
        });
        Ok(Rendered::Message(Box::new(MessageContent {
            topic: topic.as_str().to_owned(),
            at,
            title,
            paragraphs: cause.into_iter().collect(),
            facts,
            call: None,
            link,
            decision: None,
            data,
        })))
    }

    /// Returns why a run failed. A journal that cannot be read leaves the message without a cause.
    async fn cause(&self, tenant: &TenantId, run_id: &RunId) -> Option<String> {
        let folded = self.parts.journals.fold(tenant, run_id).await.ok()?;
        let cause = match folded.run.outcome()? {
            RunOutcome::Failed { cause }
            | RunOutcome::RolledBack { cause }
            | RunOutcome::RollbackFailed { cause, .. } => cause,
            RunOutcome::Completed { missing_evidence } => {
                let missing: Vec<&str> = missing_evidence.iter().map(Label::as_str).collect();
                return Some(format!(
                    "Required evidence is missing: {}",
                    missing.join(", ")
                ));
            }
        };
        match cause {
            StopCause::Failure { step, failure } => Some(format!(
                "Step {step}: {} ({})",
                failure.message, failure.code
            )),
            StopCause::Aborted { .. } | StopCause::TimedOut | StopCause::TokenBudgetExhausted => {
                None
            }
        }
    }

    /// Returns a run that waits for a person with this status, or why it does not.
    async fn waiting(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        status: RunStatus,
    ) -> Result<Result<RunRecord, String>, EngineError> {
        let Some(record) = self.ports.store.run(tenant, run_id).await? else {
            return Ok(Err("the run no longer exists".to_owned()));
        };
        if record.status != status {
            return Ok(Err(format!("the run is {}", record.status.in_words())));
        }
        Ok(Ok(record))
    }

    async fn confirmation(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        at: Timestamp,
    ) -> Result<Rendered, EngineError> {
        let waiting = self.waiting(tenant, run_id, RunStatus::AwaitingConfirmation);
        let record = match waiting.await? {
            Ok(record) => record,
            Err(why) => return Ok(Rendered::OutOfDate(why)),
        };
        let folded = self.parts.journals.fold(tenant, run_id).await?;
        let link = self.link(&format!("runs/{run_id}"));
        let content = about_confirmation(&record, &folded.run, at, link);
        Ok(Rendered::Message(Box::new(content)))
    }

    async fn mission(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        at: Timestamp,
    ) -> Result<Rendered, EngineError> {
        let waiting = self.waiting(tenant, run_id, RunStatus::AwaitingApproval);
        let record = match waiting.await? {
            Ok(record) => record,
            Err(why) => return Ok(Rendered::OutOfDate(why)),
        };
        let folded = self.parts.journals.fold(tenant, run_id).await?;
        let mission = match folded.run.graph().source() {
            Some(PlanSource::Mission(mission)) => mission.to_string(),
            Some(_) | None => return Ok(Rendered::out_of_date("the run is no mission")),
        };
        let link = self.link(&format!("missions/{mission}"));
        let title = format!("Waits for approval: {}", record.title);
        let topic = NotificationTopic::MissionAwaitingApproval;
        let data = json!({
            "mission_id": mission, "run_id": run_id, "run_title": record.title, "summary": title, "link": link,
        });
        Ok(Rendered::Message(Box::new(MessageContent {
            topic: topic.as_str().to_owned(),
            at,
            title,
            paragraphs: Vec::new(),
            facts: vec![("Mission", mission)],
            call: None,
            link,
            decision: None,
            data,
        })))
    }

    /// Returns the content of a test message.
    pub(super) fn test_content(
        &self,
        caller: &Caller,
        channel: &Label,
        at: Timestamp,
    ) -> MessageContent {
        let title = "Test message from Charter".to_owned();
        let link = self.link("");
        let by = caller.user.to_string();
        MessageContent {
            topic: "notification.test".to_owned(),
            at,
            paragraphs: vec![format!("The channel {channel} works.")],
            facts: vec![("Sent by", by.clone())],
            call: None,
            decision: None,
            data: json!({"channel": channel, "sent_by": by, "summary": title, "link": link}),
            title,
            link,
        }
    }
}

fn about_approval(
    approval: &Approval,
    run_title: &str,
    (topic, at): (NotificationTopic, Timestamp),
    group: Option<&Label>,
    link: Option<String>,
) -> MessageContent {
    let tool = &approval.call.tool;
    let calls = calls_of(approval);
    let named = match calls.len() {
        1 => tool.to_string(),
        count => format!("{count} calls, {tool} first"),
    };
    let title = match topic {
        NotificationTopic::ApprovalExpiring => format!("Approval expires soon: {named}"),
        NotificationTopic::ApprovalEscalated => format!("Approval escalated: {named}"),
        _ => format!("Approval requested: {named}"),
    };
    let reasons = approval.rules.iter().map(|rule| rule.message.clone());
    let mut facts = vec![
        ("Run", run_title.to_owned()),
        ("Requested by", approval.requested_by.to_string()),
        ("Expires", approval.expires_at.to_string()),
    ];
    if let Some(group) = group {
        facts.push(("Group", group.to_string()));
    }
    if approval.four_eyes {
        facts.push(("Approver", "a person who did not request it".to_owned()));
    }
    MessageContent {
        topic: topic.as_str().to_owned(),
        at,
        paragraphs: reasons.collect(),
        facts,
        call: Some(shown_calls(&calls)),
        decision: None,
        data: json!({
            "approval_id": approval.approval_id, "run_id": approval.call.run_id, "run_title": run_title,
            "calls": calls, "digest": approval.digest,
            "rules": approval.rules, "requested_by": approval.requested_by,
            "requested_at": approval.requested_at, "expires_at": approval.expires_at,
            "four_eyes": approval.four_eyes, "group": group, "summary": title, "link": link,
        }),
        title,
        link,
    }
}

/// Returns every call that an approval is for, with its tool and parameters.
fn calls_of(approval: &Approval) -> Vec<Value> {
    let calls = approval.calls().iter();
    let calls = calls.map(|call| json!({"tool": call.tool, "parameters": call.parameters}));
    calls.collect()
}

fn shown_calls(calls: &[Value]) -> String {
    let lines = calls.iter().map(|call| {
        let tool = call["tool"].as_str().unwrap_or_default();
        match calls.len() {
            1 => format!("{tool} {:#}", call["parameters"]),
            _ => format!("{tool} {}", call["parameters"]),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
