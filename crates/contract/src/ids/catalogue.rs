//! Ids of the catalogue, the missions and the link graph (seeds 000, 001 and
//! 002): dotted names of one safe alphabet, so that an id is also a safe file
//! name and URL segment. They say nothing about what they point at.

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
    /// Any document's id, when its kind is kept beside it.
    DocumentId,
    /// A skill (000 §2.2) or a node of the skill link graph (001), e.g. `security.detect_public_ingress`.
    SkillId,
    /// A tool of the catalogue (000 §2.4), e.g. `aws.describe_security_groups`.
    ToolId,
    /// A guardrail (000 §2.5).
    GuardrailId,
    /// A domain lens (000 §2.6).
    LensId,
    /// A template (000 §2.7).
    TemplateId,
    /// A playbook (000 §2.8).
    PlaybookId,
    /// An agent of the registry (000 §2.11), e.g. `domain.security.exposure`.
    AgentId,
    /// A domain of the registry (000 §2.13), e.g. `security`.
    DomainId,
    /// A policy (this project).
    PolicyId,
    /// A kind of missions (002 §4 `mission_type`).
    MissionTypeId,
    /// A prompt template (002 §6 `template_id`).
    PromptId,
    /// A node of the domain expert graph (000 §2.12), e.g. `soc2.cc6.1`.
    GraphNodeId,
    /// A package of documents (this project).
    PackageName,
    /// A capability that skills share (000 §2.2 `capability_id`).
    CapabilityId,
    /// A tenant.
    TenantId,
    /// A user.
    UserId,
    /// Who acts in a mission (002 `actor_id`).
    ActorId,
    /// A step of a skill's plan or of a playbook, e.g. `step_1`.
    StepId,
    /// A script of a playbook, e.g. `step_2_rollback`.
    ScriptId,
    /// A finding, e.g. `fnd_…` (this project's form: `<skill>.<rule>.<n>` is also allowed).
    FindingId,
    /// A rule of a skill's analysis (this project).
    RuleId,
    /// A report item that evidence is attached to (000 §2.14).
    ReportItemId,
    /// A plan that evidence is attached to (000 §2.14).
    EvidencePlanId,
    /// A bundle that evidence is attached to (000 §2.14).
    BundleId,
    /// A run that evidence is attached to (000 §2.14).
    EvidenceRunId,
    /// A view of the estate under which evidence was captured (000 §2.14).
    EstateViewId,
    /// A mission (002). The seed's example is the word "uuid"; any id of the safe
    /// alphabet is accepted, and a uuid is one.
    MissionId,
    /// A task of a mission (002 §5).
    TaskId,
    /// A prompt package (002 §6).
    PromptPackageId,
    /// A research artifact (002 §7).
    ResearchArtifactId,
    /// A librarian pass (002 §8).
    LibrarianPassId,
    /// A worker result (002 §9).
    WorkerResultId,
    /// An aggregation or review packet (002 §10, §11).
    PacketId,
    /// A policy decision (002 §12).
    PolicyDecisionId,
    /// A write-back proposal (002 §13).
    ProposalId,
    /// A node of a decision tree (this project, 003 "Execution Management").
    TreeNodeId,
    /// A short word of the safe alphabet that names a kind, role or class which
    /// the seeds leave open: `output_type`, `persona`, `mission_type`, `producer`.
    Label,
}

impl MissionId {
    /// A mission id that is a uuid, as the seed's example says.
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
    /// An evidence record (000 §2.14): `ev_` and, when made here, a ULID.
    EvidenceId,
}

impl EvidenceId {
    /// `ev_` and the uuid in Crockford base 32, as a ULID is written. A version 7
    /// uuid starts with its time, so such ids sort by creation.
    #[must_use]
    pub fn from_uuid(uuid: Uuid) -> Self {
        const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        const DIGITS: u32 = 26;
        let bits = uuid.as_u128();
        let mut text = String::with_capacity(3 + DIGITS as usize);
        text.push_str("ev_");
        for place in (0..DIGITS).rev() {
            let digit = (bits >> (place * 5)) & 31;
            text.push(char::from(ALPHABET[digit as usize]));
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
    /// A request as the tag store writes it (000 §2.10): `req_abc123`.
    TagRequestId,
}

string_newtype! { TAG_SESSION;
    /// A session as the tag store writes it (000 §2.10): `sess_xyz789`.
    TagSessionId,
}
