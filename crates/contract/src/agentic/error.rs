//! Errors that a client receives (003 Error Schema). They are built from the registry of error codes, so that every
//! failure has one of the six types and a hint.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error_code::ErrorCode;
use crate::ids::{ErrorId, RequestId};
use crate::optional::present;
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

pub use crate::error_code::ErrorType;

/// An error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentError {
    /// Id of the error.
    pub error_id: ErrorId,
    /// Request that failed.
    pub request_id: RequestId,
    /// Time of the failure.
    pub timestamp: Timestamp,
    /// One of the six error types.
    pub error_type: ErrorType,
    /// Error code, more specific than the type.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub error_code: Option<String>,
    /// Message for the user; contains no secret and no internal path (B003-3).
    pub user_message: String,
    /// Technical details for diagnosis.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub technical_details: Option<Map<String, Value>>,
    /// Recommended actions.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub recommended_actions: Option<Vec<RecommendedAction>>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A recommended action after an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecommendedAction {
    /// Description of the action.
    pub description: String,
    /// Role that executes the task.
    pub action_type: RecommendedActionType,
    /// Additional details.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Map<String, Value>>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

string_enum! {
    /// Type of a recommended action (003 Error Schema).
    pub enum RecommendedActionType {
        /// The user acts.
        UserAction = "user_action",
        /// The system retries.
        SystemRetry = "system_retry",
        /// The user chooses another approach.
        AlternativeApproach = "alternative_approach",
        /// The user contacts the operator of the system.
        ContactSupport = "contact_support",
    }
}

/// Builds an error from its code.
#[derive(Debug, Clone)]
#[must_use]
pub struct AgentErrorBuilder {
    error: AgentError,
    details: Map<String, Value>,
    actions: Vec<RecommendedAction>,
}

impl AgentError {
    /// Starts an error with the type, message and hint of the code.
    pub fn builder(
        error_id: ErrorId,
        request_id: RequestId,
        timestamp: Timestamp,
        code: ErrorCode,
    ) -> AgentErrorBuilder {
        let hint = RecommendedAction {
            description: code.hint().to_owned(),
            action_type: if code.retryable() {
                RecommendedActionType::SystemRetry
            } else if code.error_type() == ErrorType::SystemError {
                RecommendedActionType::ContactSupport
            } else {
                RecommendedActionType::UserAction
            },
            details: None,
            extra: Map::new(),
        };
        AgentErrorBuilder {
            error: Self {
                error_id,
                request_id,
                timestamp,
                error_type: code.error_type(),
                error_code: Some(code.as_str().to_owned()),
                user_message: code.user_message().to_owned(),
                technical_details: None,
                recommended_actions: None,
                extra: Map::new(),
            },
            details: Map::from_iter([("documentation".to_owned(), code.documentation().into())]),
            actions: vec![hint],
        }
    }
}

impl AgentErrorBuilder {
    /// Replaces the code's message with a more specific one that is as safe to show.
    pub fn user_message(mut self, message: impl Into<String>) -> Self {
        self.error.user_message = message.into();
        self
    }

    /// Adds a technical detail, which must not contain a secret or a payload.
    pub fn detail(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.insert(field.into(), value.into());
        self
    }

    /// Adds a recommended action.
    pub fn recommend(
        mut self,
        action_type: RecommendedActionType,
        description: impl Into<String>,
    ) -> Self {
        let description = description.into();
        let extra = Map::new();
        self.actions.push(RecommendedAction {
            description,
            action_type,
            details: None,
            extra,
        });
        self
    }

    /// Builds the error.
    #[must_use]
    pub fn build(self) -> AgentError {
        let Self {
            mut error,
            details,
            actions,
        } = self;
        error.technical_details = Some(details);
        error.recommended_actions = Some(actions);
        error
    }
}

impl Contract for AgentError {
    const NAME: SchemaName = SchemaName::AgentError;

    fn check(&self, _: &mut Report) {}
}
