//! Extraction of pages, texts, and bytes that are not text.

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
fn b000_16_an_unclosed_navigation_does_not_remove_the_text() {
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

/// The tokenizer calls itself from one of these attributes to the next.
#[test]
fn b000_16_a_tag_with_many_quoted_attributes_takes_no_stack() {
    for attribute in [" a=\"b\"", " a=\"\"", "a = \"b &amp; c\" ", "/a=\"b\""] {
        let attributes = attribute.repeat(50_000);
        let link = "<a class=\"x\" href=\"#one\">¶</a>";
        let page = format!("<p {attributes}>one{link} <b {attributes}>two</b></p>three");
        assert_eq!(html(&page).text, "one two\n\nthree", "{attribute}");
        assert_eq!(line(&page), "one two three", "{attribute}");
    }
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

/// A page is decoded as a browser decodes it, by each way to declare an encoding.
#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn b000_16_a_page_is_read_in_the_encoding_that_is_declared() {
    use MediaType::{Html, Markdown, Text};
    for (bytes, media_type, charset, text) in [
        (&b"<p>caf\xc3\xa9"[..], Html, None, "café"),
        (b"<p>caf\xe9", Html, Some("iso-8859-1"), "café"),
        (b"<meta charset='iso-8859-1'><p>caf\xe9", Html, None, "café"),
        (b"<meta charset=utf-16><h2>seven</h2>", Html, None, "seven"),
        (b"<meta charset=utf-16le><p>caf\xc3\xa9", Html, None, "café"),
        (
            b"<meta charset=x-user-defined><p>\x93a\x94",
            Html,
            None,
            "“a”",
        ),
        (b"<meta charset=><p>seven", Html, None, "seven"),
        (b"<meta charset><p>caf\xc3\xa9", Html, None, "café"),
        (
            b"<p>charset=koi8-r caf\xc3\xa9",
            Html,
            None,
            "charset=koi8-r café",
        ),
        (
            b"<!-- <meta charset=gbk> --><p>caf\xc3\xa9",
            Html,
            None,
            "café",
        ),
        (
            b"<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>\xcf\xf0",
            Html,
            None,
            "Пр",
        ),
        (
            b"<meta charset=shift_jis><p>\x83\x65\x83\x58\x83\x67",
            Html,
            None,
            "テスト",
        ),
        (
            b"<meta charset=euc-kr><p>\xc7\xd1\xb1\xdb",
            Html,
            None,
            "한글",
        ),
        (
            b"<meta charset=gb2312><p>\xd6\xd0\xce\xc4",
            Html,
            None,
            "中文",
        ),
        (
            b"<?xml version=\"1.0\" encoding=\"ISO-8859-2\"?><html><p>\xb3\xf3d\xbc</p></html>",
            Html,
            None,
            "łódź",
        ),
        (
            b"<?xml version='1.0' encoding='utf-16'?><p>caf\xc3\xa9</p>",
            Html,
            None,
            "café",
        ),
        (
            b"\xef\xbb\xbf<meta charset=gbk><p>caf\xc3\xa9",
            Html,
            Some("gbk"),
            "café",
        ),
        (b"\xff\xfe<\0p\0>\0\xe9\0", Html, None, "é"),
        (b"\0<\0p\0>\0\xe9", Html, None, "é"),
        (
            b"<meta charset=gbk><p>caf\xe9",
            Html,
            Some("latin1"),
            "café",
        ),
        (b"\xef\xbb\xbf# caf\xc3\xa9", Markdown, None, "# café"),
        (b"# caf\xe9", Markdown, Some("windows-1252"), "# café"),
        (
            b"---\ncharset: latin1\n---\n# caf\xe9",
            Markdown,
            None,
            "---\ncharset: latin1\n---\n# café",
        ),
        (b"\xfe\xff\0a\0\xe9", Text, None, "aé"),
        (b"a\0b\0", Text, None, "ab"),
        (
            b"<?xml version='1.0' encoding='latin1'?><a>\xe9</a>",
            Text,
            None,
            "<?xml version='1.0' encoding='latin1'?><a>é</a>",
        ),
    ] {
        let found = extract(bytes, media_type, charset).unwrap();
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(
            (found.text.as_str(), found.notices),
            (text, vec![]),
            "{shown}"
        );
    }
}

/// One wrong byte does not hide a page; a notice reports it.
#[test]
fn b000_16_undecodable_bytes_are_replaced_and_noted() {
    use MediaType::{Html, Markdown, Text};
    let replaced = "byte 3 is not UTF-8; invalid bytes were replaced by U+FFFD";
    let unknown = "the declared charset \"klingon\" is unknown and was ignored";
    let assumed =
        "no charset is declared and byte 6 is not UTF-8; the text was read as windows-1252";
    for (bytes, media_type, charset, text, notices) in [
        (
            &b"caf\xe9 au lait"[..],
            Text,
            None,
            "caf\u{fffd} au lait",
            vec![replaced],
        ),
        (
            b"caf\xe9 au lait",
            Text,
            Some("utf-8"),
            "caf\u{fffd} au lait",
            vec![replaced],
        ),
        (
            b"caf\xe9 au lait",
            Markdown,
            None,
            "caf\u{fffd} au lait",
            vec![replaced],
        ),
        (b"<p>caf\xe9", Html, None, "café", vec![assumed]),
        (
            b"<p>caf\xc3\xa9",
            Html,
            Some("klingon"),
            "café",
            vec![unknown],
        ),
        (
            b"<p>caf\xe9",
            Html,
            Some("klingon"),
            "café",
            vec![unknown, assumed],
        ),
    ] {
        let found = extract(bytes, media_type, charset).unwrap();
        assert_eq!(
            (found.text.as_str(), found.notices),
            (text, notices.into_iter().map(str::to_owned).collect())
        );
    }
    let failed = |bytes: &[u8]| extract(bytes, Text, None).unwrap_err();
    assert_eq!(failed(b"a\0b"), ExtractError::Binary { at: 1 });
    // An image, or a compressed file, is not text in any encoding.
    let replaced = "byte 0 is not UTF-8; invalid bytes were replaced by U+FFFD".to_owned();
    assert_eq!(
        failed(b"\x89PNG\r\n\x1a\nabc"),
        ExtractError::NoText(replaced)
    );
    let page = extract(b"<p>\x81\x02abc", Html, None).unwrap_err();
    assert!(matches!(page, ExtractError::NoText(_)), "{page}");
}

/// The text that is indexed and quoted has the letters that people read.
#[test]
fn b000_16_layout_elements_of_html_are_removed() {
    for (page, text) in [
        ("<p>trans&shy;port&#173;able", "transportable"),
        ("<p>long&#8203;name<wbr>s", "longnames"),
        ("<p>a&#xfeff;b&#x2060;c", "abc"),
        ("<p>&#8203;</p><p>a</p>", "a"),
        ("<p>10&nbsp;000&#x202f;€", "10 000 €"),
        ("<p>a&nbsp; &nbsp;b", "a b"),
        ("<p>a<b>&shy;</b>b", "ab"),
        ("<p>a<i>&nbsp;</i>b", "a b"),
        ("<pre>a&nbsp;&shy;=\r\n\tb&#8203;</pre>", "a =\n\tb"),
        ("<p>a&#x2028;b&#x2029;c", "a b c"),
    ] {
        assert_eq!(html(page).text, text, "{page}");
    }
}

/// Documentation generators put a link to itself beside each heading and definition.
#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn b000_16_self_links_of_headings_are_omitted() {
    for (page, text, title) in [
        (
            "<h2>Keys<a class=headerlink href='#keys' title='Link to this heading'>¶</a></h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<h2>Keys <a href=\"#keys\">&para;</a></h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<h2 id=keys><a href=#keys>#</a> Keys</h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<h2><a href='#keys' class=doc-anchor>§</a>Keys</h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<h2>Keys<a class=hash-link href='/guide#keys'>&#8203;</a></h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<h2>Keys<a href='#keys'>&#xf0c1;</a></h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<h2>Keys<a href='#keys'><svg><path d=''/></svg></a></h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<h2>Keys<span class=headerlink>¶</span></h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        (
            "<a href='#keys'><h2>¶</h2></a><h2>Keys</h2>x",
            "Keys\n\nx",
            "Keys",
        ),
        ("<h2><a href='#keys'>Keys</a></h2>x", "Keys\n\nx", "Keys"),
        ("<h2>¶ 12</h2>x", "¶ 12\n\nx", "¶ 12"),
        (
            "<h2>Keys</h2><dl><dt>open()<a href='#open'>¶</a></dt><dd>x",
            "Keys\n\nopen()\nx",
            "Keys",
        ),
        (
            "<h2>Keys</h2>x<a href='#n1'>[1]</a> ¶ 3",
            "Keys\n\nx[1] ¶ 3",
            "Keys",
        ),
        (
            "<h2>Keys</h2>x <a href='/next'>→</a>",
            "Keys\n\nx →",
            "Keys",
        ),
        (
            "<h2>Keys</h2>x <a name=y>→</a><a href='#y'>never ends",
            "Keys\n\nx →never ends",
            "Keys",
        ),
        (
            "<h2>Keys</h2>x <a href='#a'>↑<a href='#b'>↓</a> y",
            "Keys\n\nx y",
            "Keys",
        ),
    ] {
        let found = html(page);
        assert_eq!(found.text, text, "{page}");
        let titles: Vec<&str> = headings(&found)
            .into_iter()
            .map(|(_, title, _)| title)
            .collect();
        assert_eq!(titles, [title], "{page}");
    }
    for (text, wanted, title) in [
        (
            "## Keys [¶](#keys \"Permanent link\")\nx\n",
            "## Keys\nx\n",
            "Keys",
        ),
        (
            "## Keys[](#keys)[#](guide.html#keys)\nx",
            "## Keys\nx",
            "Keys",
        ),
        ("## Keys ¶\nx", "## Keys\nx", "Keys"),
        ("Keys¶\n---\nx", "Keys\n---\nx", "Keys"),
        ("Keys [\u{200b}](#keys)\r\n---\r\nx", "Keys\n---\nx", "Keys"),
        (
            "# [Keys](#keys)\n`[¶](#keys)`\n",
            "# [Keys](#keys)\n`[¶](#keys)`\n",
            "[Keys](#keys)",
        ),
        (
            "# Keys\n```\n# [¶](#x)\n```\n",
            "# Keys\n```\n# [¶](#x)\n```\n",
            "Keys",
        ),
        ("# Keys\rx\r", "# Keys\nx\n", "Keys"),
        // Front matter has no headings; a rule is not front matter.
        (
            "---\ntitle: x\n---\n# Keys\n",
            "---\ntitle: x\n---\n# Keys\n",
            "Keys",
        ),
        ("---\n\n# Keys\n\n---\nx", "---\n\n# Keys\n\n---\nx", "Keys"),
    ] {
        let found = extract(text.as_bytes(), MediaType::Markdown, None).unwrap();
        assert_eq!(found.text, wanted, "{text}");
        let titles: Vec<&str> = headings(&found)
            .into_iter()
            .map(|(_, title, _)| title)
            .collect();
        assert_eq!(titles, [title], "{text}");
    }
    let plain = extract("Keys¶\ntrans\u{ad}port ¶".as_bytes(), MediaType::Text, None).unwrap();
    assert_eq!(plain.text, "Keys\ntransport ¶");
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

/// Builds a PDF of one page with one line of text.
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
        "the PDF cannot be read: it is truncated: its end mark is missing"
    );
    let mut hollow = whole[..40].to_vec();
    hollow.extend(b"\n%%EOF\n");
    assert!(failed(&hollow).starts_with("the PDF cannot be read: "));
}

#[test]
fn tags_are_removed_from_a_line_and_text_about_them_is_kept() {
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
