//! The tools of a server that the operator offers. Must not know how tools are imported or called.

use std::collections::BTreeSet;

/// The tools of a server that are offered, by the server's names. A tool that is not offered is not imported, so it is
/// neither found nor called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// The only tools that are offered; all tools if absent.
    pub only: Option<BTreeSet<String>>,
    /// Tools that are not offered, even if `only` contains them.
    pub denied: BTreeSet<String>,
}

impl ToolSelection {
    /// Whether a tool is offered.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        let is_named = |only: &BTreeSet<String>| only.contains(tool);
        self.only.as_ref().is_none_or(is_named) && !self.denied.contains(tool)
    }

    /// The names in the lists, each with the setting that contains it.
    pub(super) fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let only = self.only.iter().flatten().map(|name| ("tools", &**name));
        only.chain(self.denied.iter().map(|name| ("deny", &**name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_denied_tool_is_not_offered_even_if_it_is_listed() {
        let selection = ToolSelection {
            only: Some(names(&["read", "drop"])),
            denied: names(&["drop"]),
        };
        let offered = ["read", "drop", "write"].map(|tool| selection.offers(tool));
        assert_eq!(offered, [true, false, false]);
        assert!(ToolSelection::default().offers("anything"));
    }
}
