//! PDF: the text of each page. A part that cannot be read is left out, and a notice names its page.
//!
//! hayro's crates read the file's syntax and its fonts. This module locates letters, words, lines and columns. The
//! sandbox ends work that the limits do not bound.

mod content;
mod fonts;
mod layout;
mod pages;
mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use charter_contract::bounds::{PDF_FORM_LEVELS, PDF_PAGE_LETTERS, PDF_PAGES, PDF_STREAM_BYTES};
use hayro_font::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_font::kurbo::Affine;

use super::{ExtractError, Extracted, MAX_TEXT_BYTES, Mark, MarkKind};
use content::{Document, Reader, Spelling};
use pages::PageEntry;

/// The first bytes of every PDF.
pub(crate) const SIGNATURE: &[u8] = b"%PDF-";
/// The end mark of every PDF.
const END: &[u8] = b"%%EOF";
/// Most ranges of pages that one notice names.
const MAX_RANGES: usize = 20;
/// The end mark of every object of a PDF.
const OBJECT_END: &[u8] = b"endobj";

/// Why a part of a page is not in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
enum UnreadReason {
    /// The tree of pages names it, but the file does not contain it.
    #[error("the page is missing")]
    Missing,
    /// Reading it failed.
    #[error("the page is malformed")]
    Page,
    /// The page's content, or a form in it, cannot be unpacked.
    #[error("a stream is missing or damaged")]
    Stream,
    /// See [`PDF_STREAM_BYTES`].
    #[error("a stream unpacks to more than {PDF_STREAM_BYTES} bytes (PDF_STREAM_BYTES)")]
    StreamTooLarge,
    /// A font cannot be read; its letters are missing.
    #[error("a font cannot be read")]
    Font,
    /// Most letters have no Unicode value in their fonts.
    #[error("most letters have no Unicode value")]
    Letters,
    /// See [`PDF_PAGE_LETTERS`] and [`PDF_FORM_LEVELS`].
    #[error(
        "there are more than {PDF_PAGE_LETTERS} letters, or forms nested deeper than {PDF_FORM_LEVELS} \
         (PDF_PAGE_LETTERS, PDF_FORM_LEVELS)"
    )]
    PageTooLarge,
    /// The document is past a limit that its pages share.
    #[error("the document is too large (PDF_PAGES, PDF_UNPACKED_BYTES, PDF_FONTS, PDF_STEPS)")]
    DocumentTooLarge,
}

/// Reads page after page.
pub(super) fn extract(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    if is_cut_off(bytes) {
        let message = "it is truncated: its end mark is missing".to_owned();
        return Err(ExtractError::Pdf(message));
    }
    catch_unwind(AssertUnwindSafe(|| read(bytes)))
        .unwrap_or_else(|_| Err(ExtractError::Pdf("its contents are malformed".to_owned())))
}

/// Whether objects come after the last end mark, or there is none. Other bytes may come after it.
fn is_cut_off(bytes: &[u8]) -> bool {
    let last = |mark: &[u8]| bytes.windows(mark.len()).rposition(|part| part == mark);
    match (last(END), last(OBJECT_END)) {
        (None, _) => true,
        (Some(end), Some(object)) => object > end,
        (Some(_), None) => false,
    }
}

fn read(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    let pdf = Pdf::new(bytes.to_vec()).map_err(|error| {
        let message = match error {
            LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
                "it is locked with a password"
            }
            LoadPdfError::Decryption(_) => "its encryption is not supported",
            LoadPdfError::Invalid => "its pages cannot be found",
        };
        ExtractError::Pdf(message.to_owned())
    })?;
    let mut extracted = Extracted::default();
    let mut document = Document::default();
    let mut unread: BTreeMap<UnreadReason, Vec<u32>> = BTreeMap::new();
    for (page, number) in pages::pages(&pdf).into_iter().zip(1..) {
        let (text, faults) = match page {
            _ if extracted.marks.len() == PDF_PAGES => (
                String::new(),
                BTreeSet::from([UnreadReason::DocumentTooLarge]),
            ),
            Some(page) => page_text(&mut document, &page),
            None => (String::new(), BTreeSet::from([UnreadReason::Missing])),
        };
        for reason in faults {
            unread.entry(reason).or_default().push(number);
        }
        extracted.marks.push(Mark {
            at: extracted.text.len(),
            kind: MarkKind::Page(number),
        });
        extracted.text.push_str(text.trim());
        extracted.text.push_str("\n\n");
        if extracted.text.len() > MAX_TEXT_BYTES {
            return Err(ExtractError::TooLong);
        }
    }
    let notices = unread
        .into_iter()
        .map(|(reason, pages)| match pages.as_slice() {
            [page] => format!("page {page} is only partly read: {reason}"),
            pages => format!("pages {} are only partly read: {reason}", listed(pages)),
        });
    extracted.notices.extend(notices);
    let has_words = extracted.text.chars().any(char::is_alphanumeric);
    match extracted.notices.first() {
        Some(notice) if !has_words => Err(ExtractError::Pdf(notice.clone())),
        Some(_) | None => Ok(extracted),
    }
}

/// Formats ascending numbers with ranges: `1, 4 to 7`. Only the first ranges are listed.
fn listed(pages: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for page in pages {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *page => *last = *page,
            Some(_) | None => ranges.push((*page, *page)),
        }
    }
    let more = ranges.len().saturating_sub(MAX_RANGES);
    ranges.truncate(MAX_RANGES);
    let mut listed: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first} to {last}"),
        })
        .collect();
    if more > 0 {
        listed.push(format!("and {more} more places"));
    }
    listed.join(", ")
}

/// Returns the text of a page, and the reasons for missing parts.
fn page_text<'a>(
    document: &mut Document<'a>,
    page: &PageEntry<'a>,
) -> (String, BTreeSet<UnreadReason>) {
    let transform = Affine::rotate(-f64::from(page.rotated).to_radians());
    let read = catch_unwind(AssertUnwindSafe(|| {
        let mut reader = Reader::new(document, transform);
        reader.page(&page.dict, &page.resources);
        let Reader {
            shown, mut faults, ..
        } = reader;
        let unknown = shown
            .iter()
            .filter(|letter| letter.spelling == Spelling::Unknown);
        if 2 * unknown.count() > shown.len() {
            faults.insert(UnreadReason::Letters);
        }
        (layout::text(&shown), faults)
    }));
    read.unwrap_or_else(|_| (String::new(), BTreeSet::from([UnreadReason::Page])))
}

#[cfg(test)]
mod tests;
