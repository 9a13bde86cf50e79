//! The tools that plans of callers may call, by the names of the agent contracts, and the validation of calls.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::ids::{StepId, ToolDefinitionId, ToolId};
use charter_contract::json::{Profile, extent_of};
use charter_contract::violation::{Report, pointer_segment};
use serde_json::{Map, Value};

use crate::catalogue::{CatalogueEntry, View};
use crate::graph::{Arguments, StepAction};
use crate::parameters::argument_faults;
use crate::reference::{Reference, references};

/// The active tools of a view that are not internal.
#[derive(Debug)]
pub struct CallableTools<'v> {
    view: &'v View,
    mapped: OnceCell<BTreeMap<ToolDefinitionId, Vec<ToolId>>>,
}

impl<'v> CallableTools<'v> {
    /// Creates the set for a view.
    #[must_use]
    pub fn new(view: &'v View) -> Self {
        Self {
            view,
            mapped: OnceCell::new(),
        }
    }

    /// Returns the ids of the tools with this name: a catalogue id, or an id that the agent contracts derive from one
    /// (ruling 25), which several tools may share.
    #[must_use]
    pub fn ids_of(&self, name: &str) -> Vec<ToolId> {
        if let Some(found) = self.view.tool(name) {
            let tool = found.document();
            let id = callable(tool).then(|| tool.tool_id.clone());
            return id.into_iter().collect();
        }
        let known = ToolDefinitionId::parse(name).ok();
        let ids = known.and_then(|id| self.mapped().get(&id));
        ids.cloned().unwrap_or_default()
    }

    /// Returns the tool with this name.
    pub(super) fn named(&self, name: &str) -> Result<Arc<CatalogueEntry<Tool>>, String> {
        let absent = || format!("there is no tool `{name}`");
        match self.ids_of(name).as_slice() {
            [] => Err(absent()),
            [one] => {
                let found = self.view.tool(one.as_ref());
                found.map(|found| found.entry).ok_or_else(absent)
            }
            several => {
                let names: Vec<&str> = several.iter().map(AsRef::as_ref).collect();
                let names = names.join(", ");
                Err(format!("`{name}` is the name of several tools: {names}"))
            }
        }
    }

    /// Resolving the agent contracts' ids requires a scan of the whole catalogue.
    fn mapped(&self) -> &BTreeMap<ToolDefinitionId, Vec<ToolId>> {
        self.mapped.get_or_init(|| {
            let mut mapped: BTreeMap<ToolDefinitionId, Vec<ToolId>> = BTreeMap::new();
            for found in self.view.tools().filter(|found| callable(found.document())) {
                let id = &found.document().tool_id;
                let name = ToolDefinitionId::from_tool_id(id);
                mapped.entry(name).or_default().push(id.clone());
            }
            mapped
        })
    }
}

/// B000-10: internal tools are never visible to callers.
fn callable(tool: &Tool) -> bool {
    tool.status == Status::Active && !tool.is_internal()
}

/// A valid call.
pub(super) struct Call {
    pub(super) action: StepAction,
    pub(super) tool: Arc<CatalogueEntry<Tool>>,
}

/// Reads the calls of one plan, and reports problems.
pub(super) struct Calls<'c> {
    pub(super) tools: &'c CallableTools<'c>,
    /// Parameters that `${user.…}` may name.
    pub(super) parameters: BTreeSet<&'c str>,
    /// Parameters that are known to be absent, because the caller sent `null`.
    pub(super) absent: BTreeSet<&'c str>,
}

impl Calls<'_> {
    /// Returns the call of a step; `None` if the tool does not exist. `here` is the pointer to the step. Plans do not
    /// declare whether a step writes: the version of its tool that the run pins determines it.
    pub(super) fn call(
        &self,
        name: &str,
        parameters: &Map<String, Value>,
        here: &str,
        report: &mut Report,
    ) -> Option<Call> {
        let tool = match self.tools.named(name) {
            Ok(tool) => tool,
            Err(message) => {
                report.meaning(format!("{here}/tool"), "tool", message);
                return None;
            }
        };
        let document = &tool.document;
        for (pointer, keyword, message) in argument_faults(document, &self.given(parameters), here)
        {
            report.meaning(pointer, keyword, message);
        }
        Some(Call {
            action: StepAction::Call {
                tool: document.tool_id.clone(),
                arguments: Arguments::Template(parameters.clone()),
                script: None,
                writes: document.tool_class == ToolClass::Write,
            },
            tool,
        })
    }

    /// Returns the arguments that a call will have: an argument that refers to an absent parameter is omitted.
    fn given<'p>(&self, parameters: &'p Map<String, Value>) -> Cow<'p, Map<String, Value>> {
        if self.absent.is_empty() {
            return Cow::Borrowed(parameters);
        }
        let is_absent = |reference: &Reference| match reference {
            Reference::Parameter(name) => self.absent.contains(name.as_str()),
            Reference::Output { .. } => false,
        };
        let mut given = parameters.clone();
        for value in given.values_mut() {
            if references(value).is_ok_and(|found| found.iter().any(is_absent)) {
                *value = Value::Null;
            }
        }
        Cow::Owned(given)
    }

    /// Returns the steps whose output a step's values refer to, once per value, with the pointer to the value. `here`
    /// is the pointer to all values.
    pub(super) fn referred(
        &self,
        values: &Map<String, Value>,
        here: &str,
        report: &mut Report,
    ) -> Vec<(StepId, Arc<str>)> {
        let mut steps = Vec::new();
        for (name, value) in values {
            let pointer = format!("{here}/{}", pointer_segment(name));
            if let Err(much) = extent_of(value, Profile::PARAMETER) {
                report.meaning(pointer, "depth", format!("this {much}"));
                continue;
            }
            let found = match references(value) {
                Ok(found) => found,
                Err(error) => {
                    report.meaning(pointer, "reference", error.to_string());
                    continue;
                }
            };
            let pointer: Arc<str> = pointer.into();
            let mut seen = BTreeSet::new();
            for reference in found {
                match reference {
                    Reference::Output { step, .. } => {
                        if seen.insert(step.clone()) {
                            steps.push((step, Arc::clone(&pointer)));
                        }
                    }
                    Reference::Parameter(name) => self.needs(&name, &pointer, report),
                }
            }
        }
        steps
    }

    /// Reports a parameter that the run will not have.
    pub(super) fn needs(&self, name: &str, pointer: &str, report: &mut Report) {
        if !self.parameters.contains(name) {
            let message = format!("there is no parameter `{name}`");
            report.meaning(pointer, "reference", message);
        }
    }
}
