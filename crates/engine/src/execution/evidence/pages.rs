//! Pages that show the source of evidence where no cloud console does: Charter's own, and those that the operator
//! declares for systems.

use std::collections::BTreeMap;

use charter_contract::catalogue::tool::{ConsoleHref, ConsolePage};
use charter_contract::ids::{ApprovalId, EvidenceId, Label, RunId};
use charter_contract::text::{HttpsUrl, Text};

/// The pages of this installation.
#[derive(Debug, Default)]
pub(crate) struct EvidencePages {
    /// This server's public https address.
    public_url: Option<HttpsUrl>,
    /// The declared pages, by system.
    systems: BTreeMap<Label, ConsolePage>,
}

impl EvidencePages {
    pub(crate) fn new(public_url: Option<HttpsUrl>, systems: BTreeMap<Label, ConsolePage>) -> Self {
        Self {
            public_url,
            systems,
        }
    }

    /// Returns whether Charter's own pages have an address.
    pub(super) fn has_own(&self) -> bool {
        self.public_url.is_some()
    }

    pub(super) fn of_run(&self, run: &RunId) -> Option<ConsolePage> {
        self.own("View the run in Charter", &format!("runs/{run}"))
    }

    pub(super) fn of_record(&self, record: &EvidenceId) -> Option<ConsolePage> {
        self.own("View the record in Charter", &format!("evidence/{record}"))
    }

    pub(super) fn approval_page(&self, approval: &ApprovalId) -> Option<ConsolePage> {
        let path = format!("approvals/{approval}");
        self.own("View the approval in Charter", &path)
    }

    /// Returns the page that the operator declares for a system.
    pub(super) fn of_system(&self, system: &Label) -> Option<&ConsolePage> {
        self.systems.get(system)
    }

    /// Returns a page of the console, if this server has a public https address.
    fn own(&self, label: &str, path: &str) -> Option<ConsolePage> {
        let base = self.public_url.as_ref()?.as_str();
        let href = format!("{}/console/{path}", base.trim_end_matches('/'));
        Some(ConsolePage {
            label: Text::parse(label).ok()?,
            href: ConsoleHref::parse(&href).ok()?,
        })
    }
}
