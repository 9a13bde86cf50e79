//! The implementation over HTTP: routes to providers, retries after transient failures, repairs of answers that do not
//! conform to their schema. Everything ends within the request's timeout.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use reqwest::Url;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::completion::Completion;
use super::exchange::{Meter, WireRequest, attempt};
use super::options::{ModelOptions, ProviderOptions};
use super::provider_request::ProviderRequest;
use super::reply::Reply;
use super::routes::{ResolvedRoute, leads, of_tenant};
use super::setup::{ModelSetupError, check, endpoint};
use super::{
    ModelAnswer, ModelFailure, ModelFault, ModelListener, ModelRequest, ModelRoute, Models,
    NamedSchema, NullListener, RejectedAnswer,
};
use crate::http::{HttpRunner, Redirects};
use crate::schema_check;

/// Upper limit of a request's timeout.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Models behind the APIs of providers.
#[derive(Debug)]
pub struct ModelProviders {
    options: ModelOptions,
    connections: BTreeMap<Label, Connection>,
}

/// Shared state of a provider's requests.
#[derive(Debug)]
struct Connection {
    client: reqwest::Client,
    url: Url,
    slots: Semaphore,
}

impl ModelProviders {
    /// Sets up the providers. Sends nothing.
    ///
    /// # Errors
    /// [`ModelSetupError`] when the configuration cannot work.
    pub fn new(options: ModelOptions) -> Result<Self, ModelSetupError> {
        check(&options)?;
        let http = HttpRunner::new().map_err(|source| ModelSetupError::Tls { source })?;
        let connect = |(name, provider): (&Label, &ProviderOptions)| {
            let client = http.pooled_client(Redirects::SameOrigin);
            let client = client.map_err(|source| ModelSetupError::Client {
                provider: name.clone(),
                source,
            })?;
            let connection = Connection {
                client,
                url: endpoint(name, provider)?,
                slots: Semaphore::new(provider.concurrency),
            };
            Ok((name.clone(), connection))
        };
        let connections = options.providers.iter().map(connect);
        Ok(Self {
            connections: connections.collect::<Result<_, _>>()?,
            options,
        })
    }

    /// Sends requests until there is an answer, the timeout expires, or the caller cancels.
    async fn complete_within(
        &self,
        request: &ModelRequest,
        way: &ResolvedRoute<'_>,
        started: Instant,
        cancel: &CancellationToken,
        listener: &dyn ModelListener,
    ) -> Result<ModelAnswer, ModelFailure> {
        let timeout = request.timeout.min(LONGEST_TIMEOUT);
        let mut meter = Meter::default();
        let until = started + timeout;
        let answering = self.answer(request, way, until, listener, &mut meter);
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelFault::Cancelled),
            ended = tokio::time::timeout(timeout, answering) => {
                ended.map_err(|_| ModelFault::Timeout)
            }
        };
        match ended.unwrap_or_else(|fault| Err(provider_request(request, way).fail(fault))) {
            Ok(answer) => Ok(ModelAnswer {
                usage: meter.usage(),
                attempts: meter.attempts,
                duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                ..answer
            }),
            Err(failure) => Err(ModelFailure {
                usage: meter.usage(),
                attempts: meter.attempts,
                ..failure
            }),
        }
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        way: &ResolvedRoute<'_>,
        until: Instant,
        listener: &dyn ModelListener,
        meter: &mut Meter,
    ) -> Result<ModelAnswer, ModelFailure> {
        let connection = self.connections.get(&way.target.provider);
        let connection = connection.ok_or_else(|| unknown(request))?;
        compiles(&request.schema).await?;
        let asking = DeadlinedRequest {
            connection,
            provider_request: provider_request(request, way),
            options: &self.options,
            until,
            listener,
        };
        asking.answer(meter).await
    }
}

#[async_trait]
impl Models for ModelProviders {
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure> {
        self.complete_aloud(request, cancel, &NullListener).await
    }

    async fn complete_aloud(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        listener: &dyn ModelListener,
    ) -> Result<ModelAnswer, ModelFailure> {
        let Some(way) = leads(&self.options, &request.tenant, &request.route) else {
            return Err(unknown(request));
        };
        let started = Instant::now();
        let (stage, tenant) = (request.stage.as_str(), request.tenant.as_str());
        let completion = Completion::begins(way.target, way.provider.api, stage, tenant);
        let completing = self.complete_within(request, &way, started, cancel, listener);
        let result = completing.instrument(completion.span()).await;
        completion.ends(&result, started.elapsed().as_secs_f64());
        result
    }

    fn routes(&self, tenant: &TenantId) -> BTreeMap<Label, ModelRoute> {
        of_tenant(&self.options, tenant)
    }
}

fn provider_request<'a>(request: &'a ModelRequest, way: &ResolvedRoute<'a>) -> ProviderRequest<'a> {
    ProviderRequest {
        request,
        provider: way.provider,
        target: way.target,
        key: way.key,
    }
}

fn unknown(request: &ModelRequest) -> ModelFailure {
    let message = format!("the route `{}` has no model", request.route);
    ModelFailure::new(ModelFault::UnknownRoute, message)
}

/// Refuses a schema that no answer can satisfy: the caller's fault, found before any cost.
async fn compiles(schema: &NamedSchema) -> Result<(), ModelFailure> {
    match schema_check::fault(&schema.schema).await {
        None => Ok(()),
        Some(fault) => {
            let message = format!("the schema `{}` cannot be used: {fault}", schema.name);
            Err(ModelFailure::new(ModelFault::System, message))
        }
    }
}

/// One request, with its deadline.
struct DeadlinedRequest<'a> {
    connection: &'a Connection,
    provider_request: ProviderRequest<'a>,
    options: &'a ModelOptions,
    until: Instant,
    listener: &'a dyn ModelListener,
}

impl DeadlinedRequest<'_> {
    /// Requests an answer, and sends back answers that do not conform to the schema.
    async fn answer(&self, meter: &mut Meter) -> Result<ModelAnswer, ModelFailure> {
        let schema = &self.provider_request.request.schema.schema;
        let mut turns = self.provider_request.request.earlier.clone();
        let mut retries = self.options.patience.retries;
        let mut repairs = 0;
        loop {
            let reply = self.ask(&turns, repairs, &mut retries, meter).await?;
            match reply.draft(schema).await {
                Ok(draft) => return Ok(self.done(draft, reply.model, repairs)),
                Err(no_draft) if repairs < self.options.repairs.0 => {
                    tracing::debug!(
                        model = %self.provider_request.target,
                        route = %self.provider_request.request.route,
                        fault = no_draft.fault.as_str(),
                        "a model's answer is invalid; asking for a correction"
                    );
                    turns.push(RejectedAnswer {
                        answered: no_draft.answered,
                        wrong: no_draft.wrong,
                    });
                    repairs += 1;
                }
                Err(no_draft) => {
                    let first = no_draft.wrong.into_iter().next();
                    return Err(self
                        .provider_request
                        .fail(no_draft.fault)
                        .with_detail(first));
                }
            }
        }
    }

    fn done(&self, draft: Value, model: Option<String>, repairs: u32) -> ModelAnswer {
        let target = self.provider_request.target;
        let model = model.unwrap_or_else(|| target.model.clone());
        ModelAnswer {
            draft,
            model: format!("{}/{model}", target.provider),
            usage: super::Usage::default(),
            attempts: 0,
            repairs,
            duration_ms: 0,
        }
    }

    /// Retries until there is an answer to read, a permanent failure, or no time for another attempt.
    async fn ask(
        &self,
        turns: &[RejectedAnswer],
        repair: u32,
        retries: &mut u32,
        meter: &mut Meter,
    ) -> Result<Reply, ModelFailure> {
        let body = self.provider_request.body(turns)?;
        // Each repair is a new request; a retry repeats the same one.
        let key = format!("{}-{repair}", self.provider_request.request.idempotency_key);
        let mut retry = 0;
        loop {
            let failure = match self.attempt(&body, &key, meter).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            if !failure.retryable() || *retries == 0 {
                return Err(failure);
            }
            let Some(pause) = self.options.patience.pause(retry, failure.retry_after) else {
                return Err(failure);
            };
            if Instant::now() + pause >= self.until {
                return Err(failure);
            }
            tracing::warn!(
                model = %self.provider_request.target,
                route = %self.provider_request.request.route,
                fault = failure.fault.as_str(),
                detail = failure.detail,
                pause_ms = pause.as_millis(),
                "a model call failed; retrying"
            );
            tokio::time::sleep(pause).await;
            *retries -= 1;
            retry += 1;
        }
    }

    async fn attempt(
        &self,
        body: &[u8],
        key: &str,
        meter: &mut Meter,
    ) -> Result<Reply, ModelFailure> {
        let Ok(_slot) = self.connection.slots.acquire().await else {
            return Err(self.provider_request.fail(ModelFault::System));
        };
        meter.begin();
        let Connection { client, url, .. } = self.connection;
        let provider_request = &self.provider_request;
        let sent = WireRequest {
            body: body.to_vec(),
            idempotency_key: key,
            trace: self.options.trace,
        };
        let attempt = attempt(client, url, provider_request, sent, meter, self.listener);
        tokio::time::timeout(provider_request.provider.attempt_timeout, attempt)
            .await
            .unwrap_or_else(|_| Err(provider_request.fail(ModelFault::Timeout)))
    }
}
