//! Language models with scripted answers, which record their requests. No network.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use charter_effects::{
    ModelAnswer, ModelFailure, ModelFault, ModelRequest, ModelRoute, Models, Usage,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Returns the answer to a request; the number counts the previous requests.
type Script = dyn Fn(&ModelRequest, usize) -> Result<Value, ModelFailure> + Send + Sync;

/// Scripted models.
///
/// Their drafts are checked against the schema of the request, like those of a provider, so that no test can rely on a
/// draft that a provider could not return: a draft that violates the schema is a failure.
pub struct ScriptedModels {
    script: Box<Script>,
    asked: Mutex<Vec<ModelRequest>>,
    routes: BTreeMap<Label, ModelRoute>,
    usage: Usage,
    held: bool,
}

impl ScriptedModels {
    /// Default token usage of each answer.
    pub const USAGE: Usage = Usage {
        input_tokens: 100,
        output_tokens: 10,
        cached_tokens: 0,
    };

    /// Creates models that answer with a function.
    #[must_use]
    pub fn new(
        script: impl Fn(&ModelRequest, usize) -> Result<Value, ModelFailure> + Send + Sync + 'static,
    ) -> Self {
        Self {
            script: Box::new(script),
            asked: Mutex::default(),
            routes: BTreeMap::new(),
            usage: Self::USAGE,
            held: true,
        }
    }

    /// Creates models that return these answers in order, and then fail.
    #[must_use]
    pub fn answering(answers: Vec<Result<Value, ModelFailure>>) -> Self {
        Self::new(move |_, number| match answers.get(number) {
            Some(answer) => answer.clone(),
            None => {
                let message = format!("the script has no answer number {number}");
                Err(ModelFailure::new(ModelFault::System, message))
            }
        })
    }

    /// Sets the reported routes.
    #[must_use]
    pub fn with_routes(mut self, routes: BTreeMap<Label, ModelRoute>) -> Self {
        self.routes = routes;
        self
    }

    /// Sets the token usage of each answer.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Turns off the schema check, for tests of drafts that no provider should return.
    #[must_use]
    pub fn unheld(mut self) -> Self {
        self.held = false;
        self
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.lock_requests().len()
    }

    /// Returns the requests, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<ModelRequest> {
        self.lock_requests().clone()
    }

    fn lock_requests(&self) -> MutexGuard<'_, Vec<ModelRequest>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Models for ScriptedModels {
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure> {
        if cancel.is_cancelled() {
            let message = "nobody waits for the answer any more";
            return Err(ModelFailure::new(ModelFault::Cancelled, message));
        }
        let number = {
            let mut asked = self.lock_requests();
            asked.push(request.clone());
            asked.len() - 1
        };
        let draft = (self.script)(request, number)?;
        let wrong = request.schema.schema.violations(&draft);
        if let Some(wrong) = wrong.first().filter(|_| self.held) {
            let mut failure = ModelFailure::new(ModelFault::SchemaViolated, wrong.to_string());
            failure.usage = self.usage;
            failure.attempts = 1;
            return Err(failure);
        }
        Ok(ModelAnswer {
            draft,
            model: "scripted/script".to_owned(),
            usage: self.usage,
            attempts: 1,
            repairs: 0,
            duration_ms: 0,
        })
    }

    fn routes(&self, _: &TenantId) -> BTreeMap<Label, ModelRoute> {
        self.routes.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use charter_effects::{ModelStage, NamedSchema};
    use futures_util::FutureExt;
    use serde_json::{Map, json};

    use super::*;

    fn request(task: &str) -> ModelRequest {
        let schema = json!({"type": "object", "required": ["word"]});
        ModelRequest {
            route: Label::parse("tier_fast").unwrap(),
            stage: ModelStage::Probe,
            system: String::new(),
            task: task.to_owned(),
            context: Value::Null,
            earlier: Vec::new(),
            schema: NamedSchema {
                name: Label::parse("word").unwrap(),
                schema: schema.as_object().cloned().unwrap_or_else(Map::new).into(),
            },
            max_output_tokens: 1,
            temperature: 0.0,
            tenant: TenantId::parse("acme").unwrap(),
            idempotency_key: "key".to_owned(),
            timeout: Duration::from_secs(1),
        }
    }

    fn ask(models: &ScriptedModels, task: &str) -> Result<Value, ModelFault> {
        let cancel = CancellationToken::new();
        let request = request(task);
        let answer = models.complete(&request, &cancel).now_or_never().unwrap();
        answer
            .map(|answer| answer.draft)
            .map_err(|failure| failure.fault)
    }

    #[test]
    fn scripted_answers_are_validated_and_counted() {
        let refused = ModelFailure::new(ModelFault::Refused, "no");
        let script = vec![Ok(json!({"word": "a"})), Ok(json!({})), Err(refused)];
        let models = ScriptedModels::answering(script);
        assert_eq!(ask(&models, "first"), Ok(json!({"word": "a"})));
        assert_eq!(ask(&models, "second"), Err(ModelFault::SchemaViolated));
        assert_eq!(ask(&models, "third"), Err(ModelFault::Refused));
        assert_eq!(ask(&models, "fourth"), Err(ModelFault::System));
        assert_eq!(models.calls(), 4);
        let tasks: Vec<String> = models.asked().into_iter().map(|asked| asked.task).collect();
        assert_eq!(tasks, ["first", "second", "third", "fourth"]);
        let by_task = ScriptedModels::new(|request, _| Ok(json!({"word": request.task})));
        assert_eq!(ask(&by_task, "mine"), Ok(json!({"word": "mine"})));
    }
}
