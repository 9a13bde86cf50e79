//! Writes many skills at once, with a result for each (B001-8).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::link_graph::AgentSkill;
use charter_contract::package::PackageScope;
use charter_contract::validate::{Contract, read_value};
use charter_contract::violation::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::invalid;
use super::{Act, BatchMode, Draft, SkillWritten};
use crate::knowledge::agent_skills::AgentSkillService;
use crate::{Caller, EngineError};

/// Maximum skills of one bulk write.
pub const MAX_BULK_ITEMS: usize = 10_000;

/// Maximum duplicate ids that a refusal names.
const NAMED_DUPLICATES: usize = 20;

/// The result of one skill of a bulk write.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillBulkItem")]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum BulkItem {
    /// The skill is written.
    Written(SkillWritten),
    /// The skill is refused, without an effect on the others.
    Refused {
        /// The skill's id, if it was readable.
        skill_id: Option<String>,
        /// The failure's code.
        error_code: ErrorCode,
        /// The problem.
        message: String,
        /// Machine-readable details.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
}

/// The result of a bulk write, in the order of its skills.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillBulkResult")]
pub struct BulkWritten {
    /// One result for each skill.
    pub items: Vec<BulkItem>,
    /// Number of written skills.
    pub written: usize,
    /// Number of refused skills.
    pub refused: usize,
}

impl AgentSkillService {
    /// Writes many skills, with a result for each; the valid ones are written in one transaction (B001-8). They are
    /// checked in order, so a skill may close no cycle with earlier ones.
    ///
    /// # Errors
    /// `permission_denied`; `too_large`; `invalid_request` if two have one id: nothing is written.
    pub async fn bulk_skills(
        self: &Arc<Self>,
        caller: &Caller,
        scope: PackageScope,
        skills: &[Value],
    ) -> Result<BulkWritten, EngineError> {
        let scope = self.may_write(caller, scope)?;
        if skills.len() > MAX_BULK_ITEMS {
            let message = format!(
                "{} skills in one call; send at most {MAX_BULK_ITEMS}",
                skills.len()
            );
            return Err(EngineError::new(ErrorCode::TooLarge, message));
        }
        refuse_duplicates(skills)?;
        let read: Vec<Result<Draft, EngineError>> = skills
            .iter()
            .map(|skill| read_skill(skill).and_then(|skill| self.draft(skill)))
            .collect();
        let acts = read.iter().filter_map(|read| read.as_ref().ok());
        let acts = acts
            .map(|draft| Act::Put(Box::new(draft.clone())))
            .collect();
        let mut answers = self
            .write(scope, acts, BatchMode::EachAlone)
            .await?
            .into_iter();
        let items = read.into_iter().zip(skills).map(|(read, sent)| {
            let missing = || Err(EngineError::internal("writing a skill", "no answer"));
            let answer = read.and_then(|_| answers.next().unwrap_or_else(missing));
            bulk_item(answer, sent)
        });
        let items: Vec<BulkItem> = items.collect();
        let is_written = |item: &&BulkItem| matches!(item, BulkItem::Written(_));
        let written = items.iter().filter(is_written).count();
        Ok(BulkWritten {
            refused: items.len() - written,
            written,
            items,
        })
    }
}

/// B001-8: duplicate ids in one batch are refused.
fn refuse_duplicates(skills: &[Value]) -> Result<(), EngineError> {
    let mut seen = HashSet::new();
    let ids = skills.iter().filter_map(|skill| skill["skill_id"].as_str());
    let twice: BTreeSet<&str> = ids.filter(|id| !seen.insert(*id)).collect();
    if twice.is_empty() {
        return Ok(());
    }
    let twice: Vec<&str> = twice.into_iter().take(NAMED_DUPLICATES).collect();
    let message = format!("these ids are duplicated: {}", twice.join(", "));
    Err(invalid(message).with_details(json!({"duplicates": twice})))
}

/// Reads a skill of a batch; only an invalid one takes the slow path.
fn read_skill(sent: &Value) -> Result<AgentSkill, EngineError> {
    if let Ok(skill) = <AgentSkill as Deserialize>::deserialize(sent) {
        let mut report = Report::new();
        skill.check(&mut report);
        if report.violations.is_empty() {
            return Ok(skill);
        }
    }
    let read = read_value::<AgentSkill>(sent);
    let read = read.map(|(skill, _)| skill);
    read.map_err(|violations| EngineError::violations(AgentSkill::NAME.as_str(), &violations))
}

fn bulk_item(answer: Result<SkillWritten, EngineError>, sent: &Value) -> BulkItem {
    match answer {
        Ok(written) => BulkItem::Written(written),
        Err(error) => BulkItem::Refused {
            skill_id: sent["skill_id"].as_str().map(str::to_owned),
            error_code: error.code,
            message: error.message,
            details: error.details,
        },
    }
}
