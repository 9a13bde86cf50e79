//! Checks the parts of a document in another language: jq, CEL, templates, files.

use charter_contract::bounds::{PACKAGE_PROBLEMS, PROMPT_BYTES};
use charter_contract::catalogue::Document;
use charter_contract::catalogue::guardrail::Guardrail;
use charter_contract::catalogue::lens::{DomainLens, LensSourceType};
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::catalogue::schedule::{Schedule, ScheduleTiming};
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::{Implementation, Tool};
use serde_json::Value;

use super::super::{Package, Problem, WithLocation};
use crate::expression::{Budget, Condition, Roots};
use crate::graph::{self, GraphError, StepGraph};
use crate::jq::Filter;
use crate::schedule::CronSchedule;
use crate::{console_link, script, template};

pub(super) fn problems(document: &WithLocation<Document>, package: &Package) -> Vec<Problem> {
    let faults = match &document.value {
        Document::Skill(skill) => {
            let size = too_large("/execution_plan/steps", graph::from_skill(skill));
            skill_faults(skill).into_iter().chain(size).collect()
        }
        Document::Tool(tool) => tool_faults(tool, package),
        Document::Guardrail(guardrail) => guardrail_faults(guardrail),
        Document::Template(template) => {
            template_fault("/structure", &Value::Object(template.structure.clone()))
        }
        Document::PromptTemplate(prompt) => prompt_faults(prompt),
        Document::DomainLens(lens) => lens_faults(lens, package),
        Document::Playbook(playbook) => {
            let size = too_large("/steps", graph::from_playbook(playbook));
            let filter = playbook.parameters_from_findings.as_ref();
            let filter = filter.and_then(|filter| Filter::compile(filter.as_str()).err());
            let filter = filter.map(|error| fault("/parameters_from_findings", "jq", error));
            let scripts = script_faults(playbook).into_iter();
            scripts.chain(size).chain(filter).collect()
        }
        Document::Schedule(schedule) => schedule_faults(schedule),
        // Cedar is checked against the tools in view, in `policies`.
        Document::Policy(_)
        | Document::MissionType(_)
        | Document::Agent(_)
        | Document::GraphNode(_)
        | Document::GraphEdge(_)
        | Document::Domain(_) => Vec::new(),
    };
    faults
        .into_iter()
        .map(|fault| {
            Problem::at(
                &document.place,
                &fault.pointer,
                fault.keyword,
                fault.message,
            )
        })
        .collect()
}

struct Fault {
    pointer: String,
    keyword: &'static str,
    message: String,
}

/// Times that an expression never reaches, and time zones that do not exist, are refused at registration.
fn schedule_faults(schedule: &Schedule) -> Vec<Fault> {
    match &schedule.when {
        ScheduleTiming::Cron(timing) => match CronSchedule::parse(timing) {
            Ok(_) => Vec::new(),
            Err(error) => vec![fault(
                format!("/when/cron{}", error.pointer()),
                "cron",
                error,
            )],
        },
        ScheduleTiming::EveryS(_)
        | ScheduleTiming::At(_)
        | ScheduleTiming::Webhook(_)
        | ScheduleTiming::Finding(_) => Vec::new(),
    }
}

fn fault(
    pointer: impl Into<String>,
    keyword: &'static str,
    message: impl std::fmt::Display,
) -> Fault {
    Fault {
        pointer: pointer.into(),
        keyword,
        message: message.to_string(),
    }
}

/// Rejects a plan with more steps or dependencies than a graph may have. Other compile errors are reported when it runs
/// (ruling 12).
fn too_large(pointer: &str, compiled: Result<StepGraph, GraphError>) -> Option<Fault> {
    let error = compiled.err()?;
    matches!(error, GraphError::TooLarge { .. }).then(|| fault(pointer, "maxItems", error))
}

/// Returns the invalid placeholders of scripts (ruling 31).
fn script_faults(playbook: &Playbook) -> Vec<Fault> {
    let scripts = playbook.scripts.iter().enumerate();
    let faults = scripts.flat_map(|(at, script)| {
        let found = script::read(script).err().unwrap_or_default().into_iter();
        found.map(move |found| fault(format!("/scripts/{at}/body"), "placeholder", found))
    });
    faults.take(PACKAGE_PROBLEMS).collect()
}

fn skill_faults(skill: &Skill) -> Vec<Fault> {
    let Some(analysis) = &skill.analysis else {
        return Vec::new();
    };
    let rules = analysis.findings.iter().enumerate();
    let mut faults: Vec<Fault> = rules
        .filter_map(|(at, rule)| {
            let error = Filter::compile(rule.filter.as_str()).err()?;
            Some(fault(
                format!("/analysis/findings/{at}/filter"),
                "jq",
                error,
            ))
        })
        .collect();
    if let Some(summary) = &analysis.summary {
        faults.extend(template_fault(
            "/analysis/summary",
            &Value::String(summary.clone()),
        ));
    }
    faults
}

fn tool_faults(tool: &Tool, package: &Package) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(Implementation::Script {
        path: Some(path), ..
    }) = &tool.implementation
        && !package.files.contains_key(path.as_str())
    {
        let message = format!("the package has no file `{path}`");
        faults.push(fault("/implementation/path", "file", message));
    }
    let Some(evidence) = &tool.evidence else {
        return faults;
    };
    match (
        console_link::is_known(evidence.system.as_ref()),
        &evidence.console,
    ) {
        (false, None) => {
            let message = format!(
                "no cloud console shows `{}`: write aws.…, azure.… or gcp.…, or set `console` to the page that shows \
                 the original",
                evidence.system
            );
            faults.push(fault("/evidence/system", "console", message));
        }
        (true, Some(_)) => {
            let message = format!(
                "links for `{}` are built from type, source and native id: remove `console`",
                evidence.system
            );
            faults.push(fault("/evidence/console", "console", message));
        }
        (false, Some(_)) | (true, None) => {}
    }
    let filters = [
        ("native_id", &evidence.native_id),
        ("region", &evidence.region),
        ("account_id", &evidence.account_id),
    ];
    for (field, filter) in filters {
        if let Some(error) = filter
            .as_ref()
            .and_then(|f| Filter::compile(f.as_str()).err())
        {
            faults.push(fault(format!("/evidence/{field}"), "jq", error));
        }
    }
    if let Some(summary) = &evidence.summary {
        faults.extend(template_fault(
            "/evidence/summary",
            &Value::String(summary.to_string()),
        ));
    }
    faults
}

fn guardrail_faults(guardrail: &Guardrail) -> Vec<Fault> {
    let exceptions = guardrail.exceptions.iter().enumerate();
    let exceptions = exceptions.map(|(at, exception)| {
        (
            format!("/exceptions/{at}/condition"),
            exception.condition.as_str(),
        )
    });
    let when = guardrail
        .when
        .iter()
        .map(|when| ("/when".to_owned(), when.as_str()));
    // One call evaluates all of them.
    let mut budget = Budget::default();
    when.chain(exceptions)
        .filter_map(|(pointer, source)| {
            let affordable = budget.compile(source);
            let compiled = affordable.and_then(|()| Condition::compile(source, Roots::Gate));
            Some(fault(pointer, "cel", compiled.err()?))
        })
        .collect()
}

fn template_fault(pointer: &str, structure: &Value) -> Vec<Fault> {
    let error = template::check(structure).err();
    error
        .map(|error| fault(pointer, "template", error))
        .into_iter()
        .collect()
}

/// Returns the texts that are too long for a prompt even without values.
fn prompt_faults(prompt: &PromptTemplate) -> Vec<Fault> {
    let texts = [
        ("/system_prompt", &prompt.system_prompt),
        ("/task_prompt", &prompt.task_prompt),
    ];
    let long = texts
        .into_iter()
        .filter(|(_, text)| text.as_str().len() > PROMPT_BYTES);
    long.map(|(pointer, text)| {
        let bytes = text.as_str().len();
        let message = format!("it has {bytes} bytes, more than {PROMPT_BYTES}: shorten it");
        fault(pointer, "prompt", message)
    })
    .collect()
}

fn lens_faults(lens: &DomainLens, package: &Package) -> Vec<Fault> {
    let path = lens.source.reference.as_str();
    match lens.source.source_type {
        LensSourceType::File if !holds(package, path) => {
            vec![fault(
                "/source/ref",
                "file",
                format!("the package has no file or folder `{path}`"),
            )]
        }
        LensSourceType::File | LensSourceType::Url => Vec::new(),
    }
}

/// Returns whether there is a file with this path, or one below it.
fn holds(package: &Package, path: &str) -> bool {
    let below = format!("{path}/");
    let mut after = package.files.range(below.clone()..);
    package.files.contains_key(path)
        || after
            .next()
            .is_some_and(|(file, _)| file.starts_with(&below))
}
