//! Where the values of parameters come from, surest first: the caller, the words of the request, its session, its context,
//! what a person accepted of a memory or a model drafted, the declared default.
//!
//! Words that name a value and do not give it keep every other source out: the parameter is asked for. Must not know how
//! sessions, memories or models are reached.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::agentic::request::RequestMetadata;
use charter_contract::ids::{Label, MemoryId, RequestId};
use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::context::of_context;
use super::{Misread, ParameterFault, Unclear, Unread, check, fit, present, read};

/// Most characters of the words that state a value, where the value is shown with its source.
const SHOWN_WORDS: usize = 120;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum ValueSource {
    /// The caller gave it as a parameter.
    Given,
    /// The words of the request state it.
    Sentence {
        /// Those words.
        words: String,
    },
    /// An earlier request of the session had it.
    Session {
        /// That request.
        request_id: RequestId,
    },
    /// The request's context has it: what the client knows of editor and project.
    RequestContext {
        /// The field, as a path in the request's metadata.
        field: String,
    },
    /// A memory states it, and the caller wanted memories to be used.
    Memory {
        /// The memory.
        memory_id: MemoryId,
    },
    /// A model drafted it.
    Model {
        /// The model, as `provider/model`.
        model: String,
    },
    /// The document declares it as the default.
    Default,
}

/// Values that are being collected for declared parameters. A source adds to those before it and changes none.
#[derive(Debug, Clone)]
pub struct Collected<'d> {
    declared: &'d [Parameter],
    values: Map<String, Value>,
    sources: BTreeMap<String, ValueSource>,
    /// Parameters that the caller gives as `null`: they are not asked for because of words that give no value.
    declined: BTreeSet<Label>,
    unclear: Vec<Unclear>,
    unread: Vec<Unread>,
}

/// The values that were collected, and what is still asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Values that fit, and defaults.
    pub values: Map<String, Value>,
    /// Where each comes from.
    pub sources: BTreeMap<String, ValueSource>,
    /// Parameters that have to be asked for.
    pub missing: Vec<Label>,
    /// Why, in the same order.
    pub faults: Vec<ParameterFault>,
    /// Words of the text that may be meant for parameters that have the default or no value.
    pub unread: Vec<String>,
}

impl<'d> Collected<'d> {
    /// The values that the caller gives. `null` counts as not given. Undeclared values are kept for [`Collected::settle`] to refuse.
    #[must_use]
    pub fn given(declared: &'d [Parameter], given: &Map<String, Value>) -> Self {
        let values = present(declared, given);
        let sources = declared
            .iter()
            .filter(|parameter| parameter.given_in(&values).is_some());
        let sources = sources.map(|parameter| (parameter.name.to_string(), ValueSource::Given));
        let is_null =
            |parameter: &&Parameter| parameter.given_in(given).is_some_and(Value::is_null);
        let declined = declared.iter().filter(is_null);
        Self {
            declared,
            sources: sources.collect(),
            declined: declined.map(|parameter| parameter.name.clone()).collect(),
            values,
            unclear: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Adds what a text states at a time.
    #[must_use]
    pub fn read(mut self, text: &str, now: Timestamp) -> Self {
        let reading = read(self.declared, text, now);
        for (name, stated) in reading.stated {
            let words = shown(&stated.words);
            self.add(&name, stated.value, ValueSource::Sentence { words });
        }
        for unclear in reading.unclear {
            if self.asks_for(&unclear.parameter) {
                self.unclear.push(Unclear {
                    words: shown(&unclear.words),
                    ..unclear
                });
            }
        }
        self.unread = reading.unread;
        self
    }

    /// Adds what an earlier request of the session had. A word of the text that may be meant for one of these keeps it
    /// out: "and in Frankfurt?" is not answered for the region of before.
    #[must_use]
    pub fn inherit(mut self, request: &RequestId, earlier: &Map<String, Value>) -> Self {
        for unread in std::mem::take(&mut self.unread) {
            for name in unread.parameters {
                let inherited = earlier.contains_key(name.as_str());
                if inherited && self.asks_for(&name) && !self.is_unclear(&name) {
                    self.unclear.push(Unclear {
                        parameter: name,
                        words: shown(&unread.word),
                        why: Misread::NotUnderstood,
                    });
                }
            }
        }
        let source = ValueSource::Session {
            request_id: request.clone(),
        };
        for parameter in self.declared {
            if let Some(value) = earlier.get(parameter.name.as_str()) {
                self.add(&parameter.name, value.clone(), source.clone());
            }
        }
        self
    }

    /// Adds what the request's context has under a parameter's name.
    #[must_use]
    pub fn add_context(mut self, metadata: &RequestMetadata) -> Self {
        for parameter in self.declared {
            if let Some((field, value)) = of_context(parameter, metadata) {
                self.add(
                    &parameter.name,
                    value,
                    ValueSource::RequestContext { field },
                );
            }
        }
        self
    }

    /// Adds a value from elsewhere, if it fits. Says whether it was taken.
    pub fn add(&mut self, name: &Label, value: Value, source: ValueSource) -> bool {
        let mut declared = self.declared.iter();
        let parameter = declared.find(|parameter| parameter.name == *name);
        let fits = parameter.is_some_and(|parameter| check(parameter, &value).is_ok());
        if !fits || !self.lacks(name) || self.is_unclear(name) {
            return false;
        }
        self.values.insert(name.to_string(), value);
        self.sources.insert(name.to_string(), source);
        true
    }

    /// Adds a value for words that were not understood, if it fits.
    pub fn resolve(&mut self, name: &Label, value: Value, source: ValueSource) -> bool {
        let unclear = std::mem::take(&mut self.unclear);
        let (own, others): (Vec<Unclear>, Vec<Unclear>) =
            unclear.into_iter().partition(|one| one.parameter == *name);
        self.unclear = others;
        let taken = self.add(name, value, source);
        if !taken {
            self.unclear.extend(own);
        }
        taken
    }

    /// The values so far, without defaults. Those that the caller gave are not checked.
    #[must_use]
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// The parameters that have to be asked for as it is: required ones without a value, and those that words name.
    #[must_use]
    pub fn open(&self) -> Vec<&'d Parameter> {
        let open = self.declared.iter().filter(|parameter| {
            let needed = parameter.required && parameter.default.is_none();
            self.lacks(&parameter.name) && (needed || self.is_unclear(&parameter.name))
        });
        open.collect()
    }

    /// Checks the values and fills in defaults.
    ///
    /// # Errors
    /// Every [`ParameterFault`] of values that the caller gave.
    pub fn settle(self) -> Result<Bound, Vec<ParameterFault>> {
        let (mut values, faults) = fit(self.declared, &self.values);
        let is_missing = |fault: &ParameterFault| matches!(fault, ParameterFault::Missing { .. });
        let (lacking, wrong): (Vec<_>, Vec<_>) = faults.into_iter().partition(is_missing);
        if !wrong.is_empty() {
            return Err(wrong.into_iter().chain(lacking).collect());
        }
        let mut sources = self.sources.clone();
        let mut missing = Vec::new();
        let mut faults = Vec::new();
        let mut lacking = lacking.into_iter();
        for parameter in self.declared {
            let name = &parameter.name;
            // Of each required parameter without a value there is one fault, in the order of the declaration.
            let needed = parameter.required && !values.contains_key(name.as_str());
            let fault = needed.then(|| lacking.next()).flatten();
            let mut unclear = self.unclear.iter();
            if let Some(unclear) = unclear.find(|unclear| unclear.parameter == *name) {
                // A default does not replace a value that the words name.
                values.remove(name.as_str());
                missing.push(name.clone());
                faults.push(ParameterFault::Unclear(unclear.clone()));
            } else if values.contains_key(name.as_str()) {
                sources
                    .entry(name.to_string())
                    .or_insert(ValueSource::Default);
            } else {
                missing.extend(needed.then(|| name.clone()));
                faults.extend(fault);
            }
        }
        let is_stated = |name: &Label| {
            let source = sources.get(name.as_str());
            source.is_some_and(|source| *source != ValueSource::Default)
        };
        let unread = self.unread.iter();
        let unread = unread.filter(|unread| !unread.parameters.iter().all(is_stated));
        Ok(Bound {
            unread: unread.map(|unread| shown(&unread.word)).collect(),
            values,
            sources,
            missing,
            faults,
        })
    }

    fn lacks(&self, name: &Label) -> bool {
        let mut declared = self.declared.iter();
        let parameter = declared.find(|parameter| parameter.name == *name);
        parameter.is_none_or(|parameter| parameter.given_in(&self.values).is_none())
    }

    /// Whether words that name a value and do not give it make the parameter one to ask for.
    fn asks_for(&self, name: &Label) -> bool {
        self.lacks(name) && !self.declined.contains(name)
    }

    fn is_unclear(&self, name: &Label) -> bool {
        self.unclear
            .iter()
            .any(|unclear| unclear.parameter == *name)
    }
}

impl Bound {
    /// Why words that name a value do not give it, by parameter.
    #[must_use]
    pub fn unclear(&self) -> BTreeMap<String, String> {
        let unclear = self.faults.iter().filter_map(|fault| match fault {
            ParameterFault::Unclear(unclear) => Some(unclear),
            ParameterFault::Missing { .. }
            | ParameterFault::Unknown { .. }
            | ParameterFault::Type { .. }
            | ParameterFault::NotAllowed { .. }
            | ParameterFault::Pattern { .. }
            | ParameterFault::LongForPattern { .. } => None,
        });
        unclear
            .map(|unclear| (unclear.parameter.to_string(), unclear.to_string()))
            .collect()
    }

    /// Whether the caller gave every value, or it is a default.
    #[must_use]
    pub fn is_given(&self) -> bool {
        let mut sources = self.sources.values();
        sources.all(|source| matches!(source, ValueSource::Given | ValueSource::Default))
    }
}

/// The beginning of words, as it is shown.
fn shown(words: &str) -> String {
    words.chars().take(SHOWN_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared() -> Vec<Parameter> {
        serde_json::from_value(json!([
            {"name": "region", "type": "string", "required": true, "default": "us-east-1",
             "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]$"},
            {"name": "profile", "type": "string", "required": true, "description": "which", "example": "ops_ro"},
            {"name": "language", "type": "string", "enum": ["rust", "python"]},
            {"name": "limit", "type": "integer", "default": 10}
        ]))
        .unwrap()
    }

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-06-17T10:30:00Z").unwrap()
    }

    fn request() -> RequestId {
        RequestId::parse("req-00000000-0000-4000-8000-000000000001").unwrap()
    }

    fn sources(bound: &Bound) -> Value {
        serde_json::to_value(&bound.sources).unwrap()
    }

    #[test]
    fn each_value_comes_from_the_surest_source_which_is_recorded() {
        let declared = declared();
        let metadata: RequestMetadata = serde_json::from_value(json!({
            "project": {"language": "rust", "name": "shop"}, "environment": {"profile": "ops_env", "limit": 3}
        }))
        .unwrap();
        let collected = Collected::given(&declared, &object(json!({"limit": 5, "language": null})))
            .read("in eu-west-1", now())
            .inherit(
                &request(),
                &object(json!({"region": "eu-west-2", "profile": "ops_then"})),
            )
            .add_context(&metadata);
        let bound = collected.settle().unwrap();
        assert_eq!(
            Value::Object(bound.values.clone()),
            json!({"region": "eu-west-1", "profile": "ops_then", "language": "rust", "limit": 5})
        );
        assert_eq!(
            sources(&bound),
            json!({
                "region": {"from": "sentence", "words": "eu-west-1"},
                "profile": {"from": "session", "request_id": request()},
                "language": {"from": "request_context", "field": "project.language"},
                "limit": {"from": "given"},
            })
        );
        assert_eq!((bound.missing, bound.faults), (vec![], vec![]));
    }

    #[test]
    fn what_nothing_gives_is_the_default_or_is_asked_for() {
        let declared = declared();
        let bound = Collected::given(&declared, &Map::new())
            .read("list them", now())
            .settle()
            .unwrap();
        assert_eq!(
            Value::Object(bound.values.clone()),
            json!({"region": "us-east-1", "limit": 10})
        );
        assert_eq!(
            sources(&bound),
            json!({"region": {"from": "default"}, "limit": {"from": "default"}})
        );
        let said: Vec<String> = bound.faults.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["`profile` is missing: which"]);
        assert_eq!(bound.missing, [Label::parse("profile").unwrap()]);
    }

    /// An optional parameter that was not understood is asked about, and hides no other that is missing.
    #[test]
    fn an_optional_value_that_was_not_understood_is_asked_about() {
        let declared: Vec<Parameter> = serde_json::from_value(json!([
            {"name": "limit", "type": "integer", "example": 5},
            {"name": "shelf", "type": "string", "required": true, "description": "where"},
        ]))
        .unwrap();
        let bound = Collected::given(&declared, &Map::new()).read("limit=many", now());
        let bound = bound.settle().unwrap();
        let said: Vec<String> = bound.faults.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("`many` gives no `limit`"), "{said:?}");
        assert_eq!(said[1], "`shelf` is missing: where");
        let missing: Vec<&str> = bound.missing.iter().map(Label::as_str).collect();
        assert_eq!(missing, ["limit", "shelf"]);
        let unclear = bound.unclear();
        assert_eq!(unclear.keys().collect::<Vec<_>>(), ["limit"]);
        let declined = object(json!({"limit": null, "shelf": "a"}));
        let bound = Collected::given(&declared, &declined).read("limit=many", now());
        let bound = bound.settle().unwrap();
        assert_eq!(bound.missing, []);
        assert_eq!(Value::Object(bound.values), json!({"shelf": "a"}));
    }

    /// A change of everything must not look like one of the things that were named.
    #[test]
    fn words_that_no_parameter_takes_are_told_where_one_has_the_default() {
        let declared: Vec<Parameter> = serde_json::from_value(json!([
            {"name": "shelves", "type": "array", "default": []},
            {"name": "wing", "type": "string", "example": "w-2"},
        ]))
        .unwrap();
        let unread = |given: Value, text: &str| {
            let bound = Collected::given(&declared, &object(given)).read(text, now());
            bound.settle().unwrap().unread
        };
        let text = "empty sh-0a9c in w-3";
        assert_eq!(unread(json!({}), text), ["sh-0a9c"]);
        assert_eq!(
            unread(json!({"shelves": ["x"]}), text),
            Vec::<String>::new()
        );
        assert_eq!(unread(json!({}), "empty all in w-3"), Vec::<String>::new());
    }

    /// Neither the session nor the default replaces a value that the words name and that was not understood.
    #[test]
    fn words_that_were_not_understood_keep_other_sources_out() {
        let declared = declared();
        let earlier = object(json!({"region": "eu-west-2", "profile": "ops_then", "limit": 4}));
        let asked = |text: &str| {
            let bound = Collected::given(&declared, &Map::new())
                .read(text, now())
                .inherit(&request(), &earlier);
            let bound = bound.settle().unwrap();
            let missing: Vec<String> = bound.missing.iter().map(ToString::to_string).collect();
            (missing.join(","), Value::Object(bound.values))
        };
        let kept = json!({"profile": "ops_then", "limit": 4});
        assert_eq!(
            asked("and in Frankfurt?"),
            ("region".to_owned(), kept.clone())
        );
        assert_eq!(
            asked("and region=atlantis"),
            ("region".to_owned(), kept.clone())
        );
        assert_eq!(
            asked("and in us-west?"),
            ("region".to_owned(), kept.clone())
        );
        assert_eq!(
            asked("eu-west-1 or eu-west-3?"),
            ("region".to_owned(), kept)
        );
        let all = json!({"region": "eu-west-2", "profile": "ops_then", "limit": 4});
        assert_eq!(asked("and again?"), (String::new(), all.clone()));
        assert_eq!(asked("and for the old ones?"), (String::new(), all));
        let region = json!({"region": "eu-west-3", "profile": "ops_then", "limit": 4});
        assert_eq!(asked("and in eu-west-3?"), (String::new(), region));
    }

    #[test]
    fn what_the_caller_gives_is_checked_and_needs_no_words() {
        let declared = declared();
        let given = object(json!({"region": "mars", "profil": "x"}));
        let faults = Collected::given(&declared, &given)
            .read("in eu-west-1", now())
            .settle()
            .unwrap_err();
        let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "`region` must match `^[a-z]{2}(-[a-z]+)+-[0-9]$`",
                "`profil` is not a parameter here",
                "`profile` is missing: which",
            ]
        );
        let given = object(json!({"region": "eu-west-3", "profile": "x"}));
        let bound = Collected::given(&declared, &given)
            .read("region: mars", now())
            .settle()
            .unwrap();
        assert_eq!(bound.missing, []);
    }

    /// A value from elsewhere is taken where one is asked for and it fits, and only there.
    #[test]
    fn a_drafted_value_is_bound_by_the_declaration() {
        let declared = declared();
        let label = |name: &str| Label::parse(name).unwrap();
        let model = || ValueSource::Model {
            model: "p/m".to_owned(),
        };
        let mut collected = Collected::given(&declared, &Map::new()).read("region: mars", now());
        let open: Vec<&str> = collected
            .open()
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(open, ["region", "profile"]);
        assert!(
            !collected.add(&label("region"), json!("eu-west-1"), model()),
            "the words are asked about"
        );
        assert!(!collected.resolve(&label("region"), json!("mars"), model()));
        assert!(!collected.add(&label("language"), json!("cobol"), model()));
        assert!(!collected.add(&label("profil"), json!("x"), model()));
        assert!(collected.resolve(&label("region"), json!("eu-west-1"), model()));
        assert!(collected.add(&label("profile"), json!("ops"), model()));
        assert!(!collected.add(&label("profile"), json!("other"), model()));
        let bound = collected.settle().unwrap();
        assert_eq!(bound.missing, []);
        assert_eq!(
            sources(&bound)["region"],
            json!({"from": "model", "model": "p/m"})
        );
    }
}
