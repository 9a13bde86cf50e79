//! Determines a source's format: by the server's header, else by its name, else by its first bytes.

use charter_contract::charset::{self, Form, charset_of};

use crate::extract::{MediaType, PDF_SIGNATURE};
use crate::sources::{SourceError, SourceFault};

/// Bytes at a source's beginning that are examined.
const SHOWN_BYTES: usize = 1 << 10;

/// Metadata about a source's format, known before its bytes are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Media {
    /// `Content-Type`, unchanged.
    pub content_type: Option<String>,
    /// The last part of its path, for its extension.
    pub name: String,
    /// The origin of its encoding.
    pub encoding: SourceEncoding,
}

/// The origin of a source's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceEncoding {
    /// The `Content-Type`, or the source itself.
    #[default]
    Declared,
    /// It was decoded before, and is UTF-8 now.
    Utf8,
}

impl Media {
    /// Metadata of a file.
    #[must_use]
    pub fn of_file(path: &str) -> Self {
        Self {
            name: path.rsplit('/').next().unwrap_or(path).to_owned(),
            ..Self::default()
        }
    }

    /// Metadata of a file whose text was already decoded.
    #[must_use]
    pub fn of_text(path: &str) -> Self {
        Self {
            encoding: SourceEncoding::Utf8,
            ..Self::of_file(path)
        }
    }

    /// Returns the declared charset.
    pub(crate) fn charset(&self) -> Option<&str> {
        match self.encoding {
            SourceEncoding::Declared => charset_of(self.content_type.as_deref()?),
            SourceEncoding::Utf8 => Some("utf-8"),
        }
    }

    /// Determines the format to read.
    ///
    /// # Errors
    /// A type from which no text can be extracted.
    pub(crate) fn decide(&self, bytes: &[u8]) -> Result<MediaType, SourceError> {
        let said = self.content_type.as_deref().unwrap_or_default();
        let essence = said.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        match essence.as_str() {
            "" | "application/octet-stream" | "binary/octet-stream" => Ok(self.guess(bytes)),
            "text/html" | "application/xhtml+xml" => Ok(MediaType::Html),
            "text/markdown" | "text/x-markdown" => Ok(MediaType::Markdown),
            "application/pdf" | "application/x-pdf" => Ok(MediaType::Pdf),
            // Servers do not know Markdown, and send it as plain text.
            "text/plain" if self.by_name() == Some(MediaType::Markdown) => Ok(MediaType::Markdown),
            "application/json" | "application/yaml" | "application/xml" => Ok(MediaType::Text),
            text if text.starts_with("text/") => Ok(MediaType::Text),
            other => Err(SourceError::new(
                SourceFault::Unusable,
                format!("the source is `{other}`; a lens reads HTML, Markdown, text and PDF"),
            )),
        }
    }

    fn guess(&self, bytes: &[u8]) -> MediaType {
        if bytes.trim_ascii_start().starts_with(PDF_SIGNATURE) {
            return MediaType::Pdf;
        }
        let shown = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
        let start = charset::page(shown, Form::Text, self.charset()).text;
        let start = start.trim_start().to_ascii_lowercase();
        let is_html = start.starts_with("<!doctype html")
            || start.starts_with("<html")
            || (start.starts_with("<?xml") && start.contains("<html"));
        if is_html {
            MediaType::Html
        } else {
            self.by_name().unwrap_or(MediaType::Text)
        }
    }

    fn by_name(&self) -> Option<MediaType> {
        let (_, ending) = self.name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" => Some(MediaType::Html),
            "md" | "markdown" => Some(MediaType::Markdown),
            "pdf" => Some(MediaType::Pdf),
            "txt" | "rst" | "text" => Some(MediaType::Text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(content_type: &str, name: &str, bytes: &str) -> Result<MediaType, String> {
        let media = Media {
            content_type: (!content_type.is_empty()).then(|| content_type.to_owned()),
            ..Media::of_file(name)
        };
        media
            .decide(bytes.as_bytes())
            .map_err(|error| error.message)
    }

    #[test]
    fn b000_16_the_media_type_comes_from_header_content_or_name() {
        use MediaType::{Html, Markdown, Pdf, Text};
        for (content_type, name, bytes, expected) in [
            ("text/html; charset=utf-8", "a.pdf", "%PDF-1.4", Html),
            ("TEXT/Markdown", "a", "x", Markdown),
            ("text/plain", "a.md", "x", Markdown),
            ("text/plain", "a.txt", "<html>", Text),
            ("application/pdf", "a.html", "x", Pdf),
            ("", "a.txt", "%PDF-1.7", Pdf),
            ("application/octet-stream", "a", " <!DOCTYPE HTML><p>", Html),
            ("", "README.MD", "x", Markdown),
            ("", "a.htm", "x", Html),
            ("", "a", "\u{feff}\n<!doctype html>", Html),
            ("", "a.txt", "<\0h\0t\0m\0l\0>\0", Html),
            (
                "",
                "a",
                "<?xml version='1.0' encoding='latin1'?>\n<!DOCTYPE html><html>",
                Html,
            ),
            ("", "a.txt", "<?xml version='1.0'?><rss>", Text),
            ("", "LICENSE", "x", Text),
            ("text/csv", "a.csv", "x", Text),
        ] {
            assert_eq!(
                decided(content_type, name, bytes),
                Ok(expected),
                "{content_type} {name}"
            );
        }
        let media = Media {
            content_type: Some("text/html; charset=gbk".to_owned()),
            ..Media::default()
        };
        assert_eq!(media.charset(), Some("gbk"));
        assert_eq!(Media::of_file("a/b.html").charset(), None);
        assert_eq!(Media::of_text("a/b.html").charset(), Some("utf-8"));
        assert_eq!(
            decided("image/png", "a.html", "x"),
            Err("the source is `image/png`; a lens reads HTML, Markdown, text and PDF".to_owned())
        );
    }
}
