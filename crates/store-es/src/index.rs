//! The index of skills on a node: created, found by its alias, rebuilt.

use async_trait::async_trait;
use charter_store::agent_skills::{SkillsModel, SkillsRevision};
use charter_store::skill_index::{
    CurrentIndex, FailedEntry, IndexChange, IndexName, IndexPosition, NearSkill, NearestSkills,
    SkillIndex, SkillIndexError,
};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::bulk::{self, POSITION};
use crate::client::{Node, NodeAnswer, NodeRequest};
use crate::mapping::{difference, new_index};
use crate::options::{self, EsOptions, SetupError};
use crate::product::Product;
use crate::search;

const LOOKING: &str = "looking for the index";
const MAKING: &str = "creating an index";
const TAKING: &str = "switching the index alias";
const ASKING: &str = "detecting the product";

/// The suffix of the alias for writes.
const WRITES: &str = "-writes";

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
        let product = self.product().await?;
        let mut found = self.indexes(&format!("{}/_mapping", self.alias)).await?;
        let (name, mappings) = match (found.pop(), found.len()) {
            (None, _) => return Ok(None),
            (Some(one), 0) => one,
            (Some(_), others) => {
                let detail = format!("{} indexes have that name", others + 1);
                return Err(self.mismatch(detail));
            }
        };
        if let Some(detail) = difference(product, model, &mappings["mappings"]) {
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
        let alias = format!("{}{WRITES}", index.0);
        bulk::write(&self.node, &alias, changes, revision, position).await
    }

    async fn begin(&self, model: &SkillsModel, tag: &str) -> Result<IndexName, SkillIndexError> {
        let product = self.product().await?;
        let every = self.indexes(&format!("{}-*/_alias", self.alias)).await?;
        for (index, known) in every {
            let begun = known["aliases"].get(format!("{index}{WRITES}")).is_some();
            if begun && known["aliases"].get(&self.alias).is_none() {
                tracing::info!(index, "removing an incomplete index of skills");
                self.delete(&index).await?;
            }
        }
        let name = options::index(&format!("{}-{tag}", self.alias))
            .map_err(|error| self.node.invalid_answer(MAKING, error.to_string()))?;
        let body = new_index(product, model, &format!("{name}{WRITES}"));
        let ask = NodeRequest::new(MAKING, Method::PUT, &name)
            .json(&body)
            .with_long_timeout();
        self.node.ask(ask).await?;
        Ok(IndexName(name))
    }

    async fn take(&self, index: &IndexName) -> Result<(), SkillIndexError> {
        let before = self.indexes(&format!("{}/_alias", self.alias)).await?;
        let mut actions = vec![json!({"add": {"index": index.0, "alias": self.alias}})];
        for (name, _) in before.iter().filter(|(name, _)| *name != index.0) {
            if *name == self.alias {
                let detail = "it is an index, not an alias; delete it or choose another name";
                return Err(self.mismatch(detail.to_owned()));
            }
            actions.push(json!({"remove_index": {"index": name}}));
        }
        let ask = NodeRequest::new(TAKING, Method::POST, "_aliases").with_long_timeout();
        self.node
            .ask(ask.json(&json!({"actions": actions})))
            .await?;
        Ok(())
    }

    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, SkillIndexError> {
        let product = self.product().await?;
        let Some(body) = search::body(product, question) else {
            return Ok(Vec::new());
        };
        let path = format!("{}/_search?filter_path={}", self.alias, search::READ);
        let ask = NodeRequest::new(search::DOING, Method::POST, &path).json(&body);
        match self.node.answer(ask).await? {
            NodeAnswer::Found(answer) => search::hits(&self.node, answer, question.most),
            NodeAnswer::Missing(_) => Err(SkillIndexError::Missing {
                place: self.node.place(),
                index: self.alias.clone(),
            }),
        }
    }
}
