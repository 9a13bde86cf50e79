//! Binary files of a package: PDFs. In a bundle, in storage and in requests, their content is their bytes in base64
//! (RFC 4648, section 4); the content of every other file is its text.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// File extension of a PDF.
const PDF: &str = "pdf";
/// The first bytes of a PDF.
const PDF_SIGNATURE: &[u8] = b"%PDF-";

/// The reason why a file's content does not match its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedFile {
    /// The content of a PDF is not base64.
    #[error("the content is not base64")]
    Base64,
    /// The content of a PDF is of another format.
    #[error("not a PDF: the content does not begin with `%PDF-`")]
    NoPdf,
}

/// Whether the content of a file is base64, according to its name.
#[must_use]
pub fn is_binary(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case(PDF))
}

/// Returns the content of a file for which [`is_binary`] is true.
#[must_use]
pub fn content_of(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the length of that content.
#[must_use]
pub fn content_length(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Returns the bytes of a file from its content.
///
/// # Errors
/// [`MalformedFile`] if the name is that of a PDF and the content is not.
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
    fn a_pdf_is_stored_as_base64_and_other_files_as_text() {
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
