//! The sources of parameter values, most reliable first: the caller, the words of the request, its session, its
//! context, a memory's proposal that a person accepted or a model's draft, the declared default.
//!
//! If words refer to a value that cannot be determined, no other source is used, and the user is asked for the
//! parameter. Must not know how sessions, memories or models are accessed.

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

/// The maximum number of characters of a value's words that are shown with its source.
const SHOWN_WORDS: usize = 120;

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum ValueSource {
    /// The caller sent it as a parameter.
    Given,
    /// The words of the request.
    Sentence {
        /// The words.
        words: String,
    },
    /// An earlier request of the session.
    Session {
        /// The request.
        request_id: RequestId,
    },
    /// The request's context: the client's data about the editor and the project.
    RequestContext {
        /// The field, as a path in the request's metadata.
        field: String,
    },
    /// A memory, which the caller opted in to use.
    Memory {
        /// The memory.
        memory_id: MemoryId,
    },
    /// A model's draft.
    Model {
        /// The model, as `provider/model`.
        model: String,
    },
    /// The declared default.
    Default,
}

/// Values that are being collected for declared parameters. A source adds values without changing those of previous
/// sources.
#[derive(Debug, Clone)]
pub struct Collected<'d> {
    declared: &'d [Parameter],
    values: Map<String, Value>,
    sources: BTreeMap<String, ValueSource>,
    /// Parameters that the caller sent as `null`: unclear words do not cause a question about them.
    declined: BTreeSet<Label>,
    unclear: Vec<Unclear>,
    unread: Vec<Unread>,
    excluded: Vec<Excluded>,
    restrictions: Vec<String>,
}

/// An exclusion in a text that no value reflects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The words.
    pub words: String,
    /// The parameters that could name the intended value instead.
    pub parameters: Vec<Label>,
}

/// The collected values, and the parameters that remain open.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Valid values, and defaults.
    pub values: Map<String, Value>,
    /// The source of each value.
    pub sources: BTreeMap<String, ValueSource>,
    /// Parameters that the user must be asked for.
    pub missing: Vec<Label>,
    /// The reasons, in the same order.
    pub faults: Vec<ParameterFault>,
    /// Words of the text that may be meant for parameters with a default or without a value.
    pub unread: Vec<String>,
    /// Exclusions and restrictions in the text that no value reflects, in its words.
    pub disregarded: Vec<String>,
}

impl<'d> Collected<'d> {
    /// Starts with the caller's values. `null` counts as absent. Undeclared values are kept, and rejected by
    /// [`Collected::settle`].
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

    /// Adds the values in a text, relative to this time.
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

    /// Adds the values of an earlier request of the session. If a word of the text may be meant for a parameter, its
    /// earlier value is not used: "and in Frankfurt?" must not be answered for the previous region.
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

    /// Adds the values in the request's context, by parameter name.
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

    /// Adds a value from another source, if it is valid. Returns whether it was added.
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

    /// Adds a value for words that were not understood, if it is valid.
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

    /// Returns the values so far, without defaults. The caller's values are not validated yet.
    #[must_use]
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Returns the parameters that the user must be asked for in the current state: required ones without a value, and
    /// those with unclear words.
    #[must_use]
    pub fn open(&self) -> Vec<&'d Parameter> {
        let open = self.declared.iter().filter(|parameter| {
            let needed = parameter.required && parameter.default.is_none();
            self.lacks(&parameter.name) && (needed || self.is_unclear(&parameter.name))
        });
        open.collect()
    }

    /// Returns the exclusions that no value reflects: no parameter that they could belong to has a value.
    #[must_use]
    pub fn left_out(&self) -> Vec<LeftOut> {
        let has_value = |name: &Label| self.values.contains_key(name.as_str());
        // A value may be valid for several parameters; one of them with another value is sufficient.
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

    /// Validates the values and fills in defaults.
    ///
    /// # Errors
    /// Every [`ParameterFault`] of the caller's values.
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
            // There is one fault per required parameter without a value, in the order of the declaration.
            let needed = parameter.required && !values.contains_key(name.as_str());
            let fault = needed.then(|| lacking.next()).flatten();
            let mut unclear = self.unclear.iter();
            let unclear = unclear.find(|unclear| unclear.parameter == *name);
            let unclear = unclear.cloned();
            if let Some(unclear) = unclear.or_else(|| self.left_out_alone(parameter)) {
                // A default replaces neither a value that the words refer to nor an excluded value.
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

    /// Returns the exclusion that contains a value of a parameter, or one of its elements.
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

    /// Returns the reason for asking for a parameter whose default, or whose only mentioned value, the text excludes.
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

    /// Returns whether unclear words cause a question about the parameter.
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
    /// Returns the reasons for unclear words, by parameter.
    #[must_use]
    pub fn unclear(&self) -> BTreeMap<String, String> {
        let unclear = self.faults.iter().filter_map(|fault| match fault {
            ParameterFault::Unclear(unclear) => Some(unclear),
            ParameterFault::Missing { .. }
            | ParameterFault::Unknown { .. }
            | ParameterFault::Type { .. }
            | ParameterFault::NotAllowed { .. }
            | ParameterFault::Pattern { .. }
            | ParameterFault::LongForPattern { .. }
            | ParameterFault::Schema { .. } => None,
        });
        unclear
            .map(|unclear| (unclear.parameter.to_string(), unclear.to_string()))
            .collect()
    }

    /// Returns whether every value is the caller's or a default.
    #[must_use]
    pub fn is_given(&self) -> bool {
        let mut sources = self.sources.values();
        sources.all(|source| matches!(source, ValueSource::Given | ValueSource::Default))
    }
}

/// Returns the beginning of words, for display.
fn shown(words: &str) -> String {
    words.chars().take(SHOWN_WORDS).collect()
}
