//! Validates policy documents for every tool that they govern, at registration.
//!
//! A rule is validated once per declaration: tools with equal declarations are equivalent, unless a rule names them.
//! The number of checks is computed, and bounded, in advance.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cedar_policy::{EntityUid, Policy as CedarPolicy, PolicyId as CedarId, Validator};
use charter_contract::bounds::{CEDAR_CHECKS, CEDAR_TOOL_RULES};
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::tool::Tool;
use charter_contract::deeply::deeply;
use charter_contract::validate::nearest;

use super::fault::CedarFault;
use super::layer::{self, admit_texts, too_many_rules};
use super::rules::{MOST_FAULTS, actions, parse, takes_in};
use super::schema::{ACTION_GROUPS, group};
use super::shape::shape;
use super::typed;
use crate::catalogue::{CatalogueEntry, ResolvedDocument, View};
use crate::glob;

/// The maximum number of a rule's unknown actions that are reported.
const MOST_UNKNOWN: usize = 10;

/// A problem of a policy document.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// It prevents registration.
    Error(CedarFault),
    /// It does not prevent registration.
    Warning(CedarFault),
}

/// The remaining number of checks of one registration.
#[derive(Debug)]
pub(crate) struct Checks {
    left: usize,
}

impl Default for Checks {
    fn default() -> Self {
        Self { left: CEDAR_CHECKS }
    }
}

impl Checks {
    /// # Errors
    /// The reason why that many checks are not allowed.
    fn take(&mut self, count: usize) -> Result<(), String> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(format!(
                "the policies were not checked: more than {CEDAR_CHECKS} checks of a rule against a tool \
                 (CEDAR_CHECKS); let policies govern fewer tools, or register fewer at once"
            )),
        }
    }
}

/// Returns all problems of these documents' Cedar texts, both independent of tools and for the tools in view.
pub(crate) fn misfits(policies: &[&Policy], view: &View, checks: &mut Checks) -> Vec<Vec<Misfit>> {
    deeply(|| {
        let tools: Vec<ResolvedDocument<Tool>> = view.tools().collect();
        let tools: Vec<&Tool> = tools.iter().map(ResolvedDocument::document).collect();
        let mut misfits = Vec::new();
        let mut sound = Vec::new();
        for (at, policy) in policies.iter().enumerate() {
            let text = policy.cedar.as_ref().map(AsRef::as_ref).unwrap_or_default();
            misfits.push(match alone(policy, text, &tools) {
                Ok((rules, tools)) => {
                    sound.push(Sound { at, rules, tools });
                    Vec::new()
                }
                Err(found) => found,
            });
        }
        for (at, found) in mistyped(&sound, checks) {
            misfits[at].extend(found);
        }
        misfits
    })
}

/// Returns a document's rules and the tools that it governs, or the problems that do not depend on parameters.
fn alone<'t>(
    policy: &Policy,
    text: &str,
    tools: &[&'t Tool],
) -> Result<(Vec<CedarPolicy>, Vec<&'t Tool>), Vec<Misfit>> {
    let rules = parse(&policy.policy_id, text)
        .map_err(|faults| faults.into_iter().map(Misfit::Error).collect::<Vec<_>>())?;
    let tools: Vec<&Tool> = tools
        .iter()
        .copied()
        .filter(|tool| governs(policy, tool))
        .collect();
    if tools.is_empty() {
        let message = "it governs no registered tool, so its rules were only parsed";
        return Err(vec![Misfit::Warning(CedarFault::new(message))]);
    }
    let known: BTreeSet<&str> = tools.iter().map(|tool| tool.tool_id.as_ref()).collect();
    let mut faults = Vec::new();
    for rule in &rules {
        faults.extend(unknown_actions(rule, text, &known));
        faults.extend(idle(rule, &tools));
    }
    if faults.is_empty() {
        return Ok((rules, tools));
    }
    let faults = faults.into_iter().take(MOST_FAULTS);
    Err(faults.map(Misfit::Error).collect())
}

fn governs(policy: &Policy, tool: &Tool) -> bool {
    let mut globs = policy.governs.iter();
    globs.any(|glob| glob::covers(glob.as_ref(), tool.tool_id.as_ref()))
}

/// Returns actions that are not tools governed by the document: a rule about them would never be evaluated.
fn unknown_actions(rule: &CedarPolicy, text: &str, known: &BTreeSet<&str>) -> Vec<CedarFault> {
    let unknown = actions(rule).filter(|action| {
        let id = action.id().unescaped();
        !ACTION_GROUPS.contains(&id) && !known.contains(id)
    });
    let unknown: BTreeSet<String> = unknown.map(|action| action.to_string()).collect();
    unknown
        .into_iter()
        .take(MOST_UNKNOWN)
        .map(|action| {
            let id = action.trim_start_matches("Action::").trim_matches('"');
            let names = known.iter().copied().chain(ACTION_GROUPS);
            CedarFault {
                advice: nearest(id, names),
                span: text.find(&action).map(|at| at..at + action.len()),
                ..CedarFault::new(format!("`{action}` is not a tool that this policy governs"))
            }
        })
        .collect()
}

/// Returns a warning for a rule whose scope covers none of the tools.
fn idle(rule: &CedarPolicy, tools: &[&Tool]) -> Option<CedarFault> {
    let name = rule.annotation("id").unwrap_or_default();
    (!tools.iter().any(|tool| is_asked(rule, tool))).then(|| CedarFault {
        advice: Some("a group of tools is written `action in Action::\"write\"`".to_owned()),
        ..CedarFault::new(format!(
            "the scope of the rule `{name}` matches no tool that this policy governs"
        ))
    })
}

fn is_asked(rule: &CedarPolicy, tool: &Tool) -> bool {
    takes_in(rule, tool.tool_id.as_ref(), group(tool.tool_class))
}

/// A document that is valid independently of tools.
struct Sound<'t> {
    /// Its index among the documents.
    at: usize,
    rules: Vec<CedarPolicy>,
    /// The tools that it governs.
    tools: Vec<&'t Tool>,
}

/// Returns the type errors for each tool, each once with the first tool that shows it, and the warnings that apply to
/// every tool for which the rule is evaluated.
fn mistyped(sound: &[Sound<'_>], checks: &mut Checks) -> Vec<(usize, Vec<Misfit>)> {
    let mentioned: Vec<EntityUid> = mentioned(sound.iter().flat_map(|policy| &policy.rules));
    let tools = sound.iter().flat_map(|policy| policy.tools.iter().copied());
    let declarations = Declarations::collect(tools, &mentioned);
    let governed: Vec<BTreeMap<usize, Vec<&Tool>>> = sound
        .iter()
        .map(|policy| declarations.grouped(&policy.tools))
        .collect();
    let counts = sound.iter().zip(&governed);
    let count = counts.map(|(policy, groups)| policy.rules.len().saturating_mul(groups.len()));
    if let Err(message) = checks.take(count.fold(0, usize::saturating_add)) {
        let refused = |policy: &Sound<'_>| {
            let fault = Misfit::Error(CedarFault::new(message.clone()));
            (policy.at, vec![fault])
        };
        return sound.iter().map(refused).collect();
    }
    let mut findings: Vec<Findings> = sound.iter().map(|_| Findings::default()).collect();
    for (group, first) in declarations.first.iter().enumerate() {
        let validator = typed::validator(first, &mentioned);
        for ((policy, groups), findings) in sound.iter().zip(&governed).zip(&mut findings) {
            if let Some(tools) = groups.get(&group) {
                findings.check(&validator, policy, tools);
            }
        }
    }
    let findings = sound.iter().zip(findings);
    findings
        .map(|(policy, findings)| (policy.at, findings.misfits()))
        .collect()
}

/// Groups of tools with declarations that rules cannot distinguish.
struct Declarations<'t> {
    groups: HashMap<&'t str, usize>,
    /// The first tool of each group.
    first: Vec<&'t Tool>,
}

impl<'t> Declarations<'t> {
    fn collect(tools: impl Iterator<Item = &'t Tool>, mentioned: &[EntityUid]) -> Self {
        let mentioned = mentioned.iter().map(|action| action.id().unescaped());
        let mentioned: BTreeSet<&str> = mentioned.chain(ACTION_GROUPS).collect();
        let by_id: BTreeMap<&str, &Tool> =
            tools.map(|tool| (tool.tool_id.as_ref(), tool)).collect();
        let mut alike: HashMap<(&str, String), usize> = HashMap::new();
        let mut declarations = Self {
            groups: HashMap::new(),
            first: Vec::new(),
        };
        for (id, tool) in by_id {
            let next = declarations.first.len();
            let group = match serde_json::to_string(&(tool.parameters(), &tool.input_schema)) {
                // A rule may treat a tool that it names differently.
                Ok(parameters) if !mentioned.contains(id) => {
                    let declared = (group(tool.tool_class), parameters);
                    *alike.entry(declared).or_insert(next)
                }
                Ok(_) | Err(_) => next,
            };
            if group == next {
                declarations.first.push(tool);
            }
            declarations.groups.insert(id, group);
        }
        declarations
    }

    fn grouped(&self, tools: &[&'t Tool]) -> BTreeMap<usize, Vec<&'t Tool>> {
        let mut grouped: BTreeMap<usize, Vec<&Tool>> = BTreeMap::new();
        for &tool in tools {
            if let Some(group) = self.groups.get(tool.tool_id.as_ref() as &str) {
                grouped.entry(*group).or_default().push(tool);
            }
        }
        grouped
    }
}

/// The results of checking one document's rules.
#[derive(Default)]
struct Findings {
    misfits: Vec<Misfit>,
    seen: BTreeSet<(CedarId, String)>,
    /// The number of tools for which each rule is evaluated.
    asked: BTreeMap<CedarId, usize>,
    /// Warnings, with the number of tools that they apply to.
    odd: BTreeMap<(CedarId, String), (usize, CedarFault)>,
}

impl Findings {
    /// Checks the rules that are evaluated for tools with equal declarations.
    fn check(
        &mut self,
        validator: &Result<Validator, String>,
        policy: &Sound<'_>,
        tools: &[&Tool],
    ) {
        let Some(tool) = tools.first() else {
            return;
        };
        let applying: Vec<&CedarPolicy> = policy
            .rules
            .iter()
            .filter(|rule| is_asked(rule, tool))
            .collect();
        for rule in &applying {
            *self.asked.entry(rule.id().clone()).or_default() += tools.len();
        }
        let checked = match checked(validator, &applying) {
            Ok(checked) => checked,
            Err(message) => {
                self.misfits.push(Misfit::Error(CedarFault::new(message)));
                return;
            }
        };
        for (rule, fault) in checked.errors {
            if self.seen.insert((rule, fault.message.clone())) {
                let message = format!("for the tool `{}`: {}", tool.tool_id, fault.message);
                self.misfits
                    .push(Misfit::Error(CedarFault { message, ..fault }));
            }
        }
        for (rule, fault) in checked.warnings {
            let key = (rule, fault.message.clone());
            self.odd.entry(key).or_insert((0, fault)).0 += tools.len();
        }
    }

    fn misfits(self) -> Vec<Misfit> {
        let asked = self.asked;
        let everywhere = self
            .odd
            .into_iter()
            .filter(|((rule, _), (times, _))| asked.get(rule) == Some(times));
        let odd = everywhere.map(|(_, (_, fault))| Misfit::Warning(fault));
        let misfits = self.misfits.into_iter().take(MOST_FAULTS);
        misfits.chain(odd.take(MOST_FAULTS)).collect()
    }
}

fn mentioned<'r>(rules: impl Iterator<Item = &'r CedarPolicy>) -> Vec<EntityUid> {
    let mentioned: BTreeSet<EntityUid> = rules.flat_map(actions).collect();
    mentioned.into_iter().collect()
}

fn checked(
    validator: &Result<Validator, String>,
    rules: &[&CedarPolicy],
) -> Result<typed::Checked, String> {
    let validator = validator.as_ref().map_err(Clone::clone)?;
    let set = layer::set(rules.iter().map(|rule| (*rule).clone()))?;
    Ok(typed::check(validator, &set))
}

/// Returns the reasons why a document in force would be invalid for the new versions of these tools, by the tools'
/// indexes.
///
/// # Errors
/// The reason why it was not checked.
pub(crate) fn breaks(
    policy: &Policy,
    tools: &[&Tool],
    checks: &mut Checks,
) -> Result<Vec<(usize, String)>, String> {
    deeply(|| {
        let text = policy.cedar.as_ref().map(|text| text.as_str());
        // A document that is already broken is not reported again.
        let Some(Ok(rules)) = text.map(|text| parse(&policy.policy_id, text)) else {
            return Ok(Vec::new());
        };
        let mentioned = mentioned(rules.iter());
        let declarations = Declarations::collect(tools.iter().copied(), &mentioned);
        checks.take(rules.len().saturating_mul(declarations.first.len()))?;
        let why: Vec<Option<String>> = declarations
            .first
            .iter()
            .map(|tool| {
                let applying: Vec<&CedarPolicy> =
                    rules.iter().filter(|rule| is_asked(rule, tool)).collect();
                match checked(&typed::validator(tool, &mentioned), &applying) {
                    Ok(checked) => checked.errors.into_iter().next().map(|(_, f)| f.message),
                    Err(message) => Some(message),
                }
            })
            .collect();
        let broken = tools.iter().enumerate().filter_map(|(at, tool)| {
            let group = declarations.groups.get(tool.tool_id.as_ref() as &str)?;
            Some((at, why.get(*group)?.clone()?))
        });
        Ok(broken.collect())
    })
}

/// Returns a message if more rules in view govern a tool than are evaluated per call. Only pairs that satisfy
/// `concerns` are considered.
pub(crate) fn crowded(
    view: &View,
    concerns: impl Fn(&ResolvedDocument<Tool>, &CatalogueEntry<Policy>) -> bool,
) -> Option<String> {
    deeply(|| {
        let mut counts: HashMap<*const Policy, usize> = HashMap::new();
        let mut parsed: HashMap<*const Policy, Vec<CedarPolicy>> = HashMap::new();
        for found in view.tools() {
            let tool = found.document();
            for layer in view.policies_over(tool.tool_id.as_ref()) {
                if !layer.iter().any(|entry| concerns(&found, entry)) {
                    continue;
                }
                if let Err(message) = admit_texts(layer.iter().map(|entry| &entry.document)) {
                    return Some(format!("for the tool `{}`: {message}", tool.tool_id));
                }
                let rules = layer.iter().map(|entry| {
                    let count = counts.entry(std::ptr::from_ref(&entry.document));
                    *count.or_insert_with(|| count_of(&entry.document))
                });
                if rules.sum::<usize>() <= CEDAR_TOOL_RULES {
                    continue;
                }
                // Not every rule of a document covers each tool that the document governs.
                let mut asked = 0;
                for entry in &layer {
                    let rules = parsed.entry(std::ptr::from_ref(&entry.document));
                    let rules = rules.or_insert_with(|| rules_of(&entry.document));
                    asked += rules.iter().filter(|rule| is_asked(rule, tool)).count();
                    if asked > CEDAR_TOOL_RULES {
                        return Some(too_many_rules(tool));
                    }
                }
            }
        }
        None
    })
}

/// Parse errors are reported for their own document.
fn rules_of(policy: &Policy) -> Vec<CedarPolicy> {
    let text = policy.cedar.as_ref().map(|text| text.as_str());
    let rules = text.map(|text| parse(&policy.policy_id, text));
    rules.and_then(Result::ok).unwrap_or_default()
}

fn count_of(policy: &Policy) -> usize {
    let text = policy.cedar.as_ref().map(|text| text.as_str());
    let shape = text.and_then(|text| shape(text).ok());
    shape.map_or(0, |shape| shape.rules)
}
