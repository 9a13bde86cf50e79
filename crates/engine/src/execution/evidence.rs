//! Evidence: results of tools, decisions and submitted records, stored once and never changed (seed 000 §2.14).

mod decisions;
mod list;
mod pages;
mod submit;

use std::borrow::Cow;
use std::sync::Arc;

use charter_contract::bounds::EVIDENCE_ATTACHMENTS;
use charter_contract::catalogue::evidence::{
    Attachment, ConsoleLink, EvidenceRecord, EvidenceSchemaVersion, EvidenceSource, EvidenceType,
};
use charter_contract::catalogue::tool::{ConsolePage, Tool, ToolEvidence};
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, EvidenceRunId, Label, RunId, StepId, TenantId};
use charter_contract::json::{Profile, extent_of, text_length};
use charter_contract::text::{HttpsUrl, ShortText, Text};
use charter_contract::time::Timestamp;
use charter_domain::approval::Digest;
use charter_domain::clock::Clock;
use charter_domain::console_link;
use charter_store::{SharedStore, StoreError};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::list::redacted;
use crate::ground::confined::Computations;
use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;
use crate::{Caller, EngineError, Role};

pub use list::{EvidenceEntry, EvidencePage, EvidenceQuery};
pub(crate) use list::{check_range, withheld};
pub(crate) use pages::EvidencePages;

/// Maximum size of a tool's output, and of its arguments, that a record holds whole, in bytes of JSON. For a value that
/// is larger, nested too deeply or too large in memory, it holds the digest.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// Maximum attachments of one record, at its capture and later.
const MAX_ATTACHMENTS: usize = 5_000;

/// A tool result that becomes evidence.
#[derive(Debug)]
pub(crate) struct CapturedResult<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) step: &'a StepId,
    pub(crate) parameters: Option<&'a Map<String, Value>>,
    pub(crate) output: &'a Value,
    pub(crate) at: Timestamp,
}

/// The payload field with the fault of the tool's declaration.
pub(crate) const FAULT: &str = "fault";

/// The outcome for a tool result.
#[derive(Debug)]
pub(crate) enum EvidenceOutcome {
    /// A record.
    Recorded(Box<RecordedEvidence>),
    /// No record, because no page shows the original (B000-19), with the reason.
    Unshown(String),
}

/// A record, and the part of the tool's declaration that it lacks.
#[derive(Debug)]
pub(crate) struct RecordedEvidence {
    pub(crate) record: EvidenceRecord,
    /// Why it lacks the summary that the tool declares; also in its payload, as [`FAULT`].
    pub(crate) fault: Option<String>,
}

/// Derives the id of the record of a step's result.
pub(crate) fn id_of(run: &RunId, step: &StepId) -> EvidenceId {
    EvidenceId::derived(Uuid::new_v5(&run.uuid(), step.as_ref().as_bytes()))
}

impl CapturedResult<'_> {
    /// Builds the record. A tool that declares no evidence leaves the record of an API call.
    ///
    /// # Errors
    /// If the values of the tool's filters do not form a record: reported as the tool's fault.
    pub(crate) async fn record<'f>(
        &self,
        evidence: &EvidenceService,
        tenant: &TenantId,
        run: &RunId,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Result<EvidenceOutcome, EngineError> {
        let declared = match &self.tool.evidence {
            Some(declared) => Cow::Borrowed(declared),
            None => Cow::Owned(undeclared(self.tool, evidence.pages.of_run(run))),
        };
        let declared: &ToolEvidence = &declared;
        let source = self.source(evidence, tenant, declared).await?;
        let page = declared.console.as_ref();
        let link = match console_link::link(declared.evidence_type, &source, page) {
            Some(link) => link,
            None if self.tool.evidence.is_none() => {
                return Ok(EvidenceOutcome::Unshown(unshown(self.tool, &source)));
            }
            None => return Err(self.fault(&format!("no console shows `{}`", source.system))),
        };
        let summary = self.summary(evidence, tenant, declared).await?;
        let href = HttpsUrl::parse(&link.href).map_err(|error| self.fault(&error.to_string()))?;
        let label = Text::parse(&link.label).map_err(|error| self.fault(&error.to_string()))?;
        let attached = findings
            .take(EVIDENCE_ATTACHMENTS)
            .map(|finding| Attachment {
                finding_id: Some(finding.finding_id.clone()),
                ..Attachment::default()
            });
        let of_run = Attachment {
            run_id: EvidenceRunId::parse(run.as_ref()).ok(),
            ..Attachment::default()
        };
        let mut payload = self.payload();
        let (summary, fault) = match summary {
            Ok(summary) => (summary, None),
            Err(fault) => {
                payload.insert(FAULT.to_owned(), json!(fault));
                (self.plain_summary()?, Some(fault))
            }
        };
        let record = EvidenceRecord {
            id: id_of(run, self.step),
            schema_version: EvidenceSchemaVersion,
            created_at: Some(self.at),
            evidence_type: declared.evidence_type,
            captured_at: self.at,
            estate_view_id: None,
            source,
            console_links: vec![ConsoleLink { label, href }],
            payload,
            payload_absent: None,
            summary,
            attached_to: std::iter::once(of_run).chain(attached).collect(),
            tenant_id: tenant.clone(),
            redaction_class: declared
                .redaction_class
                .and_then(|class| Label::parse(class.as_str()).ok()),
            receipt: None,
        };
        Ok(EvidenceOutcome::Recorded(Box::new(RecordedEvidence {
            record,
            fault,
        })))
    }

    fn context(&self) -> Value {
        json!({"parameters": self.parameters, "output": self.output})
    }

    /// Evaluates the tool's filters; returns nothing if it declares none.
    async fn filtered(
        &self,
        evidence: &EvidenceService,
        tenant: &TenantId,
        declared: &ToolEvidence,
    ) -> Result<Value, EngineError> {
        let filters = [
            ("native_id", &declared.native_id),
            ("region", &declared.region),
            ("account_id", &declared.account_id),
        ];
        let fields: Vec<String> = filters
            .into_iter()
            .filter_map(|(field, filter)| {
                let filter = filter.as_ref()?;
                Some(format!("{field}: ([{filter}\n] | .[0])"))
            })
            .collect();
        if fields.is_empty() {
            return Ok(Value::Null);
        }
        let program = format!("{{{}}}", fields.join(", "));
        let what = format!("the evidence of the tool `{}`", self.tool.tool_id);
        let context = || self.context();
        let given = evidence
            .computations
            .filter(tenant, &what, &program, context, 1)
            .await?;
        Ok(given.into_iter().next().unwrap_or_default())
    }

    /// Builds the source from the values of the tool's filters; `null` counts as absent.
    async fn source(
        &self,
        evidence: &EvidenceService,
        tenant: &TenantId,
        declared: &ToolEvidence,
    ) -> Result<EvidenceSource, EngineError> {
        let given = self.filtered(evidence, tenant, declared).await?;
        let text = |field: &str| match given.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        let short = |field: &str| -> Result<Option<ShortText>, EngineError> {
            let parse = |text: String| {
                ShortText::parse(&text).map_err(|error| self.fault(&error.to_string()))
            };
            text(field).map(parse).transpose()
        };
        let native_id = text("native_id").unwrap_or_else(|| self.tool.tool_id.to_string());
        let region = match self.tool.evidence {
            Some(_) => short("region")?,
            None => self.given_region(),
        };
        Ok(EvidenceSource {
            system: declared.system.clone(),
            region,
            account_id: short("account_id")?,
            tenant_id: None,
            native_id: Text::parse(&native_id).map_err(|error| self.fault(&error.to_string()))?,
            api_call: ShortText::parse(self.tool.name.as_ref()).ok(),
        })
    }

    /// Returns the region of the call, if a parameter names it.
    fn given_region(&self) -> Option<ShortText> {
        let region = self.parameters?.get("region")?.as_str()?;
        ShortText::parse(region).ok()
    }

    fn payload(&self) -> Map<String, Value> {
        let mut payload = Map::new();
        payload.insert("tool_id".to_owned(), json!(self.tool.tool_id));
        let parameters = json!(self.parameters);
        if is_held_whole(&parameters) {
            payload.insert("parameters".to_owned(), parameters);
        } else {
            payload.insert("parameters_sha256".to_owned(), json!(sha256(&parameters)));
        }
        payload.insert("output_sha256".to_owned(), json!(sha256(self.output)));
        if is_held_whole(self.output) {
            payload.insert("output".to_owned(), self.output.clone());
        }
        payload
    }

    /// Returns the summary that the tool declares, or why it is not available.
    async fn summary(
        &self,
        evidence: &EvidenceService,
        tenant: &TenantId,
        declared: &ToolEvidence,
    ) -> Result<Result<Text, String>, EngineError> {
        let Some(summary) = &declared.summary else {
            return Ok(Ok(self.plain_summary()?));
        };
        let mut values = self.context();
        values["count"] = json!(self.output.as_array().map(Vec::len));
        values["tool_id"] = json!(self.tool.tool_id);
        let values = values.as_object_mut().map(std::mem::take);
        let what = format!("the evidence of the tool `{}`", self.tool.tool_id);
        let structure = Value::String(summary.to_string());
        let filled = evidence
            .computations
            .fill_in(tenant, &what, &structure, values.unwrap_or_default())
            .await?;
        Ok(filled.and_then(|filled| {
            let text = match filled {
                Value::String(text) => text,
                other => other.to_string(),
            };
            Text::parse(&text).map_err(|error| format!("{what}: {error}"))
        }))
    }

    /// Returns the summary of a tool that declares none.
    fn plain_summary(&self) -> Result<Text, EngineError> {
        let summary = format!("`{}` answered.", self.tool.tool_id);
        Text::parse(&summary).map_err(|error| self.fault(&error.to_string()))
    }

    fn fault(&self, detail: &str) -> EngineError {
        let message = format!("the evidence of the tool `{}`: {detail}", self.tool.tool_id);
        EngineError::new(ErrorCode::ToolFailed, message)
    }
}

/// The evidence of a tool that declares none: the call, in the console of its service or on the run's page.
fn undeclared(tool: &Tool, page: Option<ConsolePage>) -> ToolEvidence {
    ToolEvidence {
        evidence_type: EvidenceType::ApiCall,
        system: system_of(tool),
        console: page,
        native_id: None,
        region: None,
        account_id: None,
        summary: None,
        redaction_class: None,
    }
}

/// Returns `aws.ec2` for a tool of the service `ec2` of `aws`.
fn system_of(tool: &Tool) -> Label {
    let service = tool.service.as_ref();
    let both = service.map(|service| format!("{}.{service}", tool.provider));
    let both = both.and_then(|both| Label::parse(&both).ok());
    both.unwrap_or_else(|| tool.provider.clone())
}

fn unshown(tool: &Tool, source: &EvidenceSource) -> String {
    format!(
        "the result of `{}` left no evidence, because no page shows `{}`: declare `evidence` with a `console` in the \
         tool, or set `a2a.public_url` to an https address",
        tool.tool_id, source.system
    )
}

/// Returns whether a record holds a value whole. Older versions accepted values that nest too deeply to be stored in
/// one.
fn is_held_whole(value: &Value) -> bool {
    extent_of(value, Profile::EVIDENCE).is_ok() && text_length(value) <= MAX_PAYLOAD
}

/// Returns the digest of a value's canonical text, in hexadecimal digits.
fn sha256(value: &Value) -> String {
    let digest = Digest::from_json(value);
    let digits = digest.as_str();
    digits.strip_prefix("sha256:").unwrap_or(digits).to_owned()
}

/// The evidence of all tenants.
pub struct EvidenceService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    computations: Arc<Computations>,
    pages: EvidencePages,
}

impl std::fmt::Debug for EvidenceService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EvidenceService").finish_non_exhaustive()
    }
}

impl EvidenceService {
    pub(crate) fn new(
        ports: CorePorts,
        computations: Arc<Computations>,
        pages: EvidencePages,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            computations,
            pages,
        }
    }

    /// Returns whether the result of a tool leaves evidence.
    pub(crate) fn is_shown(&self, tool: &Tool) -> bool {
        let is_known = || console_link::is_known(system_of(tool).as_str());
        !tool.is_internal() && (tool.evidence.is_some() || self.pages.has_own() || is_known())
    }

    /// Stores records that are not stored yet. Their ids follow from their subjects.
    pub(crate) async fn keep(
        &self,
        tenant: &TenantId,
        records: &[EvidenceRecord],
    ) -> Result<(), EngineError> {
        if records.is_empty() {
            return Ok(());
        }
        match self.store.put_evidence(tenant, records).await {
            Err(StoreError::AlreadyExists { .. }) => {}
            done => return Ok(done?),
        }
        for record in records {
            let record = std::slice::from_ref(record);
            match self.store.put_evidence(tenant, record).await {
                Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns one record with all its attachments.
    ///
    /// # Errors
    /// `not_found`, also for one that is not visible to the caller.
    pub async fn get(
        &self,
        caller: &Caller,
        id: &EvidenceId,
    ) -> Result<EvidenceRecord, EngineError> {
        self.must_see(caller, id).await?;
        let found = self.store.evidence(&caller.tenant, id).await?;
        match found {
            Some(record) => redacted(caller, record),
            None => Err(self.no_record(caller, id).await?),
        }
    }

    /// Checks that a record is visible to the caller: to the user whose run captured it or who submitted it, and to
    /// operators.
    pub(crate) async fn must_see(
        &self,
        caller: &Caller,
        id: &EvidenceId,
    ) -> Result<(), EngineError> {
        if caller.only_own().is_none() {
            return Ok(());
        }
        let owner = self.store.evidence_user(&caller.tenant, id).await?;
        match caller.sees(owner.as_ref()) {
            true => Ok(()),
            false => Err(self.no_record(caller, id).await?),
        }
    }

    /// Attaches a record to a further object, by a separate link record in the evidence log (ruling 17). A repeat
    /// changes nothing.
    ///
    /// # Errors
    /// `permission_denied` for callers below operator; `not_found`, also for another tenant's; `too_large` for a record
    /// with too many attachments.
    pub async fn attach(
        &self,
        caller: &Caller,
        id: &EvidenceId,
        attachment: &Attachment,
    ) -> Result<EvidenceRecord, EngineError> {
        caller.must_be(Role::Operator, "only operators can attach evidence")?;
        let record = self.get(caller, id).await?;
        let known = record.attached_to.contains(attachment);
        if !known && record.attached_to.len() >= MAX_ATTACHMENTS {
            let message = format!("the record `{id}` has {MAX_ATTACHMENTS} attachments, the limit");
            return Err(EngineError::new(ErrorCode::TooLarge, message));
        }
        let attached = self
            .store
            .attach_evidence(&caller.tenant, id, attachment, self.clock.now());
        attached.await?;
        self.get(caller, id).await
    }
}

#[cfg(test)]
pub(super) mod tests;
