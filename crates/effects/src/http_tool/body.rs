//! Formats of a request's body: JSON, forms, parts and text. Must not know placeholders or clients.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::agentic::error::ErrorType;
use charter_contract::catalogue::tool::BodyFormat;
use charter_contract::hex;
use reqwest::Url;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::template::scalar_text;
use crate::outcome::Failure;

/// The first part of the boundary between parts, and the digits after it.
const BOUNDARY: &str = "charter-part";
const BOUNDARY_DIGITS: usize = 32;
/// Fields of an object that is a file in a body of parts.
const FILE_FIELDS: [&str; 4] = ["text", "base64", "filename", "content_type"];
/// Media type of a file without a declared one.
const BINARY: &str = "application/octet-stream";

/// A body as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FormattedBody {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: String,
    /// Whether the content type has a part that the tool cannot know, so that it replaces the tool's own.
    pub(super) is_fixed: bool,
}

/// A part of a body of parts.
struct BodyPart {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    content: Vec<u8>,
}

impl FormattedBody {
    /// Formats a value.
    pub(super) fn new(format: BodyFormat, body: &Value) -> Result<Self, Failure> {
        match format {
            BodyFormat::Json => Ok(Self::of_type(
                body.to_string().into_bytes(),
                "application/json",
            )),
            BodyFormat::Form => {
                let bytes = form(fields(body)?)?.into_bytes();
                Ok(Self::of_type(bytes, "application/x-www-form-urlencoded"))
            }
            BodyFormat::Multipart => multipart(fields(body)?),
            BodyFormat::Text => {
                let text = scalar_text(body)
                    .ok_or_else(|| input("the body is not a single value".to_owned()))?;
                Ok(Self::of_type(
                    text.into_bytes(),
                    "text/plain; charset=utf-8",
                ))
            }
        }
    }

    fn of_type(bytes: Vec<u8>, content_type: &str) -> Self {
        Self {
            bytes,
            content_type: content_type.to_owned(),
            is_fixed: false,
        }
    }
}

fn fields(body: &Value) -> Result<&Map<String, Value>, Failure> {
    body.as_object()
        .ok_or_else(|| input("the body is not an object of fields".to_owned()))
}

/// Encodes fields as URL queries are. The address is only a carrier for the encoder.
fn form(fields: &Map<String, Value>) -> Result<String, Failure> {
    let mut pairs = Vec::new();
    for (name, value) in fields {
        add_pairs(name.clone(), value, &mut pairs);
    }
    let mut carrier = Url::parse("http://localhost/")
        .map_err(|error| Failure::system(format!("encoding a form: {error}")))?;
    carrier.query_pairs_mut().extend_pairs(&pairs);
    Ok(carrier.query().unwrap_or_default().to_owned())
}

/// Adds the pairs of a field: lists of single values repeat the name, and nested names are in brackets.
fn add_pairs(name: String, value: &Value, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::String(_) | Value::Number(_) | Value::Bool(_) => {
            pairs.extend(scalar_text(value).map(|text| (name, text)));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                match scalar_text(item) {
                    Some(text) => pairs.push((name.clone(), text)),
                    None => add_pairs(format!("{name}[{at}]"), item, pairs),
                }
            }
        }
        Value::Object(members) => {
            for (member, value) in members {
                add_pairs(format!("{name}[{member}]"), value, pairs);
            }
        }
    }
}

fn multipart(fields: &Map<String, Value>) -> Result<FormattedBody, Failure> {
    let mut parts = Vec::new();
    for (name, value) in fields {
        match value {
            Value::Null => {}
            Value::Array(items) if items.iter().all(is_file) => {
                for item in items {
                    parts.push(part(name, item)?);
                }
            }
            value => parts.push(part(name, value)?),
        }
    }
    let boundary = boundary(&parts);
    let mut bytes = Vec::new();
    for part in &parts {
        part.write(&boundary, &mut bytes);
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(FormattedBody {
        bytes,
        content_type: format!("multipart/form-data; boundary={boundary}"),
        is_fixed: true,
    })
}

/// Whether a value is a file: an object with its content, and no other fields than those of a file.
fn is_file(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| {
        fields.contains_key("text") != fields.contains_key("base64")
            && fields
                .iter()
                .all(|(name, value)| FILE_FIELDS.contains(&name.as_str()) && value.is_string())
    })
}

fn part(name: &str, value: &Value) -> Result<BodyPart, Failure> {
    let name = quoted(name);
    if let Some(text) = scalar_text(value) {
        return Ok(BodyPart {
            name,
            filename: None,
            content_type: None,
            content: text.into_bytes(),
        });
    }
    if !is_file(value) {
        return Ok(BodyPart {
            name,
            filename: None,
            content_type: Some("application/json".to_owned()),
            content: value.to_string().into_bytes(),
        });
    }
    let field = |name: &str| value[name].as_str();
    let content = match field("base64") {
        Some(encoded) => STANDARD
            .decode(encoded)
            .map_err(|_| input(format!("the file {name:?} is not base64")))?,
        None => field("text").unwrap_or_default().as_bytes().to_vec(),
    };
    let content_type = field("content_type").unwrap_or(BINARY);
    if !content_type
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte))
    {
        let message = format!("the content type {content_type:?} is not plain text");
        return Err(input(message));
    }
    Ok(BodyPart {
        filename: Some(quoted(field("filename").unwrap_or(&name))),
        name,
        content_type: Some(content_type.to_owned()),
        content,
    })
}

/// Escapes the characters that end a quoted name, as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Returns a boundary that occurs in no part: a digest of all of them, which none of them can contain. So a repeated
/// call sends equal bytes, and no content makes the search for a boundary long.
fn boundary(parts: &[BodyPart]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        let texts = [
            Some(&part.name),
            part.filename.as_ref(),
            part.content_type.as_ref(),
        ];
        let texts = texts.map(|text| text.map_or(&[][..], String::as_bytes));
        for bytes in texts.into_iter().chain([&part.content[..]]) {
            digest.update((bytes.len() as u64).to_be_bytes());
            digest.update(bytes);
        }
    }
    let digits = hex::encode(&digest.finalize());
    format!("{BOUNDARY}-{}", &digits[..BOUNDARY_DIGITS])
}

impl BodyPart {
    fn write(&self, boundary: &str, bytes: &mut Vec<u8>) {
        let mut head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{}\"",
            self.name
        );
        if let Some(filename) = &self.filename {
            head.push_str(&format!("; filename=\"{filename}\""));
        }
        if let Some(content_type) = &self.content_type {
            head.push_str(&format!("\r\ncontent-type: {content_type}"));
        }
        head.push_str("\r\n\r\n");
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(&self.content);
        bytes.extend_from_slice(b"\r\n");
    }
}

fn input(message: String) -> Failure {
    Failure::new(ErrorType::InputError, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn formatted(format: BodyFormat, body: &Value) -> (String, String) {
        let formatted = FormattedBody::new(format, body).unwrap();
        let text = String::from_utf8(formatted.bytes).unwrap();
        (formatted.content_type, text)
    }

    #[test]
    fn a_form_repeats_lists_and_brackets_nested_names() {
        let body = json!({"a": "x y&z", "n": 1, "list": ["p", 2], "in": {"k": true, "l": [{"m": 3}]}, "none": null});
        let (content_type, text) = formatted(BodyFormat::Form, &body);
        assert_eq!(content_type, "application/x-www-form-urlencoded");
        let mut pairs: Vec<&str> = text.split('&').collect();
        pairs.sort_unstable();
        assert_eq!(
            pairs,
            [
                "a=x+y%26z",
                "in%5Bk%5D=true",
                "in%5Bl%5D%5B0%5D%5Bm%5D=3",
                "list=2",
                "list=p",
                "n=1"
            ]
        );
    }

    #[test]
    fn a_body_of_parts_has_values_json_and_files() {
        let body = json!({"file": {"filename": "a\".txt", "base64": "aGk="}});
        let (content_type, text) = formatted(BodyFormat::Multipart, &body);
        let boundary = content_type.split_once("boundary=").unwrap().1;
        let expected = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a%22.txt\"\r\n\
             content-type: application/octet-stream\r\n\r\nhi\r\n--{boundary}--\r\n"
        );
        assert_eq!(text, expected);
        let (_, text) = formatted(BodyFormat::Multipart, &json!({"n": 1, "o": {"x": 2}}));
        assert!(text.contains("name=\"n\"\r\n\r\n1\r\n"), "{text}");
        assert!(
            text.contains("name=\"o\"\r\ncontent-type: application/json\r\n\r\n{\"x\":2}\r\n"),
            "{text}"
        );
    }

    #[test]
    fn a_boundary_depends_on_the_parts_alone_and_occurs_in_none() {
        let boundary = |body: &Value| formatted(BodyFormat::Multipart, body).0;
        let one = boundary(&json!({"a": "x"}));
        assert!(one.starts_with("multipart/form-data; boundary=charter-part-"));
        assert_eq!(boundary(&json!({"a": "x"})), one);
        for other in [
            json!({"a": one}),
            json!({"b": "x"}),
            json!({"a": "", "x": ""}),
        ] {
            assert_ne!(boundary(&other), one, "{other}");
        }
    }

    #[test]
    fn a_body_of_the_wrong_form_is_refused() {
        for (format, body) in [
            (BodyFormat::Form, json!(["a"])),
            (BodyFormat::Multipart, json!("a")),
            (BodyFormat::Multipart, json!({"f": {"base64": "%"}})),
            (BodyFormat::Text, json!({})),
        ] {
            let refused = FormattedBody::new(format, &body).unwrap_err();
            assert_eq!(refused.kind, ErrorType::InputError, "{body}");
        }
        let (content_type, text) = formatted(BodyFormat::Text, &json!("<a/>"));
        assert_eq!(
            (content_type.as_str(), text.as_str()),
            ("text/plain; charset=utf-8", "<a/>")
        );
    }
}
