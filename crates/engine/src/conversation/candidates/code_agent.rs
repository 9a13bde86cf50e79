//! The code agent: candidates that a model drafts within an agent's boundary (seed 000 §2.11). The draft names the
//! tools and their arguments; the document is built here. The defects of a draft are returned to the model, a bounded
//! number of times. Nothing that it writes is evaluated or run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::Document;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::{Label, TenantId};
use charter_domain::candidate::{
    self, Brief, CandidateDraft, CandidateKind, MAX_REQUESTS, MAX_TOOLS, NoFit, breaches,
};
use charter_effects::{ModelRequest, ModelStage, Models, NamedSchema, RejectedAnswer};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::generator::{Composer, Generator, GeneratorError};

/// The route of the code agent. A tenant without it gets the composer's candidates.
pub const ROUTE: &str = "code_agent";
/// How often defects of a draft are returned to the model.
const MAX_REPAIRS: usize = 2;
/// Maximum tools of a boundary for the model: those near the request first.
const SHOWN_TOOLS: usize = 40;
const MAX_OUTPUT_TOKENS: u32 = 4_096;
/// Limited, because a request waits for the candidate.
const TIMEOUT: Duration = Duration::from_secs(60);

const SYSTEM: &str = "You combine registered tools into a plan that answers requests of a kind. Use only the tools \
                      of the context, as their parameters and outputs declare. Every value that the caller has to \
                      provide becomes a parameter, taken from a tool's parameter; steps refer to it as ${user.name}, \
                      and to the output of an earlier step as ${step_id.field}. Give nothing a value that you do not \
                      know. If the tools cannot answer the request, give the reason instead.";

/// Asks a model if the tenant has a route for it, and composes otherwise.
#[derive(Clone)]
pub struct CodeAgent {
    models: Arc<dyn Models>,
}

impl CodeAgent {
    /// Creates a code agent that asks these models.
    #[must_use]
    pub fn new(models: Arc<dyn Models>) -> Self {
        Self { models }
    }
}

/// A model's answer: one of the two.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CodeAgentReply {
    Candidate(CandidateDraft),
    Declined(String),
}

#[async_trait]
impl Generator for CodeAgent {
    async fn generate(&self, tenant: &TenantId, brief: &Brief) -> Result<Document, GeneratorError> {
        let route = Label::parse(ROUTE).map_err(NoFit::Name)?;
        if !self.models.routes(tenant).contains_key(&route) {
            return Composer.generate(tenant, brief).await;
        }
        let mut request = request(route, tenant, brief).map_err(NoFit::Name)?;
        loop {
            let nobody_cancels = CancellationToken::new();
            let answer = self.models.complete(&request, &nobody_cancels);
            let answer = answer.await.map_err(|failure| GeneratorError::Failed {
                source: Box::new(failure),
            })?;
            let wrong = match serde_json::from_value(answer.draft.clone()) {
                Ok(CodeAgentReply::Candidate(draft)) => match checked(brief, &draft) {
                    Ok(document) => return Ok(document),
                    Err(wrong) => wrong,
                },
                Ok(CodeAgentReply::Declined(why)) => return Err(NoFit::Declined(why).into()),
                Err(error) => vec![error.to_string()],
            };
            if request.earlier.len() >= MAX_REPAIRS {
                let why = format!("its draft is invalid: {}", wrong.join("; "));
                return Err(NoFit::Declined(why).into());
            }
            request.earlier.push(RejectedAnswer {
                answered: answer.draft.to_string(),
                wrong,
            });
        }
    }
}

/// Builds the document of a draft; the error lists everything that would be refused.
fn checked(brief: &Brief, draft: &CandidateDraft) -> Result<Document, Vec<String>> {
    let document = candidate::drafted(brief, draft)?;
    let mut wrong = breaches(brief, &document);
    let report = document.inspect();
    wrong.extend(report.violations.iter().map(ToString::to_string));
    if wrong.is_empty() {
        Ok(document)
    } else {
        Err(wrong)
    }
}

fn request(
    route: Label,
    tenant: &TenantId,
    brief: &Brief,
) -> Result<ModelRequest, charter_contract::ids::IdError> {
    let tools = shown(brief);
    let wanted = match brief.wanted {
        CandidateKind::Read => "an answer: every tool only reads",
        CandidateKind::Change => "a change: at least one tool writes",
    };
    Ok(ModelRequest {
        route,
        stage: ModelStage::CodeAgent,
        system: SYSTEM.to_owned(),
        task: task(brief),
        context: json!({
            "request": brief.words.shown(),
            "wanted": wanted,
            "tools": tools.iter().map(|tool| shown_tool(tool)).collect::<Vec<_>>(),
        }),
        earlier: Vec::new(),
        schema: NamedSchema {
            name: Label::parse("candidate")?,
            schema: schema(&tools).into(),
        },
        max_output_tokens: MAX_OUTPUT_TOKENS,
        temperature: 0.0,
        tenant: tenant.clone(),
        idempotency_key: format!("{}-{}", brief.key(), brief.boundary.agent()),
        timeout: TIMEOUT,
    })
}

/// Returns the task. For a change, it includes the advice of registered playbooks.
fn task(brief: &Brief) -> String {
    let mut task = "Draft a plan for the request of the context.".to_owned();
    let hints = brief.boundary.hints();
    if brief.wanted == CandidateKind::Change && !hints.is_empty() {
        task.push_str("\n\nKeep to these hints of the domain's playbooks:");
        for hint in hints {
            task.push_str("\n- ");
            task.push_str(hint.as_str());
        }
    }
    task
}

/// Returns the tools of the boundary that may be called, those near the request first.
fn shown(brief: &Brief) -> Vec<&Tool> {
    let near = brief.near.iter().filter_map(|id| brief.boundary.tool(id));
    let others = brief.boundary.tools();
    let others = others.filter(|tool| !brief.near.contains(&tool.tool_id));
    near.chain(others)
        .filter(|tool| {
            brief.wanted == CandidateKind::Change || tool.tool_class == ToolClass::Readonly
        })
        .take(SHOWN_TOOLS)
        .collect()
}

fn shown_tool(tool: &Tool) -> Value {
    json!({
        "tool": tool.tool_id,
        "description": tool.description,
        "writes": tool.tool_class == ToolClass::Write,
        "parameters": tool.input().schema(),
        "output_schema": tool.output_schema,
    })
}

fn schema(tools: &[&Tool]) -> Map<String, Value> {
    let text = |longest: u32| json!({"type": "string", "minLength": 1, "maxLength": longest});
    let tool = match tools {
        // An empty list of names is not a valid schema; nothing can be called then, and the model reports that.
        [] => text(200),
        tools => {
            json!({"type": "string", "enum": tools.iter().map(|t| &t.tool_id).collect::<Vec<_>>()})
        }
    };
    let object = |properties: Value, required: &[&str]| {
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    };
    let name = json!({"type": "string", "pattern": "^[a-z][a-z0-9_]{0,40}$"});
    let parameter = object(
        json!({"name": name, "tool": tool, "parameter": text(100)}),
        &["name", "tool", "parameter"],
    );
    let step = object(
        json!({"step_id": name, "tool": tool, "arguments": {"type": "object"}}),
        &["step_id", "tool", "arguments"],
    );
    let candidate = object(
        json!({
            "name": text(100),
            "description": text(200),
            "requests": {"type": "array", "items": text(200), "maxItems": MAX_REQUESTS},
            "parameters": {"type": "array", "items": parameter, "maxItems": 20},
            "steps": {"type": "array", "items": step, "minItems": 1, "maxItems": MAX_TOOLS},
        }),
        &["name", "description", "requests", "parameters", "steps"],
    );
    let ways = json!([
        object(json!({"candidate": candidate}), &["candidate"]),
        object(json!({"declined": text(500)}), &["declined"]),
    ]);
    [
        ("type".to_owned(), "object".into()),
        ("anyOf".to_owned(), ways),
    ]
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use charter_contract::catalogue::DocumentKind;
    use charter_contract::catalogue::vocabulary::Role;
    use charter_contract::ids::PackageName;
    use charter_contract::scope::Scope;
    use charter_domain::candidate::{Boundary, Words};
    use charter_domain::catalogue::{Layer, Origin, View};

    use super::*;

    fn brief(wanted: CandidateKind) -> Brief {
        let origin = Arc::new(Origin {
            scope: Scope::Global,
            package: PackageName::parse("p").unwrap(),
            version: "1".to_owned(),
        });
        let mut layer = Layer::default();
        for (kind, document) in [
            (
                DocumentKind::Agent,
                json!({
                    "agent_id": "domain.vaults.keeper", "name": "k", "display_name": "K", "agent_type": "domain",
                    "domain": "vaults", "capabilities": ["keep vaults"], "skill_refs": [],
                }),
            ),
            (
                DocumentKind::Playbook,
                json!({
                    "playbook_id": "vaults.seal", "name": "Seal", "domain": "vaults", "trigger_conditions": ["t"],
                    "approach_hints": ["seal from the inside"],
                    "steps": [{"step_id": "s", "type": "write", "tool_id": "vault.lock", "on_failure": "stop"}],
                    "safety": {"safety_class": "supervised"},
                }),
            ),
        ] {
            let document = Document::from_stored(kind, &document.to_string()).unwrap();
            layer.insert(document, Arc::clone(&origin), String::new());
        }
        let view = View {
            global: Arc::new(layer),
            tenant: Arc::default(),
        };
        let agent = view.agent("domain.vaults.keeper").unwrap();
        Brief {
            words: Words::from_text("seal the vault").unwrap(),
            wanted,
            boundary: Boundary::for_agent(agent.document(), &view, Role::Operator),
            near: Vec::new(),
        }
    }

    /// Hints of playbooks are advice on changes, and instructions of registered documents.
    #[test]
    fn the_hints_of_playbooks_are_given_where_a_change_is_drafted() {
        let task_of = |wanted| {
            let route = Label::parse(ROUTE).unwrap();
            let tenant = TenantId::parse("acme").unwrap();
            request(route, &tenant, &brief(wanted)).unwrap().task
        };
        assert!(task_of(CandidateKind::Change).ends_with("\n- seal from the inside"));
        assert!(!task_of(CandidateKind::Read).contains("seal"));
    }
}
