//! Replaces identifiers in a sentence by nouns: "is A-1002 sent?" is about an order.
//!
//! Text models do not know identifiers, and word search gives them a high weight. Documents declare parameters with
//! patterns and examples, from which an identifier's noun is derived. A value that only one domain declares is replaced
//! by the parameter's name (delexicalisation, as in slot filling). A value that several domains declare, such as a
//! region, does not identify the subject and is removed. The cost is bounded by the length of the text and the number
//! of shapes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::bounds::{IDENTIFIER_MEMORY, IDENTIFIER_SHAPES};
use charter_contract::ids::DomainId;
use charter_contract::parameter::{Parameter, ParameterType};
use serde_json::Value;

use crate::parameters::Compiled;

/// Ordinary words, product names and numbers. A pattern that matches one of them does not identify identifiers.
const ORDINARY: [&str; 14] = [
    "s3",
    "gp2",
    "ipv6",
    "ec2",
    "x86",
    "443",
    "10",
    "2024",
    "1,000",
    "word",
    "Word",
    "follow-up",
    "3rd",
    "b2b",
];

/// Prepositions that are removed together with their value: "in eu-west-1".
const PREPOSITIONS: [&str; 7] = ["in", "for", "of", "on", "from", "at", "with"];

/// The noun for identifiers of some shape; `None` if the shape does not identify the subject.
type Noun = Option<String>;

/// The shapes of the identifiers that a caller's documents declare.
#[derive(Debug, Default)]
pub struct Identifiers {
    patterns: Vec<(Arc<Compiled>, Noun)>,
    forms: BTreeMap<Form, Noun>,
    /// Names of parameters: in "profile prod_infra" the name precedes a value.
    names: BTreeSet<String>,
}

/// The form of an example: `A-1002` has the prefix `A-` and digits; `sg-0f1e` has letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    /// The prefix in lower case, with the sign that ends it.
    prefix: String,
    digits_only: bool,
}

impl Form {
    /// Returns the form of a word, if it is an identifier: letters, a sign, and then characters with a digit.
    fn from_word(word: &str) -> Option<Self> {
        let sign = word.find(['-', '_', '/', ':', '#'])?;
        let (prefix, rest) = word.split_at(sign + 1);
        let named = prefix.starts_with(char::is_alphabetic) && sign <= 12;
        let has_digit = rest.chars().any(|c| c.is_ascii_digit());
        let plain = rest.chars().all(char::is_alphanumeric);
        (named && has_digit && plain).then(|| Form {
            prefix: prefix.to_lowercase(),
            digits_only: rest.chars().all(|c| c.is_ascii_digit()),
        })
    }
}

impl Identifiers {
    /// Collects the shapes of the parameters of these documents.
    pub fn from_parameters<'d>(
        declared: impl Iterator<Item = (&'d DomainId, &'d [Parameter])>,
    ) -> Self {
        let mut patterns: BTreeMap<&str, Declared<'_>> = BTreeMap::new();
        let mut forms: BTreeMap<Form, Declared<'_>> = BTreeMap::new();
        let mut names = BTreeSet::new();
        for (domain, parameters) in declared {
            for parameter in parameters {
                let name = parameter.name.as_str();
                names.insert(name.to_lowercase());
                let is_text =
                    matches!(parameter.kind, ParameterType::String | ParameterType::Array);
                if let Some(pattern) = parameter.pattern.as_deref().filter(|_| is_text) {
                    patterns.entry(pattern).or_default().add(domain, name);
                }
                for example in examples(parameter) {
                    if let Some(form) =
                        Form::from_word(example).filter(|_| parameter.pattern.is_none())
                    {
                        forms.entry(form).or_default().add(domain, name);
                    }
                }
            }
        }
        let mut compiled = Vec::new();
        let mut memory = 0;
        for (pattern, declared) in patterns.into_iter().take(IDENTIFIER_SHAPES) {
            let Some(pattern) = Compiled::whole(pattern) else {
                continue;
            };
            if ORDINARY.iter().any(|word| pattern.fits(word)) {
                continue;
            }
            memory += pattern.memory();
            if memory > IDENTIFIER_MEMORY {
                break;
            }
            compiled.push((pattern, declared.noun()));
        }
        let forms = forms.into_iter().take(IDENTIFIER_SHAPES);
        Self {
            patterns: compiled,
            forms: forms
                .map(|(form, declared)| (form, declared.noun()))
                .collect(),
            names,
        }
    }

    /// Returns the text with its identifiers replaced by nouns.
    #[must_use]
    pub fn replaced(&self, text: &str) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut chunks = text.split_whitespace().peekable();
        while let Some(chunk) = chunks.next() {
            let bare = chunk.trim_matches(|c: char| !c.is_alphanumeric());
            let value = chunks
                .peek()
                .map(|next| next.trim_matches(|c: char| !c.is_alphanumeric()));
            if self.names.contains(&bare.to_lowercase()) && value.is_some_and(is_code) {
                // "profile prod_infra": the name is kept only if one domain has it, and the value is examined
                // separately.
                if value.and_then(|value| self.named(value)).is_none() {
                    chunks.next();
                    drop_preposition(&mut words);
                    continue;
                }
            }
            if bare
                .split_once('=')
                .is_some_and(|(name, _)| self.names.contains(&name.to_lowercase()))
            {
                drop_preposition(&mut words);
                continue;
            }
            match self.named(bare) {
                None => words.push(chunk.to_owned()),
                Some(None) => drop_preposition(&mut words),
                Some(Some(noun)) => {
                    if words.last() != Some(noun) {
                        words.push(noun.clone());
                    }
                }
            }
            // Another request follows: "reboot vm-1, and list the disks".
            let joint = match chunk.chars().last() {
                Some('.') if chunks.peek().is_some() => Some('.'),
                Some(',') if chunks.peek() == Some(&"and") => Some(','),
                Some(_) | None => None,
            };
            if let (Some(joint), Some(last)) = (joint, words.last_mut())
                && !last.ends_with(joint)
            {
                last.push(joint);
            }
        }
        match words.is_empty() {
            true => text.trim().to_owned(),
            false => words.join(" "),
        }
    }

    /// Returns the noun of a word; `None` if the word is not an identifier.
    fn named(&self, word: &str) -> Option<&Noun> {
        if !word.chars().any(|c| c.is_ascii_digit()) {
            return None;
        }
        let form = Form::from_word(word);
        let by_form = form.as_ref().and_then(|form| {
            let any = Form {
                digits_only: false,
                ..form.clone()
            };
            self.forms.get(form).or_else(|| self.forms.get(&any))
        });
        by_form.or_else(|| {
            let fits = self.patterns.iter().find(|(pattern, _)| pattern.fits(word));
            fits.map(|(_, noun)| noun)
        })
    }
}

/// Returns whether a word is a value: it has a digit, a sign or an inner capital.
fn is_code(word: &str) -> bool {
    word.contains(['_', '=', ':', '/']) || word.chars().any(|c| c.is_ascii_digit())
}

/// Removes a trailing preposition, which belongs to the removed value.
pub(crate) fn drop_preposition(words: &mut Vec<String>) {
    let bare = |word: &String| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let ends = words
        .last()
        .is_some_and(|last| PREPOSITIONS.contains(&bare(last).as_str()));
    if ends && words.len() > 1 {
        words.pop();
    }
}

/// The texts among a parameter's example and default.
fn examples(parameter: &Parameter) -> impl Iterator<Item = &str> {
    let values = parameter.example.iter().chain(&parameter.default);
    let texts = values.flat_map(|value| match value {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    });
    texts.filter_map(Value::as_str)
}

/// The domains that declare a shape, and the names of the parameters.
#[derive(Default)]
struct Declared<'d> {
    domains: BTreeSet<&'d DomainId>,
    names: BTreeSet<&'d str>,
}

impl<'d> Declared<'d> {
    fn add(&mut self, domain: &'d DomainId, name: &'d str) {
        self.domains.insert(domain);
        self.names.insert(name);
    }

    /// Returns the noun if only one domain declares the shape: `order_id` names an order.
    fn noun(&self) -> Noun {
        if self.domains.len() != 1 {
            return None;
        }
        Some(thing(self.names.first()?))
    }
}

/// The noun for a parameter's values: `order_id` names an order.
pub(crate) fn thing(parameter: &str) -> String {
    let name = parameter.replace('_', " ");
    let thing = name
        .strip_suffix(" ids")
        .or_else(|| name.strip_suffix(" id"));
    thing.unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identifiers() -> Identifiers {
        let parse = |value: Value| -> Vec<Parameter> { serde_json::from_value(value).unwrap() };
        let domains = ["network", "cost", "desk"].map(|id| DomainId::parse(id).unwrap());
        let zone = json!({"name": "zone", "type": "string", "pattern": "^[a-z]{2}-[a-z]+-[0-9]$"});
        let network = parse(json!([
            zone, {"name": "host_ids", "type": "array", "example": ["vm-0a1b"]},
            {"name": "account", "type": "string", "example": "prod_main"},
        ]));
        let cost = parse(json!([zone, {"name": "any", "type": "string", "pattern": "[a-z0-9]+"}]));
        let desk = parse(json!([{"name": "ticket", "type": "string", "example": "T-51"}]));
        let [first, second, third] = &domains;
        Identifiers::from_parameters(
            [
                (first, network.as_slice()),
                (second, cost.as_slice()),
                (third, desk.as_slice()),
            ]
            .into_iter(),
        )
    }

    #[test]
    fn an_identifier_becomes_what_it_names_and_one_of_several_domains_is_left_out() {
        let identifiers = identifiers();
        for (text, replaced) in [
            ("is T-7741 closed?", "is ticket closed?"),
            ("reboot vm-99ff (in eu-west-1)!", "reboot host"),
            ("reboot ticket T-51 in eu-west-1 now", "reboot ticket now"),
            ("hosts for account prod_main2", "hosts"),
            ("hosts with account=prod_main", "hosts"),
            (
                "the s3 bucket of gp2 disks, port 443",
                "the s3 bucket of gp2 disks, port 443",
            ),
            (
                "reboot vm-99ff, and close T-51. Thanks",
                "reboot host, and close ticket. Thanks",
            ),
            ("T-51", "ticket"),
            ("eu-west-1", "eu-west-1"),
            ("t-shirt and x-ray", "t-shirt and x-ray"),
        ] {
            assert_eq!(identifiers.replaced(text), replaced, "{text}");
        }
    }

    #[test]
    fn without_declarations_a_text_stays_as_it_is() {
        let none = Identifiers::default();
        assert_eq!(
            none.replaced("reboot vm-1  in eu-west-1"),
            "reboot vm-1 in eu-west-1"
        );
    }
}
