//! Damaged files, and files that are built to be expensive.

use charter_contract::bounds::{PDF_PAGE_LETTERS, PDF_STREAM_BYTES};

use super::{extract, file, page, pages, parts, show, stream, text};
use crate::extract::{ExtractError, MarkKind};

const PAGE_TOO_LARGE: &str = "page 1 is only partly read: there are more than 200000 letters, or forms nested deeper \
                              than 16 (PDF_PAGE_LETTERS, PDF_FORM_LEVELS)";
const STREAM_TOO_LARGE: &str =
    "page 1 is only partly read: a stream unpacks to more than 33554432 bytes (PDF_STREAM_BYTES)";

/// B000-16: a page that cannot be read is named, and the others are read.
#[test]
fn b000_16_a_damaged_page_does_not_affect_other_pages() {
    let contents = [
        stream("", show(72.0, 700.0, "The first page")),
        stream("/Filter /FlateDecode", "no deflated data"),
        b"null".to_vec(),
        stream("", show(72.0, 700.0, "The last page")),
    ];
    let whole = pages(&contents, "", &[]);
    let found = extract(&whole).unwrap();
    assert_eq!(
        found.text.trim_end(),
        "The first page\n\n\n\n\n\nThe last page"
    );
    let marks = found.marks.iter().map(|mark| (mark.at, mark.kind.clone()));
    let pages: Vec<_> = marks.collect();
    assert_eq!(
        pages,
        [
            (0, MarkKind::Page(1)),
            (16, MarkKind::Page(2)),
            (18, MarkKind::Page(3)),
            (20, MarkKind::Page(4))
        ]
    );
    assert_eq!(
        parts(&whole).1,
        ["pages 2, 3 are only partly read: a stream is missing or damaged"]
    );
}

/// The tree names a page that the file does not contain: the pages after it keep their numbers.
#[test]
fn b000_16_a_missing_page_keeps_its_number() {
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [9 0 R 3 0 R 2 0 R 8 0 R] /Count 3 >>".to_vec(),
        b"<< /Type /Page /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>".to_vec(),
        stream("", show(72.0, 700.0, "Here")),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    let (text, unread) = parts(&file(&objects));
    assert_eq!(text.trim(), "Here");
    assert_eq!(
        unread,
        ["pages 1, 3 are only partly read: the page is missing"]
    );
}

#[test]
fn b000_16_a_wrong_object_table_is_rebuilt() {
    let whole = page(&show(72.0, 700.0, "Found again"));
    let at = |mark: &[u8]| {
        whole
            .windows(mark.len())
            .position(|part| part == mark)
            .unwrap()
    };
    let mut moved = whole.clone();
    moved.splice(9..9, *b"% a line that moves every object\n");
    let mut lost = whole[..at(b"xref")].to_vec();
    lost.extend(b"trailer << /Root 1 0 R >>\n%%EOF\n");
    for damaged in [moved, lost] {
        assert_eq!(text(&damaged), "Found again");
    }
}

/// A file without any word yields the error that explains it.
#[test]
fn b000_16_an_unreadable_file_is_refused() {
    let contents = [stream("/Filter /FlateDecode", "no deflated data")];
    let message = "page 1 is only partly read: a stream is missing or damaged".to_owned();
    assert_eq!(
        extract(&pages(&contents, "", &[])),
        Err(ExtractError::Pdf(message))
    );
}

/// Bytes after the end mark come from a mail or a proxy; objects after it come from a truncated version.
#[test]
fn b000_16_only_a_file_with_truncated_objects_is_refused() {
    let whole = page(&show(72.0, 700.0, "Whole"));
    let mut mailed = whole.clone();
    mailed.extend([b'\n'; 8_000]);
    assert_eq!(text(&mailed), "Whole");
    let mut cut = whole;
    cut.extend(b"4 0 obj\n<< >>\nendobj\n5 0 obj\n<< /Type");
    let message = "it is truncated: its end mark is missing".to_owned();
    assert_eq!(extract(&cut), Err(ExtractError::Pdf(message)));
}

/// B000-16: one damaged byte at any offset is survived.
#[test]
fn b000_16_one_damaged_byte_does_not_stop_extraction() {
    let whole = page(&show(72.0, 700.0, "Rotate the keys"));
    for at in 0..whole.len() {
        for byte in [0, b'<', b'0', 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            match extract(&damaged) {
                Ok(found) => assert!(found.text.len() < 200, "{at}: {:?}", found.text),
                Err(error) => assert!(matches!(error, ExtractError::Pdf(_)), "{at}: {error}"),
            }
        }
    }
}

/// Two bytes of a page's content are 128: the next page is read.
#[test]
fn b000_16_a_page_with_an_oversized_content_is_omitted() {
    let bomb = [129, b' '].repeat(PDF_STREAM_BYTES / 128 + 1);
    let contents = [
        stream("/Filter /RunLengthDecode", &bomb),
        stream("", show(72.0, 700.0, "Small")),
    ];
    let (text, unread) = parts(&pages(&contents, "", &[]));
    assert_eq!(text.trim(), "Small");
    assert_eq!(unread, [STREAM_TOO_LARGE]);
}

#[test]
fn b000_16_letters_of_a_page_are_bounded() {
    let line = "word ".repeat(1_000);
    let content = show(72.0, 700.0, &line).repeat(PDF_PAGE_LETTERS / line.len() + 1);
    let (_, unread) = parts(&page(&content));
    assert_eq!(unread, [PAGE_TOO_LARGE]);
}

/// Ten forms show the next one twice, and the others once, deeper than any file needs.
#[test]
fn b000_16_forms_that_multiply_are_bounded() {
    let form = |number: usize| {
        let next = number + 1;
        let entries = format!(
            "/Subtype /Form /Resources << /Font << /F 3 0 R >> /XObject << /N {next} 0 R >> >>"
        );
        let again = if number < 20 { "/N Do" } else { "" };
        stream(&entries, format!("BT /F 1 Tf (x) Tj ET /N Do {again}"))
    };
    let forms: Vec<Vec<u8>> = (10..40).map(form).collect();
    let content = show(72.0, 700.0, "Kept") + "/N Do";
    let (text, unread) = parts(&pages(
        &[stream("", content)],
        "/XObject << /N 10 0 R >>",
        &forms,
    ));
    assert!(text.starts_with("Kept"));
    assert_eq!(unread, [PAGE_TOO_LARGE]);
}

#[test]
fn b000_16_self_references_terminate() {
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R 6 0 R 3 0 R] /Count 1 /Resources 2 0 R >>".to_vec(),
        b"<< /Type /Page /Parent 3 0 R /Contents [4 0 R 5 0 R] /Resources << /Font << /F 7 0 R >> >> >>"
            .to_vec(),
        stream("/Filter 4 0 R /DecodeParms 4 0 R", show(72.0, 700.0, "Once")),
        b"5 0 R".to_vec(),
        b"<< /Type /Pages /Kids [6 0 R 2 0 R] /Count 6 0 R >>".to_vec(),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding 7 0 R /DescendantFonts [7 0 R] \
          /ToUnicode 7 0 R /FontDescriptor 7 0 R >>"
            .to_vec(),
    ];
    let (_, unread) = parts(&file(&objects));
    assert!(
        unread.iter().all(|notice| notice.starts_with("page 1 is")),
        "{unread:?}"
    );
}

#[test]
fn b000_16_states_that_are_never_restored_are_bounded() {
    let content = "q ".repeat(100_000)
        + &"[".repeat(10_000)
        + &"]".repeat(10_000)
        + " Tj "
        + &show(72.0, 700.0, "Reached");
    let (_, unread) = parts(&page(&content));
    assert!(unread.len() <= 1, "{unread:?}");
    let content = "q ".repeat(100_000) + &show(72.0, 700.0, "Reached") + &"Q ".repeat(200_000);
    assert_eq!(text(&page(&content)), "Reached");
}
