//! `charter gate …`

use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// See what the gate says, and why.
#[derive(Debug, Subcommand)]
pub(crate) enum Gate {
    /// Explain why a call would be allowed, asked about or refused, or why a run's calls were.
    ///
    /// Nothing is called, written or counted. Exit code 1 when the gate would refuse the call.
    Explain(Explain),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("subject").required(true).args(["tool", "run"]))]
pub(crate) struct Explain {
    /// The tool of a call that has not happened.
    tool: Option<String>,
    /// An argument of the call: NAME=VALUE, JSON where it reads as such.
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", value_parser = super::parameter, conflicts_with = "run")]
    parameters: Vec<(String, Value)>,
    /// The call as a step of this skill.
    #[arg(long, value_name = "ID", conflicts_with_all = ["run", "playbook"])]
    skill: Option<String>,
    /// The call as a step of this playbook; without one and without a skill, as the one step of a plan.
    #[arg(long, value_name = "ID", conflicts_with = "run")]
    playbook: Option<String>,
    /// Which step, where several call the tool; or the one step of the run.
    #[arg(long, value_name = "ID")]
    step: Option<String>,
    /// The call in a run that changes nothing.
    #[arg(long, conflicts_with = "run")]
    dry_run: bool,
    /// The persona that is answered; that of requests which name none when absent.
    #[arg(long, conflicts_with = "run")]
    persona: Option<String>,
    /// What the gate said to this run, and what its steps wait for.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

impl Explain {
    fn body(&self) -> Value {
        match &self.run {
            Some(run) => json!({"run": run, "step": self.step}),
            None => {
                let parameters: Map<String, Value> = self.parameters.iter().cloned().collect();
                json!({
                    "tool": self.tool, "parameters": parameters, "skill": self.skill,
                    "playbook": self.playbook, "step": self.step, "dry_run": self.dry_run,
                    "persona": self.persona,
                })
            }
        }
    }
}

pub(crate) async fn run(command: &Gate, config: &Config, format: Format) -> anyhow::Result<u8> {
    let Gate::Explain(explain) = command;
    let client = Client::connect(config).await?;
    let found = client.post("/v1/gate/explain", Some(&explain.body())).await;
    client.close().await?;
    let found = found?;
    output::print(format, &found, |found| match explain.run {
        Some(_) => of_run(found),
        None => of_call(found),
    })?;
    let refused = found["verdict"] == "deny";
    Ok(if refused { EXIT_NEGATIVE } else { EXIT_OK })
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// The verdict and the rules; what was taken for the facts of a run, where rules look at them.
fn of_call(found: &Value) -> String {
    let verdict = text(found, "verdict");
    let place = match (found["subject"].as_str(), found["step"].as_str()) {
        (Some(subject), Some(step)) => {
            format!("the step {step} of the {} {subject}", text(found, "kind"))
        }
        _ => "a plan of one step".to_owned(),
    };
    let mut lines = vec![format!(
        "{} by {} ({}) as {place}: {}",
        text(found, "tool"),
        text(found, "user"),
        text(found, "role"),
        verdict.replace('_', " ")
    )];
    if verdict == "skipped" {
        let why =
            "The gate is not asked: the call writes, and its tool cannot say what it would do.";
        lines.push(why.to_owned());
        return lines.join("\n");
    }
    let rules = found["rules"].as_array().into_iter().flatten();
    for asked in ["now", "after_approval", "not_evaluated"] {
        let mut of_kind = rules
            .clone()
            .filter(|rule| rule["phase"] == asked)
            .peekable();
        if of_kind.peek().is_some() {
            lines.push(format!("\n{}", when_asked(asked)));
            lines.extend(of_kind.map(of_rule));
        }
    }
    if rules.clone().any(looks_at_history) {
        let assumed = &found["assumed"];
        lines.push(format!(
            "\nWhat nobody knows before a run, taken as: {assumed}"
        ));
    }
    lines.join("\n")
}

fn when_asked(word: &str) -> &'static str {
    match word {
        "now" => "Asked now:",
        "after_approval" => {
            "Asked once a person has approved; shown as it would answer if nobody had:"
        }
        _ => "Not asked, because something else refuses:",
    }
}

/// What a rule says, which it is and where it comes from; below it why, and in whose words.
fn of_rule(rule: &Value) -> String {
    let says = text(rule, "effect").replace('_', " ");
    let mut line = format!("  {says:<17} {} {}", text(rule, "kind"), text(rule, "id"));
    if let (Some(layer), Some(package)) = (rule["layer"].as_str(), rule["package"].as_str()) {
        let version = text(rule, "package_version");
        line.push_str(&format!(" ({layer}, {package} {version})"));
    }
    for detail in ["reason", "message", "note"] {
        if let Some(said) = rule[detail].as_str() {
            line.push_str(&format!("\n      {said}"));
        }
    }
    if let Some(facts) = rule["run_facts"].as_array() {
        let facts: Vec<&str> = facts.iter().filter_map(Value::as_str).collect();
        line.push_str(&format!(
            "\n      It looks at the run: {}.",
            facts.join(", ")
        ));
    }
    line
}

/// Whether a rule looks at more of a run than what it executes.
fn looks_at_history(rule: &Value) -> bool {
    let mut facts = rule["run_facts"].as_array().into_iter().flatten();
    facts.any(|fact| !matches!(fact.as_str(), Some("kind" | "subject" | "mission")))
}

/// Each step with its decisions, their rules, and what it waits for.
fn of_run(found: &Value) -> String {
    let mut lines = vec![format!(
        "{}: {}",
        text(found, "run_id"),
        text(found, "status").replace('_', " ")
    )];
    for step in found["steps"].as_array().into_iter().flatten() {
        lines.push(format!(
            "{} ({}): {}",
            text(step, "step"),
            text(step, "tool"),
            text(step, "state").replace('_', " ")
        ));
        for decision in step["decisions"].as_array().into_iter().flatten() {
            lines.push(of_decision(decision));
        }
        for wait in step["waits_for"].as_array().into_iter().flatten() {
            lines.push(format!("  waits for {wait}"));
        }
    }
    lines.join("\n")
}

fn of_decision(decision: &Value) -> String {
    let mut line = format!(
        "  {} {}",
        text(decision, "at"),
        text(decision, "event").replace('_', " ")
    );
    if let Some(by) = decision["by"].as_str() {
        line.push_str(&format!(" by {by}"));
    }
    let said = &decision["policy_decision"];
    for list in ["rules", "permitted_by", "warnings"] {
        for rule in said[list].as_array().into_iter().flatten() {
            line.push_str(&format!(
                "\n    {} {} {}: {}",
                text(said, "verdict"),
                text(rule, "kind"),
                text(rule, "id"),
                text(rule, "message")
            ));
        }
    }
    if let Some(message) = decision["failure"]["message"].as_str() {
        line.push_str(&format!("\n    {message}"));
    }
    line
}
