//! Tries an import: a server of its own over a temporary directory, with the import's packages, answers some of their
//! questions. It has the grants of the configuration, and no other package.

use anyhow::Context;
use charter_contract::shorten;
use charter_engine::DryRun;
use charter_import::package::SampleQuestion;
use serde_json::{Value, json};

use super::MergedPackage;
use crate::client::Client;
use crate::commands::ask::new_request;
use crate::commands::package::bundle;
use crate::config::{Config, ModelConfig};
use crate::failure::ReportedFailure;
use crate::terminal;

/// Questions of one trial.
const MAX_QUESTIONS: usize = 3;
/// Characters of an answer that the report quotes.
const QUOTED: usize = 300;

/// The answer to a question.
pub(super) struct TriedQuestion {
    pub(super) question: String,
    /// Whether the tool of the question's operation was called.
    pub(super) is_right: bool,
    /// The beginning of the answer, or the reason why there is none.
    pub(super) answer: String,
}

impl TriedQuestion {
    pub(super) fn to_value(&self) -> Value {
        json!({"question": self.question, "right": self.is_right, "answer": self.answer})
    }

    pub(super) fn to_line(&self) -> String {
        let mark = if self.is_right { "ok  " } else { "FAIL" };
        format!("  {mark} {}: {}", self.question, self.answer)
    }
}

/// Registers the packages in a new server, and asks questions of the first ones.
pub(super) async fn run(
    packages: &[MergedPackage],
    dry_run: DryRun,
    config: &Config,
) -> anyhow::Result<Vec<TriedQuestion>> {
    let folder = tempfile::tempdir().context("creating a temporary directory")?;
    let config = Config {
        data_dir: folder.path().to_owned(),
        model: ModelConfig {
            directory: config.read_only_model(),
            cache: Some(config.model_cache()),
            ..config.model.clone()
        },
        tools: config.tools.clone(),
        log: config.log.clone(),
        ..Config::default()
    };
    let bar = terminal::spinner("trying the import in a server of its own");
    let client = Client::connect(&config).await?;
    let tried = register_and_ask(packages, dry_run, &client).await;
    bar.finish_and_clear();
    client.close().await?;
    tried
}

async fn register_and_ask(
    packages: &[MergedPackage],
    dry_run: DryRun,
    client: &Client,
) -> anyhow::Result<Vec<TriedQuestion>> {
    for package in packages {
        let files = match dry_run {
            DryRun::Yes => json!({"files": package.made.files}),
            DryRun::No => bundle(&package.directory)?,
        };
        let registering = client.post("/v1/packages", Some(&files)).await;
        registering.with_context(|| format!("registering {}", package.made.name))?;
    }
    let questions = packages.iter().flat_map(|package| &package.made.questions);
    let mut tried = Vec::new();
    for question in questions.take(MAX_QUESTIONS) {
        tried.push(ask(question, client).await?);
    }
    Ok(tried)
}

async fn ask(question: &SampleQuestion, client: &Client) -> anyhow::Result<TriedQuestion> {
    let request = new_request(&question.text, &json!({}))?;
    let (is_right, answer) = match client.ask(&request, |_| {}).await {
        Ok(answer) => {
            let used = answer.pointer("/metadata/tools_used");
            let mut used = used.and_then(Value::as_array).into_iter().flatten();
            let content = answer["content"].as_str().unwrap_or_default().to_owned();
            (used.any(|tool| *tool == question.tool.as_str()), content)
        }
        Err(error) => match error.downcast::<ReportedFailure>() {
            Ok(reported) => (false, reported.to_string()),
            Err(error) => return Err(error),
        },
    };
    let line = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(TriedQuestion {
        question: question.text.clone(),
        is_right,
        answer: shorten::to_chars(&line, QUOTED).into_owned(),
    })
}
