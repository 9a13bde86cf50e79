//! PDF: the text of each page. Its reader panics on what it does not expect, which is caught here;
//! endless loops and depth are the sandbox's to end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use super::{ExtractError, Extracted, MAX_TEXT_BYTES, Mark, MarkKind};

/// What every PDF begins with.
pub(crate) const SIGNATURE: &[u8] = b"%PDF-";
/// What every PDF ends with, near its end.
const END: &[u8] = b"%%EOF";
/// How far from the end the end mark may stand.
const END_WITHIN_BYTES: usize = 2048;

/// Reads page after page; one that cannot be read refuses the whole.
pub(super) fn extract(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    let tail = &bytes[bytes.len().saturating_sub(END_WITHIN_BYTES)..];
    if !tail.windows(END.len()).any(|part| part == END) {
        let message = "it is cut off: its end mark is missing".to_owned();
        return Err(ExtractError::Pdf(message));
    }
    catch_unwind(AssertUnwindSafe(|| pages(bytes)))
        .unwrap_or_else(|_| Err(ExtractError::Pdf("its contents are malformed".to_owned())))
}

fn pages(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    let broken = |error: &dyn std::fmt::Display| ExtractError::Pdf(error.to_string());
    let mut document = Document::load_mem(bytes).map_err(|error| broken(&error))?;
    if document.is_encrypted() {
        let locked = |_| ExtractError::Pdf("it is locked with a password".to_owned());
        document.decrypt("").map_err(locked)?;
    }
    let mut extracted = Extracted::default();
    for number in document.get_pages().into_keys() {
        let mut page = String::new();
        output_doc_page(&document, &mut PlainTextOutput::new(&mut page), number)
            .map_err(|error| broken(&format!("page {number}: {error}")))?;
        extracted.marks.push(Mark {
            at: extracted.text.len(),
            kind: MarkKind::Page(number),
        });
        extracted.text.push_str(page.trim());
        extracted.text.push_str("\n\n");
        if extracted.text.len() > MAX_TEXT_BYTES {
            return Err(ExtractError::TooLong);
        }
    }
    Ok(extracted)
}
