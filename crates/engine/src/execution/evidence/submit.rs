//! Evidence that callers submit: people and collectors. Id, links, tenant and receipt are the server's; links come from
//! the functions of the cloud consoles, the pages that the operator declares, and Charter's own page for a note.

use std::time::Duration;

use charter_contract::catalogue::evidence::{
    Attachment, ConsoleLink, EvidenceReceipt, EvidenceRecord, EvidenceSource, EvidenceType,
};
use charter_contract::catalogue::evidence_submission::EvidenceSubmission;
use charter_contract::catalogue::tool::ConsolePage;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{EvidenceId, IdError, Label, RunId};
use charter_contract::schema::SchemaName;
use charter_contract::text::{HttpsUrl, Text};
use charter_contract::time::Timestamp;
use charter_contract::violation::Report;
use charter_domain::console_link;
use serde_json::{Value, json};

use super::list::redacted;
use super::{EvidenceService, MAX_PAYLOAD, is_held_whole};
use crate::ground::moments;
use crate::{Caller, EngineError, Role};

/// The system of notes that name none.
const NOTES: &str = "charter.notes";

/// How far a collector's clock may be ahead of this server's.
const CLOCK_SKEW: Duration = Duration::from_secs(300);

impl EvidenceService {
    /// Stores a submitted record, with its leaf in the evidence log, and returns it as the caller may read it.
    ///
    /// # Errors
    /// `invalid_document` with every violation, and for a source that no page shows; `already_exists` for an id that
    /// was used before; `too_large` for the payload; `not_found` for a run that is not visible to the caller;
    /// `permission_denied` for other attachments by callers below operator.
    pub async fn submit(
        &self,
        caller: &Caller,
        sent: EvidenceSubmission,
    ) -> Result<EvidenceRecord, EngineError> {
        let now = self.clock.now();
        must_be_valid(caller, &sent, now)?;
        self.must_attach(caller, &sent.attached_to).await?;
        let record = self.received(caller, sent, now)?;
        let records = std::slice::from_ref(&record);
        self.store.put_evidence(&caller.tenant, records).await?;
        redacted(caller, record)
    }

    /// Checks that the caller may attach evidence to these: below operator, to its own runs only.
    async fn must_attach(
        &self,
        caller: &Caller,
        attached_to: &[Attachment],
    ) -> Result<(), EngineError> {
        if caller.only_own().is_none() {
            return Ok(());
        }
        for attachment in attached_to {
            let Some(given) = &attachment.run_id else {
                let rule = "users can attach evidence to their own runs only; an operator can attach it to anything";
                caller.must_be(Role::Operator, rule)?;
                continue;
            };
            let run = match RunId::parse(given.as_str()) {
                Ok(run) => self.store.run(&caller.tenant, &run).await?,
                Err(_) => None,
            };
            if !run.is_some_and(|run| caller.sees(run.user_id.as_ref())) {
                return Err(EngineError::not_found("run", given));
            }
        }
        Ok(())
    }

    /// Builds the record of a valid submission.
    fn received(
        &self,
        caller: &Caller,
        sent: EvidenceSubmission,
        now: Timestamp,
    ) -> Result<EvidenceRecord, EngineError> {
        let given = sent.given_id().cloned();
        let id = given.unwrap_or_else(|| EvidenceId::from_uuid(self.ids.uuid()));
        let source = match sent.source {
            Some(source) => source,
            None => note_source(&id)
                .map_err(|error| EngineError::internal("naming the source of a note", error))?,
        };
        Ok(EvidenceRecord {
            console_links: self.links(&id, sent.evidence_type, &source)?,
            id,
            schema_version: sent.schema_version,
            created_at: Some(now),
            evidence_type: sent.evidence_type,
            captured_at: sent.captured_at,
            estate_view_id: sent.estate_view_id,
            source,
            payload: sent.payload.unwrap_or_default(),
            payload_absent: None,
            summary: sent.summary,
            attached_to: sent.attached_to,
            tenant_id: caller.tenant.clone(),
            redaction_class: sent.redaction_class,
            receipt: Some(EvidenceReceipt {
                received_at: now,
                submitted_by: caller.user.clone(),
            }),
        })
    }

    /// Returns the links of a submitted record: of a note, its own page; then the page of its source.
    fn links(
        &self,
        id: &EvidenceId,
        kind: EvidenceType,
        source: &EvidenceSource,
    ) -> Result<Vec<ConsoleLink>, EngineError> {
        let mut links = Vec::new();
        if kind == EvidenceType::ManualNote
            && let Some(page) = self.pages.of_record(id)
        {
            links.push(link_to(&page)?);
        }
        let declared = self.pages.of_system(&source.system);
        if let Some(link) = console_link::link(kind, source, declared) {
            links.push(console_link_of(&link)?);
        }
        if links.is_empty() {
            return Err(unshown(kind, &source.system));
        }
        Ok(links)
    }
}

/// Returns the source of a note that names none: the note itself.
fn note_source(id: &EvidenceId) -> Result<EvidenceSource, IdError> {
    Ok(EvidenceSource {
        system: Label::parse(NOTES)?,
        region: None,
        account_id: None,
        tenant_id: None,
        native_id: Text::parse(id.as_str())?,
        api_call: None,
    })
}

/// Returns the link to a page of Charter, whose address has no placeholder.
pub(super) fn link_to(page: &ConsolePage) -> Result<ConsoleLink, EngineError> {
    let href = HttpsUrl::parse(page.href.as_str())
        .map_err(|error| EngineError::internal("linking to a page of Charter", error))?;
    Ok(ConsoleLink {
        label: page.label.clone(),
        href,
    })
}

fn console_link_of(link: &console_link::Link) -> Result<ConsoleLink, EngineError> {
    let made = |error: IdError| EngineError::internal("making a console link", error);
    Ok(ConsoleLink {
        label: Text::parse(&link.label).map_err(made)?,
        href: HttpsUrl::parse(&link.href).map_err(made)?,
    })
}

/// The error for a record that no page shows (B000-19).
fn unshown(kind: EvidenceType, system: &Label) -> EngineError {
    let message = if kind == EvidenceType::ManualNote {
        "no page shows the note: an operator must set `a2a.public_url` to the https address of this server".to_owned()
    } else {
        format!(
            "no page shows records of `{system}`: an operator must declare one in the configuration, as \
             `evidence.pages.\"{system}\"` with `label` and `href`"
        )
    };
    let details = json!({"system": system, "type": kind});
    EngineError::new(ErrorCode::InvalidDocument, message).with_details(details)
}

/// Checks a submission against its caller and the time of its receipt.
fn must_be_valid(
    caller: &Caller,
    sent: &EvidenceSubmission,
    now: Timestamp,
) -> Result<(), EngineError> {
    let mut report = Report::new();
    sent.check(&mut report);
    if let Some(tenant) = &sent.tenant_id
        && *tenant != caller.tenant
    {
        let message = "the credential belongs to another tenant: omit the field, or use that tenant's credential";
        report.meaning("/tenant_id", "other_tenant", message.to_owned());
    }
    if sent.captured_at > moments::after(now, CLOCK_SKEW) {
        let message = format!(
            "{} is in the future; the server has {now}",
            sent.captured_at
        );
        report.meaning("/captured_at", "range", message);
    }
    if !report.violations.is_empty() {
        let name = SchemaName::Evidence.as_str();
        return Err(EngineError::violations(name, &report.violations));
    }
    let payload = sent.payload.clone().map(Value::Object);
    if payload.is_none_or(|payload| is_held_whole(&payload)) {
        return Ok(());
    }
    let message = format!(
        "the payload is larger than {MAX_PAYLOAD} bytes, 64 levels or 8 MiB in memory: submit a part of it, or its \
         digest and where it is kept"
    );
    let details = json!({"limit_bytes": MAX_PAYLOAD});
    Err(EngineError::new(ErrorCode::TooLarge, message).with_details(details))
}

#[cfg(test)]
mod tests;
