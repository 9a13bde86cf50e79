//! From the bytes of a source to its text, with headings and pages marked.
//!
//! What it reads is hostile: it is meant to run in a process of its own, which the sandbox bounds in
//! time and memory ([`crate::Sources::extract`]). Must not know where bytes come from or what
//! becomes of the text.

mod charset;
mod html;
mod markdown;
mod pdf;

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

/// The text of a source, exactly as it was taken out, with what is known of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extracted {
    /// The text.
    pub text: String,
    /// Headings and pages, in order of their place.
    pub marks: Vec<Mark>,
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
    /// The declared encoding is not known.
    #[error("the source declares the charset `{0}`, which is not known")]
    UnknownCharset(String),
    /// The bytes are not what the declaration says.
    #[error("the source says that it is {charset}, and it is not from byte {at} on")]
    WrongCharset {
        /// What was declared.
        charset: String,
        /// Where the first byte stands that does not fit.
        at: usize,
    },
    /// No declaration, and no UTF-8.
    #[error(
        "the source declares no charset and is not UTF-8 from byte {at} on; declare one in Content-Type"
    )]
    NoCharset {
        /// Where the first byte stands that does not fit.
        at: usize,
    },
    /// There are zero bytes in it.
    #[error("the source is no text: it holds a zero byte at offset {at}")]
    Binary {
        /// Where.
        at: usize,
    },
    /// Nothing to read.
    #[error("the source holds no text")]
    Empty,
    /// More than [`MAX_TEXT_BYTES`].
    #[error("the source holds more than {MAX_TEXT_BYTES} bytes of text")]
    TooLong,
    /// A PDF that cannot be read.
    #[error("the PDF cannot be read: {0}")]
    Pdf(String),
}

/// Takes the text out of `bytes`. `charset` is what came with them, if anything did.
///
/// # Errors
/// [`ExtractError`].
pub fn extract(
    bytes: &[u8],
    media_type: MediaType,
    charset: Option<&str>,
) -> Result<Extracted, ExtractError> {
    let extracted = match media_type {
        MediaType::Pdf => pdf::extract(bytes)?,
        MediaType::Html => {
            html::extract(&charset::decode(bytes, charset.or(html::charset(bytes)))?)
        }
        MediaType::Markdown => markdown::extract(charset::decode(bytes, charset)?),
        MediaType::Text => Extracted {
            text: charset::decode(bytes, charset)?,
            marks: Vec::new(),
        },
    };
    if extracted.text.len() > MAX_TEXT_BYTES {
        return Err(ExtractError::TooLong);
    }
    if !extracted.text.chars().any(char::is_alphanumeric) {
        return Err(ExtractError::Empty);
    }
    Ok(extracted)
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
