//! From the bytes of a source to its text, with headings and pages marked.
//!
//! What it reads is hostile: it is meant to run in a process of its own, which the sandbox bounds in
//! time and memory ([`crate::Sources::extract`]). Must not know where bytes come from or what
//! becomes of the text.

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

/// What a source is written in.
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

/// The text of a source as it is read, with what is known of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extracted {
    /// The text.
    pub text: String,
    /// Headings and pages, in order of their place.
    pub marks: Vec<Mark>,
    /// Why parts of the text may not be what its author wrote, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// Something that begins at a place of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Offset in the text, in bytes.
    pub at: usize,
    /// What begins there.
    #[serde(flatten)]
    pub kind: MarkKind,
}

/// What begins at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// A heading.
    Heading {
        /// 1 to 6, 1 the highest.
        level: u8,
        /// Its words.
        title: String,
    },
    /// A page.
    Page(u32),
}

/// Why a source has no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// There are zero bytes in it.
    #[error("the source is not text: it contains a zero byte at offset {at}")]
    Binary {
        /// Where.
        at: usize,
    },
    /// It does not fit its encoding, and holds what no text holds.
    #[error("the source is not text: {0}, and it contains control characters")]
    NoText(String),
    /// Nothing to read.
    #[error("the source contains no text")]
    Empty,
    /// More than [`MAX_TEXT_BYTES`].
    #[error("the source contains more than {MAX_TEXT_BYTES} bytes of text")]
    TooLong,
    /// A PDF that cannot be read.
    #[error("the PDF cannot be read: {0}")]
    Pdf(String),
}

/// Takes the text out of `bytes`. `charset` is that of the `Content-Type` that came with them, if any did. Of the text,
/// only what is read is kept: what is indexed and what is quoted is the same.
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

/// Decodes a page and takes its text out.
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

/// Control characters but white space, and the escape that terminals obey.
fn is_of_no_text(c: char) -> bool {
    c.is_control() && !c.is_whitespace() && c != '\u{1b}'
}

/// A line of HTML as text, such as a title with some words in bold: tags go, characters that were
/// written as entities come back, and white space is single spaces.
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
