//! Whether a policy document holds for every tool that it governs: what registration asks.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::{Policy as CedarPolicy, PolicyId as CedarId};
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::tool::Tool;
use charter_contract::validate::nearest;

use super::rules::{Fault, actions, parse, takes_in};
use super::schema::{ACTION_GROUPS, group};
use super::typed;
use crate::catalogue::{Found, View};
use crate::glob;

/// One thing wrong with a policy document, or worth a look.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// It cannot be registered.
    Error(Fault),
    /// It can.
    Warning(Fault),
}

/// Everything wrong with a document's Cedar text, by itself and for the tools in view.
pub(crate) fn misfits(policy: &Policy, text: &str, view: &View) -> Vec<Misfit> {
    let rules = match parse(&policy.policy_id, text) {
        Ok(rules) => rules,
        Err(faults) => return faults.into_iter().map(Misfit::Error).collect(),
    };
    let tools = governed(policy, view);
    if tools.is_empty() {
        let message = "it governs no tool that is here, so its rules were only parsed";
        return vec![Misfit::Warning(Fault::new(message))];
    }
    let mut misfits: Vec<Misfit> = Vec::new();
    for rule in &rules {
        let faults = unknown_actions(rule, text, &tools).into_iter();
        misfits.extend(faults.chain(idle(rule, &tools)).map(Misfit::Error));
    }
    if misfits.is_empty() {
        misfits = mistyped(&rules, &tools);
    }
    misfits
}

/// The tools in view that a document governs, by id.
fn governed(policy: &Policy, view: &View) -> Vec<Found<Tool>> {
    let covers = |tool: &Found<Tool>| {
        let mut globs = policy.governs.iter();
        globs.any(|glob| glob::covers(glob.as_ref(), tool.document().tool_id.as_ref()))
    };
    view.tools().filter(covers).collect()
}

/// Actions that are no tool which the document governs: a rule about them would never be asked.
fn unknown_actions(rule: &CedarPolicy, text: &str, tools: &[Found<Tool>]) -> Vec<Fault> {
    let known: BTreeSet<&str> = tools
        .iter()
        .map(|tool| tool.document().tool_id.as_ref())
        .collect();
    let unknown = actions(rule).filter(|action| {
        let id = action.id().unescaped();
        !ACTION_GROUPS.contains(&id) && !known.contains(id)
    });
    let unknown: BTreeSet<String> = unknown.map(|action| action.to_string()).collect();
    unknown
        .into_iter()
        .map(|action| {
            let id = action.trim_start_matches("Action::").trim_matches('"');
            let names = known.iter().copied().chain(ACTION_GROUPS);
            Fault {
                advice: nearest(id, names),
                span: text.find(&action).map(|at| at..at + action.len()),
                ..Fault::new(format!("`{action}` is no tool that this policy governs"))
            }
        })
        .collect()
}

/// A rule whose scope takes in none of the tools.
fn idle(rule: &CedarPolicy, tools: &[Found<Tool>]) -> Option<Fault> {
    let name = rule.annotation("id").unwrap_or_default();
    (!tools.iter().any(|tool| is_asked(rule, tool.document()))).then(|| Fault {
        advice: Some("a group of tools is written `action in Action::\"write\"`".to_owned()),
        ..Fault::new(format!(
            "the scope of the rule `{name}` takes in no tool that this policy governs"
        ))
    })
}

/// What does not hold for some tool, each fault once with the first tool that shows it; and what
/// is odd for every tool that the rule is asked about.
fn mistyped(rules: &[CedarPolicy], tools: &[Found<Tool>]) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    let mut seen = BTreeSet::new();
    let mut asked: BTreeMap<CedarId, usize> = BTreeMap::new();
    let mut odd: BTreeMap<(CedarId, String), (usize, Fault)> = BTreeMap::new();
    for tool in tools.iter().map(Found::document) {
        let applying: Vec<&CedarPolicy> =
            rules.iter().filter(|rule| is_asked(rule, tool)).collect();
        for rule in &applying {
            *asked.entry(rule.id().clone()).or_default() += 1;
        }
        let checked = match checked(tool, &applying) {
            Ok(checked) => checked,
            Err(message) => {
                misfits.push(Misfit::Error(Fault::new(message)));
                continue;
            }
        };
        for (rule, fault) in checked.errors {
            if seen.insert((rule, fault.message.clone())) {
                let message = format!("for the tool `{}`: {}", tool.tool_id, fault.message);
                misfits.push(Misfit::Error(Fault { message, ..fault }));
            }
        }
        for (rule, fault) in checked.warnings {
            let key = (rule, fault.message.clone());
            odd.entry(key).or_insert((0, fault)).0 += 1;
        }
    }
    let everywhere = odd
        .into_iter()
        .filter(|((rule, _), (times, _))| asked.get(rule) == Some(times));
    misfits.extend(everywhere.map(|(_, (_, fault))| Misfit::Warning(fault)));
    misfits
}

fn checked(tool: &Tool, rules: &[&CedarPolicy]) -> Result<typed::Checked, String> {
    let set = typed::set(rules.iter().map(|rule| (*rule).clone()))?;
    let validator = typed::validator(tool, rules.iter().copied())?;
    Ok(typed::check(&validator, &set))
}

fn is_asked(rule: &CedarPolicy, tool: &Tool) -> bool {
    takes_in(rule, tool.tool_id.as_ref(), group(tool.tool_class))
}

/// Why a document that is in force would not hold for a tool as it is to become.
pub(crate) fn breaks(policy: &Policy, tool: &Tool) -> Option<String> {
    let text = policy.cedar.as_ref()?;
    let rules = parse(&policy.policy_id, text.as_str()).ok()?;
    let applying: Vec<&CedarPolicy> = rules.iter().filter(|rule| is_asked(rule, tool)).collect();
    match checked(tool, &applying) {
        Ok(checked) => checked
            .errors
            .into_iter()
            .next()
            .map(|(_, fault)| fault.message),
        Err(message) => Some(message),
    }
}
