//! The index of skills on a node: created, found by its alias, rebuilt.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use charter_contract::scope::Scope;
use charter_store::agent_skills::{SkillsModel, SkillsRevision};
use charter_store::skill_index::{
    CurrentIndex, FailedEntry, IndexChange, IndexName, IndexPosition, NearSkill, NearestSkills,
    SkillIndex, SkillIndexError,
};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::bulk::{self, POSITION, missing_index};
use crate::client::{Node, NodeAnswer, NodeRequest};
use crate::mapping::{difference, model_of, new_index, new_state};
use crate::names;
use crate::options::{self, EsOptions, SetupError};
use crate::product::Product;
use crate::search::{self, Searches};

const LOOKING: &str = "looking for the index";
const MAKING: &str = "creating an index";
const TAKING: &str = "switching the index alias";
const ASKING: &str = "detecting the product";

/// The index of skills on a node of Elasticsearch or OpenSearch.
#[derive(Debug)]
pub struct EsSkillIndex {
    node: Node,
    alias: String,
    product: OnceCell<Product>,
}

impl EsSkillIndex {
    /// Creates the client without a request. The process must have a default TLS provider installed.
    ///
    /// # Errors
    /// [`SetupError`] for invalid options.
    pub fn new(options: &EsOptions) -> Result<Self, SetupError> {
        Ok(Self {
            node: Node::new(options)?,
            alias: options::index(&options.index)?,
            product: OnceCell::new(),
        })
    }

    async fn detect_product(&self) -> Result<(Product, String), SkillIndexError> {
        let info = self
            .node
            .ask(NodeRequest::new(ASKING, Method::GET, ""))
            .await?;
        Product::from_info(&info).ok_or_else(|| {
            let detail = "it is neither Elasticsearch nor OpenSearch".to_owned();
            self.node.invalid_answer(ASKING, detail)
        })
    }

    async fn product(&self) -> Result<Product, SkillIndexError> {
        let product = self.product.get_or_try_init(|| async {
            let (product, _) = self.detect_product().await?;
            Ok(product)
        });
        product.await.copied()
    }

    /// Returns the indexes that a name or pattern matches, each with its part `of` the answer.
    async fn indexes(&self, path: &str) -> Result<Vec<(String, Value)>, SkillIndexError> {
        let ask = NodeRequest::new(LOOKING, Method::GET, path);
        match self.node.answer::<Map<String, Value>>(ask).await? {
            NodeAnswer::Found(found) => Ok(found.into_iter().collect()),
            NodeAnswer::Missing(_) => Ok(Vec::new()),
        }
    }

    fn mismatch(&self, detail: String) -> SkillIndexError {
        SkillIndexError::Mismatch {
            place: self.node.place(),
            index: self.alias.clone(),
            detail,
        }
    }

    async fn position(&self, index: &str) -> Result<IndexPosition, SkillIndexError> {
        let path = format!("{index}/_doc/{POSITION}");
        let ask = NodeRequest::new(LOOKING, Method::GET, &path);
        match self.node.answer::<Value>(ask).await? {
            NodeAnswer::Missing(_) => Ok(IndexPosition::default()),
            NodeAnswer::Found(found) => {
                let position = &found["_source"][POSITION];
                let number = |name: &str| {
                    let detail = || format!("its position has no {name}");
                    let number = position[name].as_u64();
                    number.ok_or_else(|| self.node.invalid_answer(LOOKING, detail()))
                };
                Ok(IndexPosition {
                    revision: SkillsRevision(number("revision")?),
                    message: number("message")?,
                })
            }
        }
    }

    async fn delete(&self, index: &str) -> Result<(), SkillIndexError> {
        let ask = NodeRequest::new(TAKING, Method::DELETE, index).with_long_timeout();
        match self.node.answer::<Value>(ask).await? {
            // A concurrent creation had the same aim.
            NodeAnswer::Found(_) | NodeAnswer::Missing(_) => Ok(()),
        }
    }

    /// Returns a generation as the node has it.
    async fn generation(&self, name: &str) -> Result<Generation, SkillIndexError> {
        let path = format!("{name},{}/_alias", names::every_scope(name));
        let mut generation = Generation::default();
        let mut exists = false;
        for (index, known) in self.indexes(&path).await? {
            let has = |alias: &str| known["aliases"].get(alias).is_some();
            if index == name {
                exists = true;
                generation.is_current = has(&names::state_alias(&self.alias));
            } else {
                let is_found = has(&self.alias);
                generation.scopes.insert(index, is_found);
            }
        }
        match exists {
            true => Ok(generation),
            false => Err(missing_index(&self.node, name)),
        }
    }

    /// Creates the index of a scope in a generation, which searches do not use yet.
    async fn create_scope(
        &self,
        generation: &str,
        model: &SkillsModel,
        scope: &Scope,
    ) -> Result<String, SkillIndexError> {
        let index = names::of_scope(generation, scope);
        let body = new_index(self.product().await?, model, &names::writes(&index));
        let ask = NodeRequest::new(MAKING, Method::PUT, &index)
            .json(&body)
            .with_long_timeout();
        let made = self.node.ask(ask).await;
        match made {
            // Another process made it.
            Err(SkillIndexError::Refused { reason, .. }) if reason.contains("already exists") => {
                Ok(index)
            }
            made => made.map(|_| index),
        }
    }

    /// Returns the model that a generation was made for.
    async fn model_of(&self, generation: &str) -> Result<SkillsModel, SkillIndexError> {
        let found = self.indexes(&format!("{generation}/_mapping")).await?;
        let Some((_, mappings)) = found.first() else {
            return Err(missing_index(&self.node, generation));
        };
        let model = model_of(&mappings["mappings"]);
        let detail = || "its state names no model".to_owned();
        model.ok_or_else(|| self.node.invalid_answer(LOOKING, detail()))
    }

    /// Creates missing indexes of scopes, and returns the reason for each that the node refuses.
    async fn create_scopes<'s>(
        &self,
        name: &str,
        generation: &mut Generation,
        scopes: impl Iterator<Item = &'s Scope>,
    ) -> Result<BTreeMap<&'s Scope, String>, SkillIndexError> {
        let mut refused = BTreeMap::new();
        let mut model = None;
        for scope in scopes {
            if generation
                .scopes
                .contains_key(&names::of_scope(name, scope))
            {
                continue;
            }
            let made_for = match model.take() {
                Some(known) => known,
                None => self.model_of(name).await?,
            };
            match self.create_scope(name, &made_for, scope).await {
                Ok(index) => {
                    generation.scopes.insert(index, false);
                }
                // Not a failure that passes: the node has too many indexes, or does not accept the mapping.
                Err(SkillIndexError::Refused {
                    status: 400,
                    reason,
                    ..
                }) => {
                    refused.insert(scope, reason);
                }
                Err(error) => return Err(error),
            }
            model = Some(made_for);
        }
        Ok(refused)
    }

    /// Lets searches find new indexes of the current generation.
    async fn publish(&self, name: &str, generation: &Generation) -> Result<(), SkillIndexError> {
        let hidden = generation.scopes.iter().filter(|(_, is_found)| !**is_found);
        let hidden: Vec<&str> = hidden.map(|(index, _)| index.as_str()).collect();
        if !generation.is_current || hidden.is_empty() {
            return Ok(());
        }
        // The state is deleted with its generation: the whole request then fails, so no alias leads to a replaced one.
        let mut actions = vec![added(name, &names::state_alias(&self.alias))];
        for index in hidden {
            actions.extend(self.aliases_of(name, index));
        }
        self.switch(name, actions).await
    }

    /// Returns the actions that let searches find the index of a scope.
    fn aliases_of(&self, generation: &str, index: &str) -> [Value; 2] {
        let own = names::scope_alias(&self.alias, generation, index);
        [added(index, &self.alias), added(index, &own)]
    }

    /// Changes aliases atomically.
    async fn switch(&self, name: &str, actions: Vec<Value>) -> Result<(), SkillIndexError> {
        let ask = NodeRequest::new(TAKING, Method::POST, "_aliases").with_long_timeout();
        let ask = ask.json(&json!({"actions": actions}));
        match self.node.answer::<Value>(ask).await? {
            NodeAnswer::Found(_) => Ok(()),
            NodeAnswer::Missing(_) => Err(missing_index(&self.node, name)),
        }
    }

    /// Refuses a configured name that leads to indexes of another program or an earlier layout.
    async fn must_be_unused(&self) -> Result<(), SkillIndexError> {
        let found = self.indexes(&format!("{}/_alias", self.alias)).await?;
        match found.first() {
            None => Ok(()),
            Some((index, _)) => {
                let detail = format!("the index `{index}` has that name, without a state");
                Err(self.mismatch(detail))
            }
        }
    }
}

/// A generation of the index.
#[derive(Debug, Default)]
struct Generation {
    /// Whether searches use it.
    is_current: bool,
    /// The indexes of its scopes, and whether searches find each.
    scopes: BTreeMap<String, bool>,
}

fn added(index: &str, alias: &str) -> Value {
    json!({"add": {"index": index, "alias": alias}})
}

/// Returns the changes to indexes that exist, and an entry for each change that cannot be written.
fn writable<'c>(
    changes: &'c [IndexChange],
    name: &str,
    generation: &Generation,
    refused: &BTreeMap<&Scope, String>,
) -> (Vec<&'c IndexChange>, Vec<FailedEntry>) {
    let (mut written, mut failed) = (Vec::new(), Vec::new());
    for change in changes {
        let (scope, id) = change.key();
        if generation
            .scopes
            .contains_key(&names::of_scope(name, scope))
        {
            written.push(change);
        } else if let (IndexChange::Put(_), Some(reason)) = (change, refused.get(scope)) {
            failed.push(FailedEntry {
                scope: scope.clone(),
                id: id.clone(),
                reason: reason.clone(),
            });
        }
    }
    (written, failed)
}

#[async_trait]
impl SkillIndex for EsSkillIndex {
    fn place(&self) -> String {
        format!("{}/{}", self.node.place(), self.alias)
    }

    async fn server(&self) -> Result<String, SkillIndexError> {
        Ok(self.detect_product().await?.1)
    }

    async fn current(&self, model: &SkillsModel) -> Result<Option<CurrentIndex>, SkillIndexError> {
        let state = names::state_alias(&self.alias);
        let mut found = self.indexes(&format!("{state}/_mapping")).await?;
        let (name, mappings) = match (found.pop(), found.len()) {
            (None, _) => {
                self.must_be_unused().await?;
                return Ok(None);
            }
            (Some(one), 0) => one,
            (Some(_), others) => {
                let detail = format!("{} indexes have the name `{state}`", others + 1);
                return Err(self.mismatch(detail));
            }
        };
        if let Some(detail) = difference(model, &mappings["mappings"]) {
            return Err(self.mismatch(detail));
        }
        let position = self.position(&name).await?;
        let name = IndexName(name);
        Ok(Some(CurrentIndex { name, position }))
    }

    async fn write(
        &self,
        index: &IndexName,
        changes: &[IndexChange],
        revision: SkillsRevision,
        position: IndexPosition,
    ) -> Result<Vec<FailedEntry>, SkillIndexError> {
        let name = index.0.as_str();
        let mut generation = self.generation(name).await?;
        let puts = changes.iter().filter_map(|change| match change {
            IndexChange::Put(skill) => Some(&skill.scope),
            IndexChange::Remove(..) => None,
        });
        let scopes: BTreeSet<&Scope> = puts.collect();
        let scopes = scopes.into_iter();
        let refused = self.create_scopes(name, &mut generation, scopes).await?;
        self.publish(name, &generation).await?;
        let (written, mut failed) = writable(changes, name, &generation, &refused);
        failed.extend(bulk::write(&self.node, name, &written, revision, position).await?);
        Ok(failed)
    }

    async fn begin(&self, model: &SkillsModel, tag: &str) -> Result<IndexName, SkillIndexError> {
        let state = names::state_alias(&self.alias);
        let mut every = self.indexes(&format!("{}-*/_alias", self.alias)).await?;
        // States first: a late write to a deleted generation then creates nothing.
        every.sort_by_key(|(index, _)| names::is_of_scope(index));
        let current = every
            .iter()
            .find(|(_, known)| known["aliases"].get(&state).is_some());
        let current = current.and_then(|(index, _)| names::generation(&self.alias, index));
        for (index, known) in &every {
            let generation = names::generation(&self.alias, index);
            let begun = known["aliases"].get(names::writes(index)).is_some();
            if begun && generation.is_some() && generation != current {
                tracing::info!(index, "removing an incomplete index of skills");
                self.delete(index).await?;
            }
        }
        let name = options::index(&format!("{}-{tag}", self.alias))
            .map_err(|error| self.node.invalid_answer(MAKING, error.to_string()))?;
        let body = new_state(model, &names::writes(&name));
        let ask = NodeRequest::new(MAKING, Method::PUT, &name)
            .json(&body)
            .with_long_timeout();
        self.node.ask(ask).await?;
        Ok(IndexName(name))
    }

    async fn take(&self, index: &IndexName) -> Result<(), SkillIndexError> {
        let name = index.0.as_str();
        let state = names::state_alias(&self.alias);
        let generation = self.generation(name).await?;
        let mut actions = vec![added(name, &state)];
        for scope in generation.scopes.keys() {
            actions.extend(self.aliases_of(name, scope));
        }
        let mut before = BTreeSet::new();
        for alias in [&self.alias, &state] {
            let found = self.indexes(&format!("{alias}/_alias")).await?;
            before.extend(found.into_iter().map(|(index, _)| index));
        }
        if before.contains(&self.alias) {
            let detail = "it is an index, not an alias; delete it or choose another name";
            return Err(self.mismatch(detail.to_owned()));
        }
        let is_old = |index: &&String| names::generation(&self.alias, index) != Some(name);
        let replaced = before.iter().filter(is_old);
        actions.extend(replaced.map(|index| json!({"remove_index": {"index": index}})));
        self.switch(name, actions).await
    }

    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, SkillIndexError> {
        let product = self.product().await?;
        let searches = search::searches(product, &self.alias, question)
            .map_err(|error| self.node.invalid_answer(search::DOING, error.to_string()))?;
        let Some(Searches { scopes, lines }) = searches else {
            return Ok(Vec::new());
        };
        let ask = NodeRequest::new(search::DOING, Method::POST, search::PATH).lines(lines);
        let NodeAnswer::Found(answer) = self.node.answer(ask).await? else {
            return Err(missing_index(&self.node, &self.alias));
        };
        let results = search::results(&self.node, scopes, answer, question.most)?;
        // The state has an index, unless there is none at all.
        if results.lacks_index {
            let state = names::state_alias(&self.alias);
            if self.indexes(&format!("{state}/_alias")).await?.is_empty() {
                return Err(missing_index(&self.node, &self.alias));
            }
        }
        Ok(results.near)
    }
}
