//! `charter model …`: the language models and the embedding model. Runs in this process, by its configuration; needs no
//! server.

use std::time::Duration;

use anyhow::Context;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, TenantId};
use charter_effects::{
    ModelAnswer, ModelFailure, ModelRequest, ModelRoute, ModelStage, Models, NamedSchema,
};
use charter_engine::Caller;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::boot;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK, ReportedFailure};
use crate::output::{self, Format};

/// Token limit of the answer to a test; reasoning models need some tokens first.
const TEST_TOKENS: u32 = 1_024;

/// List and test language models, and fetch the embedding model.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// List the routes to language models: provider, model, and where the key comes from. Sends no request.
    List(List),
    /// Request a short answer from the language model of one or each route; exit 1 if one fails.
    Test(Test),
    /// Fetch the embedding model into the cache, unless it is there, prepare it for use, and print its directory.
    Fetch,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// The tenant whose routes and keys apply.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<TenantId>,
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The route; all if absent.
    route: Option<Label>,
    /// The tenant whose routes and keys apply.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<TenantId>,
    /// Timeout of one route, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    timeout_ms: u64,
}

pub(crate) async fn run(command: &Model, config: &Config, format: Format) -> anyhow::Result<u8> {
    match command {
        Model::List(list) => show_routes(list, config, format),
        Model::Test(test) => ask(test, boot::models(config)?.as_ref(), format).await,
        Model::Fetch => fetch(config, format).await,
    }
}

fn show_routes(list: &List, config: &Config, format: Format) -> anyhow::Result<u8> {
    let models = boot::models(config)?;
    let routes = models.routes(&tenant_or_local(list.tenant.as_ref())?);
    let routes: Vec<Value> = routes.iter().map(listed).collect();
    output::print(format, &Value::Array(routes), |routes| {
        let columns = ["route", "provider", "model", "set_by", "key", "key_of"];
        output::rows(routes, &columns)
    })?;
    Ok(EXIT_OK)
}

async fn fetch(config: &Config, format: Format) -> anyhow::Result<u8> {
    let directory = boot::model_directory(config).await?;
    // Loading it detects an unusable model, and writes the prepacked weights.
    drop(boot::local_model(config, directory.clone()).await?);
    output::print(
        format,
        &json!({"directory": directory.display().to_string()}),
        |_| directory.display().to_string(),
    )?;
    Ok(EXIT_OK)
}

/// The named tenant, or the one that is used without a server.
fn tenant_or_local(tenant: Option<&TenantId>) -> anyhow::Result<TenantId> {
    match tenant {
        Some(tenant) => Ok(tenant.clone()),
        None => Ok(Caller::local().context("naming the local tenant")?.tenant),
    }
}

fn listed((name, route): (&Label, &ModelRoute)) -> Value {
    json!({
        "route": name,
        "provider": route.target.provider,
        "model": route.target.model,
        "set_by": route.set_by.as_str(),
        "key": route.key.as_ref().map_or("none".to_owned(), ToString::to_string),
        "key_of": route.key.as_ref().map(|_| route.key_of.as_str()),
    })
}

async fn ask(test: &Test, models: &dyn Models, format: Format) -> anyhow::Result<u8> {
    let tenant = tenant_or_local(test.tenant.as_ref())?;
    let routes: Vec<Label> = match &test.route {
        Some(route) => vec![route.clone()],
        None => models.routes(&tenant).into_keys().collect(),
    };
    if routes.is_empty() {
        let message = "there is no route to test: no models are configured";
        return Err(ReportedFailure::new(ErrorCode::ModelRouteUnknown, message).into());
    }
    let mut outcomes = Vec::new();
    let mut failed = false;
    for route in routes {
        let request = probe(
            route,
            tenant.clone(),
            Duration::from_millis(test.timeout_ms),
        )?;
        let answer = models.complete(&request, &CancellationToken::new()).await;
        failed |= answer.is_err();
        outcomes.push(match answer {
            Ok(answer) => answered(&request.route, &answer),
            Err(failure) => not_answered(&request.route, &failure),
        });
    }
    output::print(format, &Value::Array(outcomes), |outcomes| {
        let columns = [
            "state",
            "route",
            "model",
            "latency_ms",
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "attempts",
            "repairs",
            "problem",
        ];
        output::rows(outcomes, &columns)
    })?;
    Ok(if failed { EXIT_NEGATIVE } else { EXIT_OK })
}

/// A request that any model can answer and that shows whether it follows a schema.
fn probe(route: Label, tenant: TenantId, timeout: Duration) -> anyhow::Result<ModelRequest> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    let ready = json!({"ready": {"type": "boolean"}});
    schema.insert("properties".to_owned(), ready);
    schema.insert("required".to_owned(), json!(["ready"]));
    schema.insert("additionalProperties".to_owned(), false.into());
    Ok(ModelRequest {
        route,
        stage: ModelStage::Probe,
        system: "You answer in JSON.".to_owned(),
        task: "Confirm that you are ready.".to_owned(),
        context: Value::Null,
        earlier: Vec::new(),
        schema: NamedSchema {
            name: Label::parse("readiness")?,
            schema: schema.into(),
        },
        max_output_tokens: TEST_TOKENS,
        temperature: 0.0,
        tenant,
        idempotency_key: Uuid::now_v7().to_string(),
        timeout,
    })
}

fn answered(route: &Label, answer: &ModelAnswer) -> Value {
    json!({
        "state": "ok",
        "route": route,
        "model": answer.model,
        "latency_ms": answer.duration_ms,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "cached_tokens": answer.usage.cached_tokens,
        "attempts": answer.attempts,
        "repairs": answer.repairs,
        "answer": answer.draft,
    })
}

fn not_answered(route: &Label, failure: &ModelFailure) -> Value {
    let said = failure.detail.as_ref();
    json!({
        "state": "failed",
        "route": route,
        "input_tokens": failure.usage.input_tokens,
        "output_tokens": failure.usage.output_tokens,
        "cached_tokens": failure.usage.cached_tokens,
        "attempts": failure.attempts,
        "error_code": failure.code(),
        "fault": failure.fault.as_str(),
        "problem": match said {
            Some(said) => format!("{}: {failure} ({said})", failure.code()),
            None => format!("{}: {failure}", failure.code()),
        },
    })
}
