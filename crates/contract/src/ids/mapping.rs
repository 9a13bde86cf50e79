//! Explicit mappings between the families of ids (ruling 25). Each contract accepts only its own form; nothing
//! converts implicitly.

use uuid::Uuid;

use super::{
    IdError, PlanStepId, RequestId, SessionId, StepId, TagRequestId, TagSessionId,
    ToolDefinitionId, ToolId, TreeNodeId,
};

impl ToolDefinitionId {
    /// Maps `aws.describe_security_groups` to `tool-aws-describe-security-groups`.
    ///
    /// Letters become lower case; `.` and `_` become `-`. The mapping is not injective (`a.b` and `a_b` collide), so
    /// the reverse goes through the catalogue: keep a map from the mapped id, and refuse a second tool with the same
    /// mapped id.
    #[must_use]
    pub fn from_tool_id(tool: &ToolId) -> Self {
        let mut text = String::with_capacity(5 + tool.as_str().len());
        text.push_str("tool-");
        text.extend(tool.as_str().bytes().map(|byte| match byte {
            b'.' | b'_' => '-',
            other => char::from(other.to_ascii_lowercase()),
        }));
        Self::from_checked(text)
    }

    /// Maps `tool-get-weather` to `get-weather`: the catalogue's id of a tool that is registered by its definition.
    /// [`Self::from_tool_id`] is the reverse.
    ///
    /// # Errors
    /// If the rest is no id of the catalogue, because it begins with `-` or is too long.
    pub fn to_tool_id(&self) -> Result<ToolId, IdError> {
        let id = self.as_str();
        ToolId::parse(id.strip_prefix("tool-").unwrap_or(id))
    }
}

// A step id is the widest of the three forms: the ids of plan steps and tree nodes are also step ids of the compiled
// graph.
impl From<&PlanStepId> for StepId {
    fn from(id: &PlanStepId) -> Self {
        Self::from_checked(id.as_str().to_owned())
    }
}

impl From<&TreeNodeId> for StepId {
    fn from(id: &TreeNodeId) -> Self {
        Self::from_checked(id.as_str().to_owned())
    }
}

impl TagRequestId {
    /// Maps `req-<uuid>` to `req_<32 hex digits>`.
    #[must_use]
    pub fn from_request_id(id: &RequestId) -> Self {
        Self::from_checked(format!("req_{}", id.uuid().simple()))
    }

    /// Returns the request id, if this id was made from one.
    #[must_use]
    pub fn to_request_id(&self) -> Option<RequestId> {
        simple_uuid(self.as_str().strip_prefix("req_")?).map(RequestId::from_uuid)
    }
}

impl TagSessionId {
    /// Maps `sess-<uuid>` to `sess_<32 hex digits>`.
    #[must_use]
    pub fn from_session_id(id: &SessionId) -> Self {
        Self::from_checked(format!("sess_{}", id.uuid().simple()))
    }

    /// Returns the session id, if this id was made from one.
    #[must_use]
    pub fn to_session_id(&self) -> Option<SessionId> {
        simple_uuid(self.as_str().strip_prefix("sess_")?).map(SessionId::from_uuid)
    }
}

/// Accepts only the form that `from_request_id` writes: 32 lower-case hex digits.
fn simple_uuid(text: &str) -> Option<Uuid> {
    let lower = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if text.len() == 32 && lower {
        Uuid::try_parse(text).ok()
    } else {
        None
    }
}
