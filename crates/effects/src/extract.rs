//! Extracts the text of a source from its bytes, and marks headings and pages.
//!
//! The input is hostile: extraction is meant to run in a separate process, which the sandbox bounds in time and memory
//! ([`crate::Sources::extract`]). Must not know where bytes come from or how the text is used.

mod html;
mod markdown;
mod pdf;
mod plain;

use charter_contract::charset::{self, Form, Notice};
use serde::{Deserialize, Serialize};

pub(crate) use pdf::SIGNATURE as PDF_SIGNATURE;

/// Most text of one source, in bytes: 16 MiB.
pub const MAX_TEXT_BYTES: usize = 16 << 20;
/// Longest heading that is kept, in bytes; longer ones are cut.
const MAX_HEADING_BYTES: usize = 200;

/// The format of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaType {
    /// HTML or XHTML.
    Html,
    /// Markdown.
    Markdown,
    /// Any other text.
    Text,
    /// PDF.
    Pdf,
}

/// The extracted text of a source, with its headings and pages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extracted {
    /// The text.
    pub text: String,
    /// Headings and pages, by offset.
    pub marks: Vec<Mark>,
    /// Why parts of the text may not be what its author wrote, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// A heading or page that begins at an offset of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Offset in the text, in bytes.
    pub at: usize,
    /// Kind of mark.
    #[serde(flatten)]
    pub kind: MarkKind,
}

/// Kind of a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// A heading.
    Heading {
        /// 1 to 6, 1 the highest.
        level: u8,
        /// Its text.
        title: String,
    },
    /// A page.
    Page(u32),
}

/// Why a source has no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// The bytes contain a zero byte.
    #[error("the source is not text: it contains a zero byte at offset {at}")]
    Binary {
        /// Its offset.
        at: usize,
    },
    /// The bytes are invalid in their encoding, and contain control characters.
    #[error("the source is not text: {0}, and it contains control characters")]
    NoText(String),
    /// The source has no text.
    #[error("the source contains no text")]
    Empty,
    /// More than [`MAX_TEXT_BYTES`].
    #[error("the source contains more than {MAX_TEXT_BYTES} bytes of text")]
    TooLong,
    /// A PDF that cannot be read.
    #[error("the PDF cannot be read: {0}")]
    Pdf(String),
}

/// Extracts the text of `bytes`. `charset` is that of the `Content-Type` header, if there was one. The result holds
/// only the text that is indexed, so that indexed text and quoted text agree.
///
/// # Errors
/// [`ExtractError`].
pub fn extract(
    bytes: &[u8],
    media_type: MediaType,
    charset: Option<&str>,
) -> Result<Extracted, ExtractError> {
    let extracted = match media_type {
        MediaType::Pdf => plain::plain_parts(pdf::extract(bytes)?),
        MediaType::Html => read(bytes, Form::Html, charset, html::extract)?,
        MediaType::Markdown => read(bytes, Form::Text, charset, |text| {
            markdown::extract(&plain::plain(text))
        })?,
        MediaType::Text => read(bytes, Form::Text, charset, |text| Extracted {
            text: plain::without_marks_of_words(&plain::plain(text)),
            ..Extracted::default()
        })?,
    };
    if extracted.text.len() > MAX_TEXT_BYTES {
        return Err(ExtractError::TooLong);
    }
    if !extracted.text.chars().any(char::is_alphanumeric) {
        return Err(ExtractError::Empty);
    }
    Ok(extracted)
}

/// Decodes a page and extracts its text.
fn read(
    bytes: &[u8],
    form: Form,
    charset: Option<&str>,
    take_out: impl FnOnce(&str) -> Extracted,
) -> Result<Extracted, ExtractError> {
    let page = charset::page(bytes, form, charset);
    if let Some(at) = page.text.find('\0') {
        return Err(ExtractError::Binary { at });
    }
    let misfit = page.notices.iter().find(|notice| match notice {
        Notice::Replaced { .. } | Notice::Assumed { .. } => true,
        Notice::Unknown(_) => false,
    });
    if let Some(misfit) = misfit
        && page.text.contains(is_of_no_text)
    {
        return Err(ExtractError::NoText(misfit.to_string()));
    }
    let notices = page.notices.iter().map(ToString::to_string).collect();
    Ok(Extracted {
        notices,
        ..take_out(&page.text)
    })
}

/// Whether a character does not occur in text: a control character except white space and the terminal escape.
fn is_of_no_text(c: char) -> bool {
    c.is_control() && !c.is_whitespace() && c != '\u{1b}'
}

/// Converts a line of HTML to text, such as a title with some bold words: removes tags, decodes entities, and collapses
/// white space to single spaces.
pub(crate) fn line(html: &str) -> String {
    html::line(html)
}

fn heading(at: usize, level: u8, title: &str) -> Mark {
    let title = title.trim();
    let title = title[..title.floor_char_boundary(MAX_HEADING_BYTES)].to_owned();
    Mark {
        at,
        kind: MarkKind::Heading { level, title },
    }
}

#[cfg(test)]
mod tests;
