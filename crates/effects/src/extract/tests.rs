//! What becomes of pages, texts and bytes that are none.

use super::*;

fn html(page: &str) -> Extracted {
    extract(page.as_bytes(), MediaType::Html, None).unwrap()
}

fn headings(extracted: &Extracted) -> Vec<(u8, &str, &str)> {
    let marks = extracted.marks.iter();
    let headings = marks.filter_map(|mark| match &mark.kind {
        MarkKind::Heading { level, title } => {
            let end = extracted.text.len().min(mark.at + 6);
            Some((*level, title.as_str(), &extracted.text[mark.at..end]))
        }
        MarkKind::Page(_) => None,
    });
    headings.collect()
}

#[test]
fn b000_16_html_becomes_lines_of_text_with_headings() {
    let found = html(
        "<html><head><title>T</title><style>p{}</style></head><body><nav><a>Home</a></nav>\n\
         <h1>Keys <em>&amp; locks</em></h1><p>One\n two.<p>Three<br>four\n<ul><li>a</li><li> b</ul>\
         <pre>  x\n    y</pre><script>if (a < b) {}</script><h2>Next</h2><table><tr><td>1<td>2</table>",
    );
    assert_eq!(
        found.text,
        "Keys & locks\n\nOne two.\n\nThree\nfour\n\n- a\n- b\n\n  x\n    y\n\nNext\n\n1 2"
    );
    assert_eq!(
        headings(&found),
        [(1, "Keys & locks", "Keys &"), (2, "Next", "Next\n\n")]
    );
}

#[test]
fn b000_16_a_navigation_that_never_ends_takes_nothing_along() {
    assert_eq!(html("<nav>Home<p>Text").text, "Home\n\nText");
}

#[test]
fn b000_16_html_nested_100_000_deep_is_read_like_any_other() {
    let page = format!(
        "{}deep{}",
        "<div><b>".repeat(100_000),
        "</b></div>".repeat(100_000)
    );
    assert_eq!(html(&page).text, "deep");
}

#[test]
fn b000_16_attributes_and_entities_do_not_grow() {
    let attributes: String = (0..50_000).map(|n| format!(" a{n}='&amp;{n}'")).collect();
    let entities = "&notin;&CounterClockwiseContourIntegral;".repeat(50_000);
    let found = html(&format!("<p{attributes}>x{entities}</p>"));
    assert_eq!(found.text.len(), 1 + 50_000 * "∉∳".len());
}

#[test]
fn b000_16_markdown_keeps_its_text_and_marks_headings() {
    let text = "# One\n\ntext\n\n```sh\n# no heading\n```\nTwo\n---\n\n- a\n---\n####### none\n";
    let found = extract(text.as_bytes(), MediaType::Markdown, None).unwrap();
    assert_eq!(found.text, text);
    assert_eq!(
        headings(&found),
        [(1, "One", "# One\n"), (2, "Two", "Two\n--")]
    );
}

#[test]
fn b000_16_a_charset_is_believed_and_checked() {
    let latin = b"<meta charset='iso-8859-1'><p>caf\xe9";
    assert_eq!(extract(latin, MediaType::Html, None).unwrap().text, "café");
    let failed = |bytes: &[u8], charset| extract(bytes, MediaType::Text, charset).unwrap_err();
    let wrong = ExtractError::WrongCharset {
        charset: "UTF-8".to_owned(),
        at: 3,
    };
    assert_eq!(failed(b"caf\xe9 au lait", Some("utf-8")), wrong);
    assert_eq!(
        failed(b"caf\xe9 au lait", None),
        ExtractError::NoCharset { at: 3 }
    );
    let unknown = ExtractError::UnknownCharset("klingon".to_owned());
    assert_eq!(failed(b"x", Some("klingon")), unknown);
    assert_eq!(failed(b"a\0b", None), ExtractError::Binary { at: 1 });
}

#[test]
fn b000_16_a_source_without_words_is_refused() {
    for (bytes, media_type) in [
        (&b""[..], MediaType::Text),
        (b" \n\t", MediaType::Markdown),
        (
            b"<html><body><script>x()</script></body></html>",
            MediaType::Html,
        ),
    ] {
        assert_eq!(extract(bytes, media_type, None), Err(ExtractError::Empty));
    }
}

/// A PDF of one page with one line of text.
fn pdf(line: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", number + 1).bytes());
    }
    let table = file.len();
    file.extend(b"xref\n0 6\n0000000000 65535 f \n");
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    file.extend(format!("trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());
    file
}

#[test]
fn b000_16_a_pdf_is_read_page_by_page() {
    let found = extract(&pdf("Rotate the keys"), MediaType::Pdf, None).unwrap();
    assert_eq!(found.text.trim(), "Rotate the keys");
    let page = Mark {
        at: 0,
        kind: MarkKind::Page(1),
    };
    assert_eq!(found.marks, [page]);
}

#[test]
fn b000_16_a_truncated_or_broken_pdf_is_refused() {
    let whole = pdf("Rotate the keys");
    let failed = |bytes: &[u8]| {
        extract(bytes, MediaType::Pdf, None)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        failed(&whole[..whole.len() / 2]),
        "the PDF cannot be read: it is cut off: its end mark is missing"
    );
    let mut hollow = whole[..40].to_vec();
    hollow.extend(b"\n%%EOF\n");
    assert!(failed(&hollow).starts_with("the PDF cannot be read: "));
}

#[test]
fn a_line_loses_its_tags_and_keeps_what_only_speaks_of_them() {
    for (html, text) in [
        ("A <strong>b</strong>&nbsp;&amp; c", "A b & c"),
        ("a<br>b <p>c", "a b c"),
        ("a <script>x < y</script>b", "a b"),
        ("a <nav>b", "a b"),
        ("How to close <title> in HTML", "How to close in HTML"),
        ("the <script> element", "the element"),
        ("1 < 2 > 0", "1 < 2 > 0"),
        ("&lt;b&gt;", "<b>"),
        ("", ""),
    ] {
        assert_eq!(line(html), text, "{html}");
    }
}
