//! The package of the play: a read, two writes, and their reversals.

use charter_contract::package::PackageBundle;
use charter_domain::approval::{ApprovalAnswer, ExactCall, ReportedResult};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::outside::{BROKEN, FLAKY};

pub(super) const PLAYBOOK: &str = "reliability.move_items";

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
}

impl Variation {
    pub(super) fn is_repeatable(self) -> bool {
        match self {
            Self::Repeatable | Self::RolledBack | Self::Undone | Self::Requested => true,
            Self::Unrepeatable
            | Self::RolledBackUnrepeatable
            | Self::Reported
            | Self::RolledBackReported => false,
        }
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
            | Self::Requested => ApprovalAnswer::Reject,
        }
    }

    fn last_item(self) -> &'static str {
        match self {
            Self::Repeatable
            | Self::Unrepeatable
            | Self::Reported
            | Self::Undone
            | Self::Requested => "sound",
            Self::RolledBack | Self::RolledBackUnrepeatable | Self::RolledBackReported => BROKEN,
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
        let last = self.last_item();
        format!(
            "playbook_id: {PLAYBOOK}\nname: Move items\ndomain: reliability\n\
             trigger_conditions: [items have to move]\ntarget_language: python\nrollback_support: true\n\
             mandatory_parameters: [{{name: first, type: string, description: the first item}}]\n\
             steps:\n\
             \x20 - {{step_id: s1, type: read, tool_id: ledger.read}}\n\
             \x20 - {{step_id: s2, type: write, tool_id: ledger.write, on_failure: stop, parameters: {{item: \"${{user.first}}\"}}}}\n\
             \x20 - {{step_id: s3, type: write, tool_id: ledger.write, on_failure: rollback, parameters: {{item: {last}}}}}\n\
             rollback_steps:\n\
             \x20 - {{step_id: undo_2, tool_id: ledger.undo, reverses: s2, parameters: {{item: \"${{s2.item}}\"}}}}\n\
             \x20 - {{step_id: undo_3, tool_id: ledger.undo, reverses: s3, parameters: {{item: \"${{s3.item}}\"}}}}\n\
             safety: {{safety_class: supervised}}\n"
        )
    }

    /// The value of the parameter. If the run has retries, it is refused at first, so that the first write is retried.
    pub(super) fn first_item(self) -> &'static str {
        match self {
            Self::Requested => "sound",
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
