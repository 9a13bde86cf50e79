//! Ids of the agent contracts (seed 003): a prefix followed by a lower-case uuid or a name. Strict, because that
//! seed's patterns are.

use uuid::Uuid;

use super::Shape;

/// Whether `text` is `prefix` followed by a lower-case hyphenated uuid.
fn is_prefixed_uuid(text: &str, prefix: &str) -> bool {
    let Some(rest) = text.strip_prefix(prefix) else {
        return false;
    };
    rest.len() == 36
        && rest.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

macro_rules! prefixed_uuid {
    ($( $(#[$meta:meta])* $name:ident = $prefix:literal ),+ $(,)?) => { $(
        string_newtype! { Shape::pattern(
                |text| is_prefixed_uuid(text, $prefix),
                concat!("^", $prefix, "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"),
                concat!("`", $prefix, "` and a lower-case uuid"),
            );
            $(#[$meta])*
            $name,
        }

        impl $name {
            /// The prefix of this family of ids.
            pub const PREFIX: &'static str = $prefix;

            /// Makes the id of a uuid.
            #[must_use]
            pub fn from_uuid(uuid: Uuid) -> Self {
                let mut buffer = Uuid::encode_buffer();
                let uuid: &str = uuid.hyphenated().encode_lower(&mut buffer);
                Self([$prefix, uuid].concat().into())
            }

            /// Returns the uuid in the id. A text of the right shape always contains one.
            #[must_use]
            pub fn uuid(&self) -> Uuid {
                Uuid::try_parse(&self.0[$prefix.len()..]).unwrap_or(Uuid::nil())
            }
        }
    )+ };
}

prefixed_uuid! {
    /// Id of a request (003 Request Schema).
    RequestId = "req-",
    /// Id of a response (003 Response Schema).
    ResponseId = "resp-",
    /// Id of an error (003 Error Schema).
    ErrorId = "err-",
    /// Id of a session (003 Request Schema).
    SessionId = "sess-",
    /// Id of a memory (003 Memory Entry Schema).
    MemoryId = "mem-",
    /// Id of an execution plan (003 Execution Plan Schema).
    PlanId = "plan-",
    /// Id of a run: one durable execution of a graph of steps (this project).
    RunId = "run-",
    /// Id of an approval: an approver's decision on one exact effect or plan (this project).
    ApprovalId = "apr-",
    /// Id of an API key (this project).
    KeyId = "key-",
    /// Id of a route example: a confirmed sentence that led to a document (this project).
    RouteExampleId = "rex-",
    /// Id of a webhook trigger's address (this project).
    HookId = "hook-",
    /// Id of a lease: an executor's on one call, or an outside agent's on one assignment (this project).
    LeaseId = "lease-",
    /// Id of an assignment: the task of a mission that is offered to outside agents (this project).
    AssignmentId = "asg-",
    /// Id of a notification: one event for one channel (this project).
    NotificationId = "ntf-",
    /// Id of a tool call (this project, 003 "Tool Invocation Schema").
    InvocationId = "inv-",
    /// Id of a context model (this project, 003 "Context Model Schema").
    ContextId = "ctx-",
    /// Id of a file-system operation (this project, 003 "File System Operation Schema").
    FileOperationId = "fso-",
    /// Id of an access to the environment (this project, 003 "Environment Access Schema").
    EnvironmentAccessId = "env-",
    /// Id of a network request (this project, 003 "Network Request Schema").
    NetworkRequestId = "net-",
    /// Id of a pipeline (this project, 003 "Pipeline Definition Schema").
    PipelineId = "pipe-",
    /// Id of a decision tree (this project, 003 "Decision Tree Schema").
    TreeId = "tree-",
}

const TOOL_DEFINITION: Shape = Shape::pattern(
    is_tool_definition,
    "^tool-[a-z0-9-]+$",
    "`tool-` and lower-case letters, digits or `-`",
);

fn is_tool_definition(text: &str) -> bool {
    text.strip_prefix("tool-").is_some_and(|rest| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    })
}

string_newtype! { TOOL_DEFINITION;
    /// Id of a tool in the agent contracts (003 Tool Definition Schema): `tool-aws-describe-security-groups`.
    ToolDefinitionId,
}

const PLAN_STEP: Shape =
    Shape::pattern(is_plan_step, "^step-[0-9]{3}$", "`step-` and three digits");

fn is_plan_step(text: &str) -> bool {
    text.strip_prefix("step-")
        .is_some_and(|rest| rest.len() == 3 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

string_newtype! { PLAN_STEP;
    /// Id of a step of an execution plan (003 Execution Plan Schema): `step-001`.
    PlanStepId,
}
