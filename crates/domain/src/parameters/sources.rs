//! Where the values of parameters come from, surest first: the caller, the words of the request, its session, its context,
//! what a person accepted of a memory or a model drafted, the declared default.
//!
//! Words that name a value and do not give it keep every other source out: the parameter is asked for. Must not know how
//! sessions, memories or models are reached.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::agentic::request::RequestMetadata;
use charter_contract::ids::{Label, MemoryId, RequestId};
use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::context::of_context;
use super::{Excluded, Misread, ParameterFault, Unclear, Unread, check, fit, present, read};

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
    excluded: Vec<Excluded>,
    restrictions: Vec<String>,
}

/// What a text leaves out and no value takes account of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The words.
    pub words: String,
    /// The parameters that could name what is meant instead.
    pub parameters: Vec<Label>,
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
    /// What the text leaves out or restricts, and no value takes account of, in its words.
    pub disregarded: Vec<String>,
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
            excluded: Vec::new(),
            restrictions: Vec::new(),
        }
    }

    /// Adds what a text states at a time.
    #[must_use]
    pub fn read(mut self, text: &str, now: Timestamp) -> Self {
        let reading = read(self.declared, text, now);
        self.excluded = reading.excluded;
        self.restrictions = reading.restrictions;
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
        let fits = fits && self.exclusion_of(name, &value).is_none();
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

    /// What the text leaves out and no value takes account of: none is known for a parameter that it could be meant for.
    #[must_use]
    pub fn left_out(&self) -> Vec<LeftOut> {
        let has_value = |name: &Label| self.values.contains_key(name.as_str());
        // A value may fit several parameters; one that has another value is enough.
        let is_settled = |one: &Excluded, value: &Value| {
            let mut owners = one.values.iter().filter(|(_, left)| left == value);
            owners.any(|(name, _)| has_value(name))
        };
        let open = self.excluded.iter().filter(|one| {
            let one: &Excluded = one;
            let mut values = one.values.iter();
            one.values.is_empty() || !values.all(|(_, value)| is_settled(one, value))
        });
        let left_out = open.map(|one| {
            let mut parameters: Vec<Label> =
                one.values.iter().map(|(name, _)| name.clone()).collect();
            parameters.dedup();
            LeftOut {
                words: shown(&one.words),
                parameters,
            }
        });
        left_out.collect()
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
            let unclear = unclear.find(|unclear| unclear.parameter == *name);
            let unclear = unclear.cloned();
            if let Some(unclear) = unclear.or_else(|| self.left_out_alone(parameter)) {
                // A default does not replace a value that the words name, and is none that they leave out.
                values.remove(name.as_str());
                missing.push(name.clone());
                faults.push(ParameterFault::Unclear(unclear));
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
        let left_out = self.left_out().into_iter().map(|left| left.words);
        let restrictions = self.restrictions.iter().map(|words| shown(words));
        let disregarded: Vec<String> = left_out.chain(restrictions).collect();
        let is_new = |unread: &&Unread| {
            let mut told = disregarded.iter();
            !told.any(|words| words.contains(&unread.word))
        };
        let unread: Vec<String> = unread
            .filter(is_new)
            .map(|unread| shown(&unread.word))
            .collect();
        Ok(Bound {
            unread,
            disregarded,
            values,
            sources,
            missing,
            faults,
        })
    }

    /// What the text leaves out that a value of a parameter is or has.
    fn exclusion_of(&self, name: &Label, value: &Value) -> Option<&Excluded> {
        let has = |left: &Value| match value {
            Value::Array(values) => values.contains(left),
            other => other == left,
        };
        self.excluded.iter().find(|one| {
            let mut own = one.values.iter().filter(|(owner, _)| owner == name);
            own.any(|(_, left)| has(left))
        })
    }

    /// Why a parameter has to be asked for of which the text leaves out the default, or the only value that it names.
    fn left_out_alone(&self, parameter: &Parameter) -> Option<Unclear> {
        let name = &parameter.name;
        if !self.asks_for(name) {
            return None;
        }
        let default = parameter.default.as_ref();
        let excluded = match default {
            Some(default) => self.exclusion_of(name, default),
            None if parameter.required => self.excluded.iter().find(|one| {
                let mut values = one.values.iter();
                values.any(|(owner, _)| owner == name)
            }),
            None => None,
        };
        excluded.map(|one| Unclear {
            parameter: name.clone(),
            words: shown(&one.words),
            why: Misread::LeftOut,
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
