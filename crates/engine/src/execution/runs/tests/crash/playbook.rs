//! The package of the play: a read, two writes, and their reversals.

use std::collections::BTreeSet;

use charter_contract::ids::StepId;
use charter_contract::package::PackageBundle;
use charter_domain::approval::{Approval, ApprovalAnswer, ExactCall, ListChoice, ReportedResult};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::outside::{BROKEN, FLAKY};

pub(super) const PLAYBOOK: &str = "reliability.move_items";

/// The item of a list that the approver excludes.
const EXCLUDED: &str = "s2.2";

/// A person's approval of a call, or of a list without its excluded item.
pub(super) fn approval_of(asked: &Approval) -> ApprovalAnswer {
    let steps = asked.list.iter().map(|call| &call.step);
    let excluded = steps.filter(|step| step.as_str() == EXCLUDED);
    let excluded: BTreeSet<StepId> = excluded.cloned().collect();
    ApprovalAnswer::ApproveListed(ListChoice {
        excluded,
        typed_count: None,
    })
}

/// The course of a play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Variation {
    /// To its end, with tools for which a repeat under the same key is harmless.
    Repeatable,
    /// To its end, with tools that perform every repeat again.
    Unrepeatable,
    /// The last write fails permanently, and the first is reversed.
    RolledBack,
    /// The same with tools that perform every repeat again.
    RolledBackUnrepeatable,
    /// To its end, and with the last write failing permanently; people report lost results.
    Reported,
    RolledBackReported,
    /// To its end, and then reversed by a separate run.
    Undone,
    /// To its end, started by a request, which gets a result from the run.
    Requested,
    /// A list of three writes, of which one is excluded: to its end, and then reversed by a separate run.
    ListUndone,
    /// The same list, whose last write fails permanently, so that the first is reversed.
    ListRolledBack,
}

impl Variation {
    pub(super) fn is_repeatable(self) -> bool {
        match self {
            Self::Repeatable
            | Self::RolledBack
            | Self::Undone
            | Self::Requested
            | Self::ListUndone
            | Self::ListRolledBack => true,
            Self::Unrepeatable
            | Self::RolledBackUnrepeatable
            | Self::Reported
            | Self::RolledBackReported => false,
        }
    }

    /// Whether its run has retries and two writes in sequence, and not a list.
    pub(super) fn is_sequence(self) -> bool {
        !matches!(self, Self::ListUndone | Self::ListRolledBack)
    }

    /// Whether its run is reversed by a separate run.
    pub(super) fn is_undone(self) -> bool {
        matches!(self, Self::Undone | Self::ListUndone)
    }

    /// A person's answer to the question whether to repeat a call that did happen.
    pub(super) fn of_what_happened(self, call: &ExactCall) -> ApprovalAnswer {
        match self {
            Self::Reported | Self::RolledBackReported => {
                let act = call.tool.as_ref().trim_start_matches("ledger.");
                let entry = format!("{act} {}", call.step);
                let output = json!({"item": call.parameters["item"], "entry": entry});
                ApprovalAnswer::Happened(ReportedResult { output })
            }
            Self::Repeatable
            | Self::Unrepeatable
            | Self::RolledBack
            | Self::RolledBackUnrepeatable
            | Self::Undone
            | Self::Requested
            | Self::ListUndone
            | Self::ListRolledBack => ApprovalAnswer::Reject,
        }
    }

    fn last_item(self) -> &'static str {
        match self {
            Self::Repeatable
            | Self::Unrepeatable
            | Self::Reported
            | Self::Undone
            | Self::Requested
            | Self::ListUndone => "sound",
            Self::RolledBack
            | Self::RolledBackUnrepeatable
            | Self::RolledBackReported
            | Self::ListRolledBack => BROKEN,
        }
    }

    /// The package, whose tools call this address.
    pub(super) fn package(self, address: &str) -> PackageBundle {
        let tool = |act: &str, class: &str, parameters: &str, body: &str| {
            let repeats = if self.is_repeatable() { "once" } else { "each" };
            format!(
                "tool_id: ledger.{act}\nname: {act}\nprovider: aws\ntool_class: {class}\ndomain: reliability\n\
                 description: A line of the ledger.\nlanguage: http\nexecution_target: server\n\
                 idempotent: {}\nenvironment: [LEDGER]\negress: [\"{address}\"]\n{parameters}\n\
                 evidence: {{type: api_call, system: aws.ec2}}\n\
                 implementation:\n  type: http\n  method: POST\n\
                 \x20 url: \"http://{address}/${{env.LEDGER}}/{repeats}/{act}\"\n{body}\n",
                self.is_repeatable()
            )
        };
        let item = "parameters: [{name: item, type: string, required: true, description: what}]";
        let body = "  body: {item: \"${item}\"}";
        let files = json!({"files": {
            "package.yaml": "name: items\nversion: 1.0.0\ntitle: Items\nscope: tenant\n",
            "tools/read.yaml": tool("read", "readonly", "parameters: []", ""),
            "tools/write.yaml": tool("write", "write", item, body),
            "tools/undo.yaml": tool("undo", "write", item, body),
            "playbooks/move.yaml": self.playbook(),
        }});
        serde_json::from_value(files).unwrap()
    }

    fn playbook(self) -> String {
        let steps = if self.is_sequence() {
            self.sequence()
        } else {
            self.list()
        };
        format!(
            "playbook_id: {PLAYBOOK}\nname: Move items\ndomain: reliability\n\
             trigger_conditions: [items have to move]\ntarget_language: python\nrollback_support: true\n\
             mandatory_parameters: [{{name: first, type: string, description: the first item}}]\n\
             steps:\n\
             \x20 - {{step_id: s1, type: read, tool_id: ledger.read}}\n\
             {steps}\
             safety: {{safety_class: supervised}}\n"
        )
    }

    /// Two writes, one after the other, and their reversals.
    fn sequence(self) -> String {
        let last = self.last_item();
        format!(
            "\x20 - {{step_id: s2, type: write, tool_id: ledger.write, on_failure: stop, parameters: {{item: \"${{user.first}}\"}}}}\n\
             \x20 - {{step_id: s3, type: write, tool_id: ledger.write, on_failure: rollback, parameters: {{item: {last}}}}}\n\
             rollback_steps:\n\
             \x20 - {{step_id: undo_2, tool_id: ledger.undo, reverses: s2, parameters: {{item: \"${{s2.item}}\"}}}}\n\
             \x20 - {{step_id: undo_3, tool_id: ledger.undo, reverses: s3, parameters: {{item: \"${{s3.item}}\"}}}}\n"
        )
    }

    /// One write for each item of a list, and their reversal.
    fn list(self) -> String {
        let last = self.last_item();
        format!(
            "\x20 - step_id: s2\n    type: write\n    tool_id: ledger.write\n    on_failure: rollback\n\
             \x20   for_each: {{items: [\"${{user.first}}\", unwanted, {last}], concurrency: 1}}\n\
             \x20   parameters: {{item: \"${{item}}\"}}\n\
             rollback_steps:\n\
             \x20 - {{step_id: undo_2, tool_id: ledger.undo, reverses: s2, parameters: {{item: \"${{s2.item}}\"}}}}\n"
        )
    }

    /// The value of the parameter. If the run has retries, it is refused at first, so that the first write is retried.
    pub(super) fn first_item(self) -> &'static str {
        match self {
            Self::Requested | Self::ListUndone | Self::ListRolledBack => "sound",
            Self::Repeatable
            | Self::Unrepeatable
            | Self::RolledBack
            | Self::RolledBackUnrepeatable
            | Self::Reported
            | Self::RolledBackReported
            | Self::Undone => FLAKY,
        }
    }
}
