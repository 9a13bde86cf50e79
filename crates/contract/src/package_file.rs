//! Files of a package that are no text: PDFs. Their content in a bundle, in storage and in requests is their bytes in
//! base64 (RFC 4648, section 4); every other file's content is its text.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The ending of a PDF's name.
const PDF: &str = "pdf";
/// The first bytes of a PDF.
const PDF_SIGNATURE: &[u8] = b"%PDF-";

/// Why a file's content does not fit its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedFile {
    /// The content of a PDF is no base64.
    #[error("the content is not base64")]
    Base64,
    /// The content of a PDF is something else.
    #[error("not a PDF: the content does not begin with `%PDF-`")]
    NoPdf,
}

/// Whether the content of a file is bytes in base64, by its name.
#[must_use]
pub fn is_binary(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case(PDF))
}

/// The content of a file of which [`is_binary`] is true.
#[must_use]
pub fn content_of(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// How long that content is.
#[must_use]
pub fn content_length(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// The bytes of a file, from its content.
///
/// # Errors
/// [`MalformedFile`] when the name is that of a PDF and the content is none.
pub fn bytes_of<'c>(path: &str, content: &'c str) -> Result<Cow<'c, [u8]>, MalformedFile> {
    if !is_binary(path) {
        return Ok(Cow::Borrowed(content.as_bytes()));
    }
    let bytes = STANDARD
        .decode(content)
        .map_err(|_| MalformedFile::Base64)?;
    if !bytes.trim_ascii_start().starts_with(PDF_SIGNATURE) {
        return Err(MalformedFile::NoPdf);
    }
    Ok(Cow::Owned(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pdf_is_its_bytes_in_base64_and_another_file_its_text() {
        let pdf = b"%PDF-1.7\n\xff\x00";
        let content = content_of(pdf);
        assert_eq!(content.len() as u64, content_length(pdf.len() as u64));
        assert_eq!(bytes_of("docs/A.PDF", &content).unwrap(), &pdf[..]);
        assert_eq!(bytes_of("docs/pdf", &content).unwrap(), content.as_bytes());
        assert_eq!(bytes_of("a.md", "# A").unwrap(), &b"# A"[..]);
    }

    #[test]
    fn a_file_that_is_not_a_pdf_is_refused() {
        let failed = |content: &str| bytes_of("a.pdf", content).unwrap_err();
        assert_eq!(failed("%PDF-1.7"), MalformedFile::Base64);
        assert_eq!(failed(&content_of(b"<html>")), MalformedFile::NoPdf);
        assert_eq!(failed(""), MalformedFile::NoPdf);
    }
}
