//! The rules of each kind of artifact in addition to its contract.

use charter_contract::ids::TaskId;
use charter_contract::mission::Artifact;
use charter_contract::mission::aggregation_packet::AggregationPacket;
use charter_contract::mission::policy_decision::Decision;
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::research_artifact::ResearchArtifact;
use charter_contract::mission::review_packet::ReviewStatus;
use charter_contract::mission::task_graph::{Role, Task};
use charter_contract::mission::worker_result::WorkerResult;
use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_contract::validate::nearest;
use charter_contract::violation::{Report, Stage, Violation};

use super::inventory::Inventory;
use super::{TOOL_SCOPE, WRITEBACK, references};

/// Checks an artifact against the mission's inventory.
pub(super) fn check(inventory: &Inventory, artifact: &Artifact, report: &mut Report) {
    match artifact {
        Artifact::PromptPackage(package) => {
            if let Some(task) = task_of(inventory, &package.task_id, report) {
                check_package(inventory, package, task, report);
            }
        }
        Artifact::ResearchArtifact(research) => {
            fitting(inventory, &research.task_id, &[Role::Researcher], report);
            check_times(inventory, research, report);
        }
        Artifact::LibrarianPass(pass) => {
            let roles = &[Role::Worker, Role::Researcher];
            fitting(inventory, &pass.task_id, roles, report);
        }
        Artifact::WorkerResult(result) => {
            fitting(inventory, &result.task_id, &[Role::Worker], report);
            check_citations(inventory, result, report);
        }
        Artifact::AggregationPacket(packet) => check_support(packet, report),
        Artifact::ReviewPacket(_) => {
            if inventory.review().is_some() {
                let message = "the mission was already reviewed; a mission has one review";
                report.consistency("", "one_review", message.to_owned());
            }
        }
        Artifact::WritebackProposal(proposal) => check_proposal(inventory, proposal, report),
        // These need no comparison; the uniqueness of ids is checked for every artifact.
        Artifact::MissionEnvelope(_)
        | Artifact::MissionTaskGraph(_)
        | Artifact::PolicyDecision(_) => {}
    }
    references::check(inventory, artifact, report);
}

/// Returns the task that an artifact names (B002-5).
fn task_of<'i>(inventory: &'i Inventory, task: &TaskId, report: &mut Report) -> Option<&'i Task> {
    let found = inventory.task(task);
    if found.is_none() {
        let known = inventory.task_ids().map(TaskId::as_str);
        report.push(Violation {
            suggestion: nearest(task.as_str(), known),
            ..consistency(
                "/task_id",
                "task",
                format!("`{task}` is not a task of the mission"),
            )
        });
    }
    found
}

/// Checks that the artifact names a task with one of these roles (B002-5).
fn fitting(inventory: &Inventory, task: &TaskId, roles: &[Role], report: &mut Report) {
    let Some(task) = task_of(inventory, task, report) else {
        return;
    };
    if !roles.contains(&task.role_type) {
        let roles: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
        let message = format!(
            "the task `{}` is for a {}, not for a {}",
            task.task_id,
            task.role_type,
            roles.join(" or ")
        );
        report.consistency("/task_id", "role", message);
    }
}

fn check_package(inventory: &Inventory, package: &PromptPackage, task: &Task, report: &mut Report) {
    if package.role_type != task.role_type {
        report.push(Violation {
            suggestion: Some(format!("write `{}`", task.role_type)),
            ..consistency(
                "/role_type",
                "role",
                format!(
                    "the task `{}` is for a {}, not for a {}",
                    task.task_id, task.role_type, package.role_type
                ),
            )
        });
    }
    for (at, tool) in package.tool_scope.iter().enumerate() {
        if report.is_full() {
            return;
        }
        let pointer = format!("/tool_scope/{at}");
        if !task.allowed_tools.contains(tool) {
            let allowed = task.allowed_tools.iter().map(AsRef::as_ref);
            report.push(Violation {
                suggestion: nearest(tool.as_str(), allowed),
                ..consistency(
                    &pointer,
                    "tool_scope",
                    format!("the task `{}` may not use `{tool}`", task.task_id),
                )
            });
        }
        let why = match inventory.latest_decision(TOOL_SCOPE, tool.as_str()) {
            Some(Decision::Allow) => continue,
            Some(Decision::Deny) => format!("the latest policy decision denies `{tool}`"),
            None => format!("no policy decision allows `{tool}`, so it is denied"),
        };
        report.consistency(pointer, "tool_scope", why);
    }
}

/// Checks that research results were fetched during this mission (B002-7).
fn check_times(inventory: &Inventory, research: &ResearchArtifact, report: &mut Report) {
    let start = inventory.root().created_at;
    for (at, result) in research.results.iter().enumerate() {
        if result.retrieved_at < start {
            let message = format!(
                "{} is before the mission's start, {start}",
                result.retrieved_at
            );
            report.consistency(format!("/results/{at}/retrieved_at"), "order", message);
        }
    }
}

/// B002-6.
fn check_citations(inventory: &Inventory, result: &WorkerResult, report: &mut Report) {
    if result.citations.is_empty() && inventory.must_cite(&result.task_id) {
        report.push(Violation {
            suggestion: Some("cite a result, a source or an entity".to_owned()),
            ..consistency(
                "/citations",
                "must_cite_sources",
                format!("the task `{}` must cite its sources", result.task_id),
            )
        });
    }
    references::check_kinds(inventory, &result.citations, report);
}

/// B002-10.
fn check_support(packet: &AggregationPacket, report: &mut Report) {
    for (row, claim) in packet.evidence_matrix.iter().enumerate() {
        if claim.support_refs.is_empty() {
            let pointer = format!("/evidence_matrix/{row}/support_refs");
            let message = format!("nothing supports the claim `{}`", claim.claim);
            report.consistency(pointer, "support", message);
        }
    }
}

/// B002-6 and B002-13.
fn check_proposal(inventory: &Inventory, proposal: &WritebackProposal, report: &mut Report) {
    let early = match inventory.review() {
        Some(ReviewStatus::Approved | ReviewStatus::ApprovedWithEdits) => None,
        Some(ReviewStatus::Rejected) => Some("the review rejected the mission's output"),
        None => Some("a proposal needs a review first"),
    };
    if let Some(early) = early {
        report.consistency("", "review", early.to_owned());
    }
    let action = proposal.action_type.as_str();
    let allowed = inventory.latest_decision(WRITEBACK, action) == Some(Decision::Allow);
    if !proposal.requires_approval && !allowed {
        report.push(Violation {
            suggestion: Some("require an approval".to_owned()),
            ..consistency(
                "/requires_approval",
                "policy_decision",
                format!("no policy decision allows `{action}` without an approval"),
            )
        });
    }
}

fn consistency(pointer: &str, keyword: &str, message: String) -> Violation {
    Violation {
        stage: Stage::Consistency,
        pointer: pointer.to_owned(),
        keyword: keyword.to_owned(),
        message,
        suggestion: None,
    }
}
