//! The texts of an entry, and which of them have a vector.
//!
//! [`embedding_texts`] is the one place that determines what is embedded, so that stored vectors and indexes agree.
//! Must not know models or indexes.

use serde::{Deserialize, Serialize};

use crate::lexical::split_identifier;

/// The texts of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteText {
    /// Its name for calls, unchanged: `listBuckets`, `ec2.instances.list`.
    pub name: String,
    /// Another name that matches exactly; its words are not indexed.
    pub short_name: Option<String>,
    /// Its product, server or tool set; empty if none.
    pub group: String,
    /// Its description.
    pub description: String,
    /// Its parameters, each as `name: description` or the name alone.
    pub parameters: Vec<String>,
    /// A longer text, used for words only.
    pub body: Option<String>,
    /// Requests that it should answer.
    pub examples: Vec<String>,
    /// The text whose vector represents the entry, if it is not group, name and description.
    pub embedded: Option<String>,
}

/// The source of a vector of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorRole {
    /// [`RouteText::embedded`], or else group, name and description.
    Description,
    /// The description alone, if the entry has no `embedded` text: uninformative names must not dominate it.
    Summary,
    /// All parameters together.
    Parameters,
    /// One example.
    Example,
}

/// Returns the texts of an entry that have a vector, in a fixed order.
pub fn embedding_texts(text: &RouteText) -> Vec<(VectorRole, String)> {
    let head = text.embedded.clone().unwrap_or_else(|| described(text));
    let mut texts = Vec::with_capacity(3 + text.examples.len());
    if !head.is_empty() {
        texts.push((VectorRole::Description, head));
    }
    let summary = text.description.trim();
    if text.embedded.is_none() && !summary.is_empty() {
        texts.push((VectorRole::Summary, summary.to_owned()));
    }
    if !text.parameters.is_empty() {
        texts.push((VectorRole::Parameters, parameter_text(&text.parameters)));
    }
    let examples = text
        .examples
        .iter()
        .filter(|example| !example.trim().is_empty());
    texts.extend(examples.map(|example| (VectorRole::Example, example.clone())));
    texts
}

/// Returns `group name: description`, without empty parts.
fn described(text: &RouteText) -> String {
    let name = split_identifier(&text.name);
    let mut head = String::new();
    for part in [text.group.trim(), name.as_str()] {
        if !part.is_empty() && !head.is_empty() {
            head.push(' ');
        }
        head.push_str(part);
    }
    let description = text.description.trim();
    if !description.is_empty() {
        if !head.is_empty() {
            head.push_str(": ");
        }
        head.push_str(description);
    }
    head
}

/// `page size: rows to return, order: …`: names as words, so that the model can read them.
fn parameter_text(parameters: &[String]) -> String {
    let readable: Vec<String> = parameters
        .iter()
        .map(|parameter| match parameter.split_once(':') {
            Some((name, description)) => format!("{}:{description}", split_identifier(name)),
            None => split_identifier(parameter),
        })
        .collect();
    readable.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b000_9_the_embedded_texts_are_group_name_description_parameters_and_examples() {
        let text = RouteText {
            name: "listBuckets".to_owned(),
            group: "aws".to_owned(),
            description: "Lists buckets.".to_owned(),
            parameters: vec!["pageSize: rows".to_owned(), "nextToken".to_owned()],
            body: Some("not embedded".to_owned()),
            examples: vec!["show my buckets".to_owned(), " ".to_owned()],
            short_name: None,
            embedded: None,
        };
        assert_eq!(
            embedding_texts(&text),
            [
                (
                    VectorRole::Description,
                    "aws list Buckets: Lists buckets.".to_owned()
                ),
                (VectorRole::Summary, "Lists buckets.".to_owned()),
                (
                    VectorRole::Parameters,
                    "page Size: rows, next Token".to_owned()
                ),
                (VectorRole::Example, "show my buckets".to_owned()),
            ]
        );
        assert_eq!(embedding_texts(&RouteText::default()), []);
        let own = RouteText {
            embedded: Some("the entry in its own words".to_owned()),
            name: "name".to_owned(),
            description: "not embedded on its own".to_owned(),
            ..RouteText::default()
        };
        assert_eq!(
            embedding_texts(&own),
            [(
                VectorRole::Description,
                "the entry in its own words".to_owned()
            )]
        );
    }
}
