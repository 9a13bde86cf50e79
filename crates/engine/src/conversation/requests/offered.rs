//! A playbook that is offered, with the values that are known for it.

use charter_contract::catalogue::playbook::Playbook;
use charter_contract::ids::{Label, PlaybookId, SkillId};
use charter_contract::json::{Profile, decode_text};
use charter_domain::parameters::{self, LeftOut};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A playbook that is offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Offer {
    pub(super) playbook_id: PlaybookId,
    pub(super) title: String,
    /// Values for its parameters.
    pub(super) parameters: Map<String, Value>,
    /// Parameters that have to be given.
    pub(super) missing: Vec<Label>,
    /// The skills whose findings it is offered for; none where the sentence spoke of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) finding_skills: Vec<SkillId>,
}

impl Offer {
    /// An offer with those of the values that fit.
    pub(super) fn with_fitting(playbook: &Playbook, values: Map<String, Value>) -> Self {
        let declared = playbook.declared_parameters();
        let fits = |name: &String, value: &Value| {
            let one = Map::from_iter([(name.clone(), value.clone())]);
            parameters::bind_so_far(&declared, &one).is_ok()
        };
        let parameters: Map<String, Value> = values
            .into_iter()
            .filter(|(name, value)| fits(name, value))
            .collect();
        let missing = parameters::bind_so_far(&declared, &parameters);
        Self {
            playbook_id: playbook.playbook_id.clone(),
            title: playbook.name.to_string(),
            parameters,
            missing: missing.map(|so_far| so_far.missing).unwrap_or_default(),
            finding_skills: Vec::new(),
        }
    }

    /// Asks for the parameters that words leave a value out of.
    pub(super) fn ask_for(&mut self, left_out: Vec<LeftOut>) {
        for name in left_out.into_iter().flat_map(|left| left.parameters) {
            let known = self.parameters.contains_key(name.as_str());
            if !known && !self.missing.contains(&name) {
                self.missing.push(name);
            }
        }
    }

    pub(super) fn playbook(&self) -> &PlaybookId {
        &self.playbook_id
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    pub(super) fn into_parameters(self) -> Map<String, Value> {
        self.parameters
    }

    pub(super) fn missing(&self) -> &[Label] {
        &self.missing
    }

    /// The parameters that have to be given, for people.
    pub(super) fn missing_names(&self) -> String {
        let names: Vec<&str> = self.missing.iter().map(AsRef::as_ref).collect();
        names.join(", ")
    }

    /// How it is begun, for people.
    pub(super) fn line(&self) -> String {
        let given = self.parameters.iter().map(|(name, value)| {
            let pair = format!("{name}={}", plain(value));
            format!(" -p {}", quoted(&pair))
        });
        let given: String = given.collect();
        let missing: String = self
            .missing
            .iter()
            .map(|name| format!(" -p {name}=…"))
            .collect();
        let Self {
            title, playbook_id, ..
        } = self;
        format!("To do this: {title}. charter playbook run {playbook_id}{given}{missing}")
    }
}

/// A value as `-p` takes it: a text as it is, unless it reads as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if decode_text::<Value>(text, Profile::MESSAGE).is_err() => {
            text.clone()
        }
        other => other.to_string(),
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "=._:/@%+-".contains(c);
    match word.chars().all(is_safe) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_written_as_a_shell_takes_it() {
        assert_eq!(plain(&json!("12")), "\"12\"");
        assert_eq!(quoted("site=north-1"), "site=north-1");
    }
}
