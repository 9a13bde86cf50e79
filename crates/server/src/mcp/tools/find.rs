//! `find`: lists the available entries, briefly.

mod agent_skills;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::shorten;
use charter_engine::{DocumentFilter, EngineError, Purpose, RoutedCandidate, ToolFilter};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::call::Call;
use crate::mcp::tool::{McpTool, ToolReply};

/// The default and the largest number of entries of an answer.
const LIMIT: usize = 10;
const MAX_LIMIT: usize = 50;

/// Longest description in a short entry, in characters; `open` returns the rest.
const MAX_DESCRIPTION: usize = 240;

pub(in crate::mcp) struct Find;

/// The kind of entry to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::mcp) enum Kind {
    /// Answers a question.
    Skill,
    /// A procedure that changes something.
    Playbook,
    /// One callable act.
    Tool,
    /// A text that instructs an agent; folders lead to others.
    AgentSkill,
    /// A type of missions; these are listed, and not searched.
    MissionType,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The purpose, in plain words. If absent, everything is listed by id.
    query: Option<String>,
    /// Only entries of this kind.
    kind: Option<Kind>,
    /// Largest number of entries of a kind; 10 if absent, up to 50.
    limit: Option<usize>,
    /// Without a query: list the agent skills in this folder, by its id.
    under: Option<String>,
    /// Without a query: the cursor, `next` of the previous page.
    after: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Output {
    /// Best first within a kind, or by id.
    entries: Vec<FoundItem>,
    /// The confidence of the search for skills and playbooks: `narrow` (the first of a kind fits), `broad` (several
    /// may) or `miss` (none does).
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// The cursor for the next page of a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A short entry.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundItem {
    kind: Kind,
    /// The id for `open`, `run`, `call` and `start_mission`.
    id: String,
    description: String,
    /// Names of its parameters; required ones end in `*`.
    parameters: Vec<String>,
    /// Whether using it changes something.
    writes: bool,
    /// For an agent skill: whether it is a folder, whose entries `under` lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_folder: Option<bool>,
    /// Probability that it is right, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
}

impl McpTool for Find {
    const NAME: &'static str = "find";
    const TITLE: &'static str = "Find skills, playbooks, tools, agent skills and mission types";
    const DESCRIPTION: &'static str = "Finds skills that answer questions, playbooks that change something, single \
        tools, mission types, and agent skills, which are instructions for you to follow (`under` lists those of a \
        folder). Returns ids with one line each; `open` shows one in full. You do not have to `find` before you \
        `run`: a question is routed automatically.";
    type Input = Input;
    type Output = Output;

    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().read_only(true).open_world(false)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<Output>, EngineError> {
        let limit = input.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT);
        let found = match (&input.query, &input.under, input.kind) {
            (Some(_), _, Some(Kind::MissionType)) => {
                let message = "mission types can only be listed: omit `query`";
                return Err(EngineError::new(ErrorCode::InvalidRequest, message));
            }
            (_, Some(_), Some(Kind::Skill | Kind::Playbook | Kind::Tool | Kind::MissionType))
            | (Some(_), Some(_), _) => {
                let message = "`under` lists agent skills: omit `query`";
                return Err(EngineError::new(ErrorCode::InvalidRequest, message));
            }
            (Some(query), None, kind) => search(call, query, kind, limit).await,
            (None, Some(_), _) => list(call, &input, &[Kind::AgentSkill], limit),
            (None, None, Some(kind)) => list(call, &input, &[kind], limit),
            (None, None, None) => list(call, &input, &KINDS, limit),
        };
        found.map(ToolReply::Done)
    }
}

async fn search(
    call: &Call,
    query: &str,
    kind: Option<Kind>,
    limit: usize,
) -> Result<Output, EngineError> {
    let engine = call.engine();
    let mut output = Output {
        entries: Vec::new(),
        verdict: None,
        next: None,
    };
    let purposes: &[Purpose] = match kind {
        None => &[Purpose::Skills, Purpose::Playbooks],
        Some(Kind::Skill) => &[Purpose::Skills],
        Some(Kind::Playbook) => &[Purpose::Playbooks],
        Some(Kind::Tool | Kind::AgentSkill | Kind::MissionType) => &[],
    };
    let mut verdicts = Vec::new();
    for purpose in purposes {
        let routed = engine
            .routing()
            .route(&call.caller, *purpose, query, limit)
            .await?;
        let found = routed.candidates.iter();
        output
            .entries
            .extend(found.filter_map(|candidate| routed_to(call, candidate)));
        verdicts.push(routed.kind_name());
    }
    // The most confident verdict.
    let surest = ["narrow", "broad", "miss"];
    output.verdict = surest
        .into_iter()
        .find(|kind| verdicts.contains(kind))
        .map(str::to_owned);
    if matches!(kind, None | Some(Kind::Tool)) {
        let tools = engine
            .tool_search()
            .find_tools(&call.caller, query, limit)
            .await?;
        output.entries.extend(tools.iter().map(|found| FoundItem {
            score: Some(found.score),
            ..of_tool(found.tool.document())
        }));
    }
    if matches!(kind, None | Some(Kind::AgentSkill)) {
        let found = agent_skills::discovered(call, query, limit).await?;
        output.entries.extend(found);
    }
    Ok(output)
}

fn routed_to(call: &Call, candidate: &RoutedCandidate) -> Option<FoundItem> {
    let kind = match candidate.kind {
        DocumentKind::Skill => Kind::Skill,
        DocumentKind::Playbook => Kind::Playbook,
        _ => return None,
    };
    let found = of_document(call, kind, &candidate.id)?;
    Some(FoundItem {
        score: Some(candidate.score),
        ..found
    })
}

/// The order of a listing of all kinds.
const KINDS: [Kind; 5] = [
    Kind::Skill,
    Kind::Playbook,
    Kind::Tool,
    Kind::AgentSkill,
    Kind::MissionType,
];

/// Lists all entries of some kinds by id; those of a folder in its order.
fn list(call: &Call, input: &Input, kinds: &[Kind], limit: usize) -> Result<Output, EngineError> {
    // The cursor of a listing of several kinds contains the kind.
    let (at, after) = match input
        .after
        .as_deref()
        .and_then(|after| after.split_once(' '))
    {
        Some((kind, id)) => (
            kinds
                .iter()
                .position(|known| known.word() == kind)
                .unwrap_or(0),
            id,
        ),
        None => (0, ""),
    };
    let mut entries = Vec::new();
    for (place, kind) in kinds.iter().enumerate().skip(at) {
        let after = if place == at { after } else { "" };
        let left = limit + 1 - entries.len();
        match kind {
            Kind::AgentSkill => {
                let under = input.under.as_deref();
                entries.extend(agent_skills::listed(call, under, after, left)?);
            }
            Kind::Skill => entries.extend(documents(call, DocumentKind::Skill, *kind, after, left)),
            Kind::Playbook => {
                entries.extend(documents(call, DocumentKind::Playbook, *kind, after, left));
            }
            Kind::Tool => entries.extend(tools(call, after, left)),
            Kind::MissionType => {
                entries.extend(documents(
                    call,
                    DocumentKind::MissionType,
                    *kind,
                    after,
                    left,
                ));
            }
        }
        if entries.len() > limit {
            break;
        }
    }
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more);
    Ok(Output {
        next: next.map(|last| format!("{} {}", last.kind.word(), last.id)),
        entries,
        verdict: None,
    })
}

/// Usable registered documents after an id.
fn documents(
    call: &Call,
    of: DocumentKind,
    kind: Kind,
    after: &str,
    limit: usize,
) -> Vec<FoundItem> {
    let offered = DocumentFilter {
        status: Some(Status::Active),
        ..DocumentFilter::default()
    };
    let mut listed =
        call.engine()
            .documents()
            .list_documents(&call.caller, of, &offered, after, usize::MAX);
    listed.retain(|entry| !entry.is_candidate);
    let found = listed
        .iter()
        .filter_map(|entry| of_document(call, kind, &entry.id));
    found.take(limit).collect()
}

/// Usable tools after an id.
fn tools(call: &Call, after: &str, limit: usize) -> Vec<FoundItem> {
    let (engine, caller) = (call.engine(), &call.caller);
    let tools = engine
        .documents()
        .resolve_tools(caller, &ToolFilter::default());
    let usable = tools.iter().map(|tool| tool.document());
    let usable = usable.filter(|tool| engine.tool_search().may_call(caller, tool));
    let rest = usable.filter(|tool| tool.tool_id.as_ref() > after);
    rest.take(limit).map(of_tool).collect()
}

fn of_document(call: &Call, kind: Kind, id: &str) -> Option<FoundItem> {
    let (engine, caller) = (call.engine(), &call.caller);
    match kind {
        Kind::Skill => {
            let found = engine.documents().resolve_skill(caller, id).ok()?;
            let skill = found.document();
            Some(FoundItem {
                kind,
                id: id.to_owned(),
                description: short(skill.description.as_str()),
                parameters: names(
                    skill
                        .parameters
                        .iter()
                        .map(|p| (p.name.as_ref(), p.required)),
                ),
                writes: false,
                is_folder: None,
                score: None,
            })
        }
        Kind::Playbook => {
            let found = engine.documents().resolve_playbook(caller, id).ok()?;
            let playbook = found.document();
            let mandatory = playbook
                .mandatory_parameters
                .iter()
                .map(|p| (p.name.as_ref(), true));
            let optional = playbook
                .optional_parameters
                .iter()
                .map(|p| (p.name.as_ref(), false));
            Some(FoundItem {
                kind,
                id: id.to_owned(),
                description: short(playbook.name.as_str()),
                parameters: names(mandatory.chain(optional)),
                writes: true,
                is_folder: None,
                score: None,
            })
        }
        Kind::MissionType => {
            let found = engine.documents().resolve_mission_type(caller, id).ok()?;
            let mission = found.document();
            Some(FoundItem {
                kind,
                id: id.to_owned(),
                description: short(mission.description.as_str()),
                parameters: Vec::new(),
                writes: !mission.write_backs.is_empty(),
                is_folder: None,
                score: None,
            })
        }
        Kind::Tool | Kind::AgentSkill => None,
    }
}

fn of_tool(tool: &charter_contract::catalogue::tool::Tool) -> FoundItem {
    use charter_contract::catalogue::tool::ToolClass;
    FoundItem {
        kind: Kind::Tool,
        id: tool.tool_id.to_string(),
        description: short(tool.description.as_str()),
        parameters: names(tool.parameters().iter().map(|p| (p.called(), p.required))),
        writes: tool.tool_class != ToolClass::Readonly,
        is_folder: None,
        score: None,
    }
}

fn names<'a>(parameters: impl Iterator<Item = (&'a str, bool)>) -> Vec<String> {
    let named = parameters.map(|(name, required)| {
        if required {
            format!("{name}*")
        } else {
            name.to_owned()
        }
    });
    named.collect()
}

fn short(text: &str) -> String {
    shorten::to_chars(text, MAX_DESCRIPTION).into_owned()
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Playbook => "playbook",
            Self::Tool => "tool",
            Self::AgentSkill => "agent_skill",
            Self::MissionType => "mission_type",
        }
    }
}
