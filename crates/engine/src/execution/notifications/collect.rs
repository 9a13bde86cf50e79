//! From events of the outbox to notifications for channels. Each event is read once, in its order, over all processes;
//! a notification's id follows from the event and the channel, so a repeat writes nothing.

use std::time::Duration;

use charter_contract::catalogue::policy::RunKind;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, Label, NotificationId, RunId, TenantId};
use charter_contract::json::{decode_stored, to_stored};
use charter_contract::notification::NotificationTopic;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::notification::{NotificationEvent, digest_end};
use charter_domain::run::RunEvent;
use charter_store::StoreError;
use charter_store::notification::NewNotification;
use charter_store::outbox::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::NotificationService;
use crate::EngineError;
use crate::execution::events::{ApprovalEventRef, FindingEventRef, RunEventRef};
use crate::ground::moments;

/// Messages of the outbox that are read at once.
const BATCH: usize = 200;

/// The subject of a notification: its stored body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub(super) enum Subject {
    Approval {
        approval_id: ApprovalId,
        run_id: RunId,
    },
    Run {
        run_id: RunId,
    },
    Confirmation {
        run_id: RunId,
    },
    Mission {
        run_id: RunId,
    },
    Findings(FindingEventRef),
}

/// An event that rules look at.
struct Occurrence {
    topic: NotificationTopic,
    /// Different for each event of the topic.
    key: String,
    subject: Subject,
    at: Timestamp,
    /// When it may be sent.
    due: Timestamp,
}

impl NotificationService {
    /// Writes the notifications of the next events; returns whether there may be more. The first call only sets the
    /// position: events before the first channel was configured are left out.
    pub(super) async fn collect(&self) -> Result<bool, EngineError> {
        let store = &self.ports.store;
        let Some(after) = store.notification_position().await? else {
            let last = store.last_message().await?;
            return settled(store.put_notifications(None, last, Vec::new()).await);
        };
        let messages = store.messages(after, BATCH).await?;
        let Some(last) = messages.last().map(|message| message.id) else {
            return Ok(false);
        };
        let mut new = Vec::new();
        for message in &messages {
            let noticed = self.notices(message, &mut new).await;
            let Err(error) = noticed else {
                continue;
            };
            if error.is_transient() {
                return Err(error);
            }
            // The events after it do not wait for an event that cannot be read.
            tracing::error!(
                event = message.id, topic = message.message.topic, error = %error,
                cause = ?std::error::Error::source(&error),
                "an event is left out: its notifications could not be made"
            );
        }
        settled(store.put_notifications(Some(after), last, new).await)
    }

    /// Adds the notifications of one event.
    async fn notices(
        &self,
        message: &Message,
        new: &mut Vec<NewNotification>,
    ) -> Result<(), EngineError> {
        let told = &message.message;
        let tenant = told.tenant.as_deref().map(TenantId::parse);
        let Some(Ok(tenant)) = tenant else {
            return Ok(());
        };
        if self.parts.settings.rules(&tenant).is_empty() {
            return Ok(());
        }
        for occurrence in self.occurrences(&tenant, message).await? {
            self.add(&tenant, &occurrence, new)?;
        }
        Ok(())
    }

    /// Returns what an event means. A newer replica may write events that this one does not know.
    async fn occurrences(
        &self,
        tenant: &TenantId,
        message: &Message,
    ) -> Result<Vec<Occurrence>, EngineError> {
        let payload: Value = decode_stored(&message.message.payload).unwrap_or_default();
        let at = message.message.at;
        match message.message.topic.as_str() {
            "approval.requested" => match ApprovalEventRef::deserialize(&payload) {
                Ok(said) => self.about_approval(tenant, said, at).await,
                Err(_) => Ok(Vec::new()),
            },
            "approval.escalated" => Ok(ApprovalEventRef::deserialize(&payload)
                .into_iter()
                .map(|said| Occurrence {
                    topic: NotificationTopic::ApprovalEscalated,
                    // Each turn is announced.
                    key: format!("{} {}", said.approval_id, message.id),
                    subject: Subject::Approval {
                        approval_id: said.approval_id,
                        run_id: said.run_id,
                    },
                    at,
                    due: at,
                })
                .collect()),
            "run.status" => match RunEventRef::deserialize(&payload) {
                Ok(said) => self.of_run(tenant, said, message).await,
                Err(_) => Ok(Vec::new()),
            },
            "finding.new" => Ok(of_findings(NotificationTopic::FindingNew, &payload, at)),
            "finding.resolved" => Ok(of_findings(
                NotificationTopic::FindingResolved,
                &payload,
                at,
            )),
            _ => Ok(Vec::new()),
        }
    }

    async fn about_approval(
        &self,
        tenant: &TenantId,
        said: ApprovalEventRef,
        at: Timestamp,
    ) -> Result<Vec<Occurrence>, EngineError> {
        let approval_id = said.approval_id;
        let Some(found) = self.ports.store.approval(tenant, &approval_id).await? else {
            return Ok(Vec::new());
        };
        let occurrence = |topic, due| Occurrence {
            topic,
            key: approval_id.to_string(),
            subject: Subject::Approval {
                approval_id: approval_id.clone(),
                run_id: said.run_id.clone(),
            },
            at,
            due,
        };
        let mut all = vec![occurrence(NotificationTopic::ApprovalRequested, at)];
        let expires = moments::before(found.record.expires_at, self.parts.settings.expiring);
        // An approval that lasts no longer than this is announced once.
        if expires > at {
            all.push(occurrence(NotificationTopic::ApprovalExpiring, expires));
        }
        Ok(all)
    }

    async fn of_run(
        &self,
        tenant: &TenantId,
        said: RunEventRef,
        message: &Message,
    ) -> Result<Vec<Occurrence>, EngineError> {
        let at = message.message.at;
        let run_id = said.run_id;
        let occurrence = |topic, key, subject| Occurrence {
            topic,
            key,
            subject,
            at,
            due: at,
        };
        let status = said.status;
        if status == RunStatus::AwaitingApproval {
            let is_mission = self.is_mission(tenant, &run_id).await?;
            // A mission may wait several times.
            let key = format!("{run_id} {}", message.id);
            let topic = NotificationTopic::MissionAwaitingApproval;
            let waits = is_mission.then(|| occurrence(topic, key, Subject::Mission { run_id }));
            return Ok(waits.into_iter().collect());
        }
        if status == RunStatus::AwaitingConfirmation {
            let key = run_id.to_string();
            let topic = NotificationTopic::ConfirmationRequested;
            let waits = occurrence(topic, key, Subject::Confirmation { run_id });
            return Ok(vec![waits]);
        }
        // The person who stopped the run knows that.
        if !status.is_final() || status == RunStatus::Aborted {
            return Ok(Vec::new());
        }
        let topic = match status == RunStatus::Completed {
            true => NotificationTopic::RunCompleted,
            false => NotificationTopic::RunFailed,
        };
        let key = run_id.to_string();
        Ok(vec![occurrence(topic, key, Subject::Run { run_id })])
    }

    /// Returns whether a run executes a mission. Its journal has the kind of what it executes from the first event on.
    async fn is_mission(&self, tenant: &TenantId, run: &RunId) -> Result<bool, EngineError> {
        let first = match self.parts.journals.first_event(tenant, run).await {
            // The run was removed meanwhile.
            Err(error) if error.code == ErrorCode::NotFound => return Ok(false),
            first => first?,
        };
        let Some(RunEvent::Started(started)) = first else {
            return Ok(false);
        };
        let source = started.graph.source();
        Ok(source.is_some_and(|source| source.kind() == RunKind::Mission))
    }

    /// Adds a notification for each channel that a rule names.
    fn add(
        &self,
        tenant: &TenantId,
        occurrence: &Occurrence,
        new: &mut Vec<NewNotification>,
    ) -> Result<(), EngineError> {
        let settings = &self.parts.settings;
        let event = match &occurrence.subject {
            Subject::Findings(found) => NotificationEvent {
                topic: occurrence.topic,
                severity: Some(found.severity),
                domain: found.domain.as_ref(),
            },
            Subject::Approval { .. }
            | Subject::Run { .. }
            | Subject::Confirmation { .. }
            | Subject::Mission { .. } => NotificationEvent::new(occurrence.topic),
        };
        for (channel, digest) in settings.channels_for(tenant, event) {
            // The configuration is checked at the start, but a tenant's own may lack a shared rule's channel.
            let Some(known) = settings.channel(tenant, channel) else {
                continue;
            };
            let due = digest.map_or(occurrence.due, |length| digest_end(occurrence.due, length));
            let quiet = known.quiet.as_ref();
            let due = quiet.map_or(due, |quiet| quiet.due(occurrence.topic, due));
            let body = to_stored(&occurrence.subject)
                .map_err(|error| EngineError::internal("writing a notification", error))?;
            new.push(NewNotification {
                notification_id: id(tenant, channel, occurrence),
                tenant_id: tenant.clone(),
                channel: channel.clone(),
                topic: occurrence.topic,
                digest: digest.map(|length| digest_name(occurrence.topic, length)),
                created_at: occurrence.at,
                due_at: due,
                body,
            });
        }
        Ok(())
    }
}

/// Returns what an event about changed findings means; nothing for an event of another form.
fn of_findings(topic: NotificationTopic, payload: &Value, at: Timestamp) -> Vec<Occurrence> {
    let found = FindingEventRef::deserialize(payload).into_iter();
    let occurrences = found.map(|found| Occurrence {
        topic,
        key: format!("{} {}", found.schedule_id, found.occurrence),
        subject: Subject::Findings(found),
        at,
        due: at,
    });
    occurrences.collect()
}

/// All findings of one topic and one length are one message.
fn digest_name(topic: NotificationTopic, length: Duration) -> String {
    format!("{topic} {} s", length.as_secs())
}

/// Returns the id of the notification of an event for a channel.
fn id(tenant: &TenantId, channel: &Label, occurrence: &Occurrence) -> NotificationId {
    let name = format!(
        "{tenant}\n{channel}\n{}\n{}",
        occurrence.topic, occurrence.key
    );
    NotificationId::from_uuid(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()))
}

/// Another process may have been faster; then there may be more to read.
fn settled(written: Result<(), StoreError>) -> Result<bool, EngineError> {
    match written {
        Ok(()) | Err(StoreError::Refused { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
