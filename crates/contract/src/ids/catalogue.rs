//! Ids of the catalogue, the missions and the link graph (seeds 000, 001 and 002): dotted names of one safe alphabet,
//! so that an id is also a safe file name and URL segment. They do not encode the kind of their target.

use uuid::Uuid;

use super::{MAX_ID_LENGTH, Shape};

const CATALOGUE: Shape = Shape::pattern(
    is_catalogue_id,
    "^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$",
    "1 to 200 letters, digits, `.`, `_` or `-`, starting with a letter or digit",
);

fn is_catalogue_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= MAX_ID_LENGTH
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| is_safe(*byte))
}

fn is_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

string_newtype! { CATALOGUE;
    /// Id of a document of any kind, stored with its kind.
    DocumentId,
    /// Id of a skill (000 §2.2) or of a node of the skill link graph (001), e.g. `security.detect_public_ingress`.
    SkillId,
    /// Id of a tool of the catalogue (000 §2.4), e.g. `aws.describe_security_groups`.
    ToolId,
    /// Id of a guardrail (000 §2.5).
    GuardrailId,
    /// Id of a domain lens (000 §2.6).
    LensId,
    /// Id of a template (000 §2.7).
    TemplateId,
    /// Id of a playbook (000 §2.8).
    PlaybookId,
    /// Id of an agent of the registry (000 §2.11), e.g. `domain.security.exposure`.
    AgentId,
    /// Id of a domain of the registry (000 §2.13), e.g. `security`.
    DomainId,
    /// Id of a policy (this project).
    PolicyId,
    /// Id of a mission type (002 §4 `mission_type`).
    MissionTypeId,
    /// Id of a prompt template (002 §6 `template_id`).
    PromptId,
    /// Id of a schedule or trigger (this project).
    ScheduleId,
    /// Id of a node of the domain expert graph (000 §2.12), e.g. `soc2.cc6.1`.
    GraphNodeId,
    /// Name of a package of documents (this project).
    PackageName,
    /// Id of a capability that skills share (000 §2.2 `capability_id`).
    CapabilityId,
    /// Id of a tenant.
    TenantId,
    /// Id of a user.
    UserId,
    /// Id of the actor of a mission (002 `actor_id`).
    ActorId,
    /// Id of a step of a skill's plan or of a playbook, e.g. `step_1`.
    StepId,
    /// Id of a script of a playbook, e.g. `step_2_rollback`.
    ScriptId,
    /// Id of a finding, e.g. `fnd_…` (this project's form: `<skill>.<rule>.<n>` is also allowed).
    FindingId,
    /// Id of a rule of a skill's analysis (this project).
    RuleId,
    /// Id of a report item that evidence is attached to (000 §2.14).
    ReportItemId,
    /// Id of a plan that evidence is attached to (000 §2.14).
    EvidencePlanId,
    /// Id of a bundle that evidence is attached to (000 §2.14).
    BundleId,
    /// Id of a run that evidence is attached to (000 §2.14).
    EvidenceRunId,
    /// Id of a view of the estate under which evidence was captured (000 §2.14).
    EstateViewId,
    /// Id of a mission (002). The seed's example is the word "uuid"; any id of the safe alphabet is accepted,
    /// including a uuid.
    MissionId,
    /// Id of a task of a mission (002 §5).
    TaskId,
    /// Id of a prompt package (002 §6).
    PromptPackageId,
    /// Id of a research artifact (002 §7).
    ResearchArtifactId,
    /// Id of a librarian pass (002 §8).
    LibrarianPassId,
    /// Id of a worker result (002 §9).
    WorkerResultId,
    /// Id of an aggregation or review packet (002 §10, §11).
    PacketId,
    /// Id of a policy decision (002 §12).
    PolicyDecisionId,
    /// Id of a write-back proposal (002 §13).
    ProposalId,
    /// Id of a node of a decision tree (this project, 003 "Execution Management").
    TreeNodeId,
    /// Name of a kind, role or class that the seeds leave open, in the safe alphabet: `output_type`, `persona`,
    /// `mission_type`, `producer`.
    Label,
}

impl MissionId {
    /// Makes a mission id from a uuid, as in the seed's example.
    #[must_use]
    pub fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid.hyphenated().to_string().into())
    }
}

macro_rules! any_document_id {
    ($($name:ident),+) => { $(
        impl From<$name> for DocumentId {
            fn from(id: $name) -> Self {
                Self(id.0)
            }
        }

        impl From<&$name> for DocumentId {
            fn from(id: &$name) -> Self {
                Self(id.0.clone())
            }
        }
    )+ };
}

any_document_id!(
    SkillId,
    ToolId,
    GuardrailId,
    LensId,
    TemplateId,
    PlaybookId,
    AgentId,
    DomainId,
    PolicyId,
    MissionTypeId,
    PromptId,
    ScheduleId,
    GraphNodeId
);

const EVIDENCE: Shape = Shape::pattern(
    is_evidence_id,
    "^ev_[A-Za-z0-9._-]{1,197}$",
    "`ev_` and 1 to 197 letters, digits, `.`, `_` or `-`",
);

fn is_evidence_id(text: &str) -> bool {
    text.len() <= MAX_ID_LENGTH
        && text
            .strip_prefix("ev_")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_safe))
}

string_newtype! { EVIDENCE;
    /// Id of an evidence record (000 §2.14): `ev_`, followed by a ULID for ids made here, or by 26 digits of which the
    /// first is 8 or higher for ids that Charter derives.
    EvidenceId,
}

/// The digits of Crockford base 32.
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The number of digits of a uuid in base 32.
const UUID_DIGITS: u32 = 26;
/// The first digit of an id that Charter derives has this bit set. The first digit of a ULID is at most 7.
const DERIVED: u128 = 1 << 3;

impl EvidenceId {
    /// Makes an id from `ev_` and the uuid in Crockford base 32, as a ULID is written. A version 7 uuid starts with
    /// its time, so such ids sort by creation time.
    #[must_use]
    pub fn from_uuid(uuid: Uuid) -> Self {
        Self::written(uuid, 0)
    }

    /// Makes the id of a record that Charter captures, from the uuid that follows from its subject. Submitted records
    /// cannot have such an id, so none can take the place of a captured one.
    #[must_use]
    pub fn derived(uuid: Uuid) -> Self {
        Self::written(uuid, DERIVED)
    }

    /// Returns whether the id has the form of those that Charter derives.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        let digits = self.0.strip_prefix("ev_").unwrap_or_default().as_bytes();
        let first = digits
            .first()
            .filter(|_| digits.len() == UUID_DIGITS as usize);
        let value = first.and_then(|first| CROCKFORD.iter().position(|digit| digit == first));
        value.is_some_and(|value| (value as u128) & DERIVED != 0)
    }

    /// Writes the digits of a uuid; the first one has these bits in addition.
    fn written(uuid: Uuid, marked: u128) -> Self {
        let bits = uuid.as_u128();
        let mut text = String::with_capacity(3 + UUID_DIGITS as usize);
        text.push_str("ev_");
        for place in (0..UUID_DIGITS).rev() {
            let mark = if place == UUID_DIGITS - 1 { marked } else { 0 };
            let digit = ((bits >> (place * 5)) & 31) | mark;
            text.push(char::from(CROCKFORD[digit as usize]));
        }
        Self(text.into())
    }
}

const TAG_REQUEST: Shape = Shape::pattern(
    |text| is_tagged(text, "req_"),
    "^req_[A-Za-z0-9]{1,64}$",
    "`req_` and 1 to 64 letters or digits",
);
const TAG_SESSION: Shape = Shape::pattern(
    |text| is_tagged(text, "sess_"),
    "^sess_[A-Za-z0-9]{1,64}$",
    "`sess_` and 1 to 64 letters or digits",
);

fn is_tagged(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        (1..=64).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

string_newtype! { TAG_REQUEST;
    /// Id of a request in the tag store (000 §2.10): `req_abc123`.
    TagRequestId,
}

string_newtype! { TAG_SESSION;
    /// Id of a session in the tag store (000 §2.10): `sess_xyz789`.
    TagSessionId,
}
