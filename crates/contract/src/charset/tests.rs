use proptest::prelude::*;

use super::*;

/// Returns the text of a page and its notices as strings.
fn read(bytes: &[u8], form: Form, header: Option<&str>) -> (String, Vec<String>) {
    let Page { text, notices } = page(bytes, form, header);
    let notices = notices.iter().map(ToString::to_string).collect();
    (text.into_owned(), notices)
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn a_page_is_read_by_the_first_encoding_that_is_stated() {
    use Form::{Html, Text};
    for (bytes, form, header, text) in [
        // No declaration.
        (&b"plain"[..], Text, None, "plain"),
        ("caf\u{e9}".as_bytes(), Text, None, "café"),
        ("<p>caf\u{e9}".as_bytes(), Html, None, "<p>café"),
        (b"", Html, None, ""),
        // Byte order marks, which take precedence over every declaration.
        (b"\xef\xbb\xbfcaf\xc3\xa9", Text, Some("latin1"), "café"),
        (b"\xff\xfea\0\xe9\0", Text, Some("utf-8"), "aé"),
        (b"\xfe\xff\0a\0\xe9", Html, None, "aé"),
        (b"\xff\xfe\0\0a\0\0\0\0\xf6\x01\0", Text, None, "a\u{1f600}"),
        (b"\0\0\xfe\xff\0\0\0a\0\x01\xf6\0", Text, None, "a\u{1f600}"),
        (
            b"\xef\xbb\xbf<meta charset=latin1>\xc3\xa9",
            Html,
            None,
            "<meta charset=latin1>é",
        ),
        // Zero bytes around ASCII.
        (b"a\0b\0", Text, None, "ab"),
        (b"\0a\0b", Text, None, "ab"),
        (b"<\0?\0x\0", Html, None, "<?x"),
        (b"a\0\0\0b\0\0\0", Text, None, "ab"),
        (b"\0\0\0a\0\0\0b", Text, None, "ab"),
        // Headers.
        (b"caf\xe9", Text, Some("iso-8859-1"), "café"),
        (b"caf\xe9", Text, Some(" Latin1 "), "café"),
        (b"\x80", Text, Some("us-ascii"), "€"),
        (b"\xa4", Text, Some("iso-8859-15"), "€"),
        (b"\xb3\xf3d\xbc", Text, Some("iso-8859-2"), "łódź"),
        (
            b"\xcf\xf0\xe8\xe2\xe5\xf2",
            Text,
            Some("windows-1251"),
            "Привет",
        ),
        (b"\xf0\xd2\xc9\xd7\xc5\xd4", Text, Some("koi8-r"), "Привет"),
        (
            b"\x83\x65\x83\x58\x83\x67",
            Text,
            Some("shift_jis"),
            "テスト",
        ),
        (
            b"\x83\x65\x83\x58\x83\x67",
            Text,
            Some("Windows-31J"),
            "テスト",
        ),
        (b"\xc6\xfc\xcb\xdc", Text, Some("euc-jp"), "日本"),
        (b"\x1b$BF|K\\\x1b(B", Text, Some("iso-2022-jp"), "日本"),
        (b"\xd6\xd0\xce\xc4", Text, Some("gbk"), "中文"),
        (b"\xd6\xd0\xce\xc4", Text, Some("gb2312"), "中文"),
        (b"\x94\x39\xfc\x36", Text, Some("gb18030"), "\u{1f600}"),
        (b"\xa4\xa4\xa4\xe5", Text, Some("big5"), "中文"),
        (b"\xc7\xd1\xb1\xdb", Text, Some("euc-kr"), "한글"),
        (b"\x8e", Text, Some("macintosh"), "é"),
        (b"\x93x\x94", Text, Some("x-user-defined"), "“x”"),
        (b"a\0\xe9\0", Text, Some("utf-16"), "aé"),
        (b"\0a\0b", Text, Some("UTF-16"), "ab"),
        (b"\0\0\0a\0\0\0\xe9", Text, Some("utf-32"), "aé"),
        (b"a\0\0\0\xe9\0\0\0", Text, Some("utf-32le"), "aé"),
        (
            b"<meta charset=utf-8>\xe9",
            Html,
            Some("latin1"),
            "<meta charset=utf-8>é",
        ),
        // Declarations in the text itself.
        (
            b"<?xml version='1.0' encoding='koi8-r'?>\xd4",
            Text,
            None,
            "<?xml version='1.0' encoding='koi8-r'?>т",
        ),
        (
            b"<?xml version='1.0' encoding='koi8-r'?>\xd4",
            Html,
            None,
            "<?xml version='1.0' encoding='koi8-r'?>т",
        ),
        (
            b"<?xml version=\"1.0\" encoding = \"UTF-16\"?>x",
            Text,
            None,
            "<?xml version=\"1.0\" encoding = \"UTF-16\"?>x",
        ),
        (
            b"---\ntitle: x\ncharset: latin1\n---\n\xe9",
            Text,
            None,
            "---\ntitle: x\ncharset: latin1\n---\né",
        ),
        (
            b"---\r\nEncoding: 'windows-1251'\r\n---\r\n\xcf",
            Text,
            None,
            "---\r\nEncoding: 'windows-1251'\r\n---\r\nП",
        ),
        (
            b"---\nencoding: latin1\n---\n\xc3\xa9",
            Text,
            None,
            "---\nencoding: latin1\n---\né",
        ),
    ] {
        let found = read(bytes, form, header);
        assert_eq!(
            found,
            (text.to_owned(), vec![]),
            "{:?} {header:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn uncertain_encodings_are_noted() {
    use Form::{Html, Text};
    let unknown =
        |label: &str| format!("the declared charset {label:?} is unknown and was ignored");
    let replaced = |charset: &str, at: usize| {
        format!("byte {at} is not {charset}; invalid bytes were replaced by U+FFFD")
    };
    let assumed = |at: usize| {
        format!(
            "no charset is declared and byte {at} is not UTF-8; the text was read as windows-1252"
        )
    };
    let long = "x".repeat(60);
    for (bytes, form, header, text, notices) in [
        (
            &b"caf\xc3\xa9"[..],
            Text,
            Some("klingon"),
            "café",
            vec![unknown("klingon")],
        ),
        (b"a", Text, Some(&long[..]), "a", vec![unknown(&long[..40])]),
        (b"a", Text, Some("utf-7"), "a", vec![unknown("utf-7")]),
        // The standard's decoder for this encoding refuses all input.
        (
            b"a",
            Html,
            Some("iso-2022-kr"),
            "a",
            vec![unknown("iso-2022-kr")],
        ),
        (
            b"ab\xffc",
            Text,
            None,
            "ab\u{fffd}c",
            vec![replaced("UTF-8", 2)],
        ),
        (
            b"ab\xffc",
            Text,
            Some("utf-8"),
            "ab\u{fffd}c",
            vec![replaced("UTF-8", 2)],
        ),
        (
            b"\xef\xbb\xbfab\xff",
            Text,
            None,
            "ab\u{fffd}",
            vec![replaced("UTF-8", 5)],
        ),
        (b"<p>caf\xe9", Html, None, "<p>café", vec![assumed(6)]),
        (
            b"<meta charset=klingon>\x93\x94",
            Html,
            None,
            "<meta charset=klingon>“”",
            vec![assumed(22)],
        ),
        (
            b"<meta charset=utf-8>\xe9",
            Html,
            None,
            "<meta charset=utf-8>\u{fffd}",
            vec![replaced("UTF-8", 20)],
        ),
        (
            b"\xff\xfea\0\0\xd8",
            Text,
            None,
            "a\u{fffd}",
            vec![replaced("UTF-16LE", 4)],
        ),
        (
            b"\xff\xfea\0b",
            Text,
            None,
            "a\u{fffd}",
            vec![replaced("UTF-16LE", 4)],
        ),
        (
            b"\xff\xfe\0\0a\0\0\0\0\0\x11\0b\0",
            Text,
            None,
            "a\u{fffd}\u{fffd}",
            vec![replaced("UTF-32LE", 8)],
        ),
        (
            b"a\x83\x65\xff",
            Text,
            Some("shift_jis"),
            "aテ\u{fffd}",
            vec![replaced("Shift_JIS", 3)],
        ),
        (
            b"\xe9",
            Html,
            Some("klingon"),
            "é",
            vec![unknown("klingon"), assumed(0)],
        ),
    ] {
        let found = read(bytes, form, header);
        assert_eq!(
            found,
            (text.to_owned(), notices),
            "{:?} {header:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

/// The HTML Standard, "prescan a byte stream to determine its encoding".
#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn the_encoding_declaration_of_html_follows_the_standard() {
    let late = format!("<!-- {} --><meta charset=gbk>", "x".repeat(4_000));
    let never = format!(
        "<!-- {} --><meta charset=gbk>",
        "x".repeat(declared::LOOKED_AT)
    );
    for (page, name) in [
        ("<meta charset=gbk>", Some("GBK")),
        ("<META CHARSET='Shift_JIS'>", Some("Shift_JIS")),
        ("<meta\tcharset = \"euc-kr\" />", Some("EUC-KR")),
        ("<meta/charset=big5>", Some("Big5")),
        ("<meta name=a charset=big5 content=b>", Some("Big5")),
        ("<meta charset=utf-16>", Some("UTF-8")),
        ("<meta charset=utf-16be>", Some("UTF-8")),
        ("<meta charset=x-user-defined>", Some("windows-1252")),
        ("<meta charset=latin1 charset=gbk>", Some("windows-1252")),
        ("<meta charset= gbk >", Some("GBK")),
        (
            "<meta http-equiv=content-type content='text/html; charset=gbk'>",
            Some("GBK"),
        ),
        (
            "<meta content='text/html; charset=gbk' http-equiv=\"Content-Type\">",
            Some("GBK"),
        ),
        (
            "<meta http-equiv=content-type content='charset = \"gbk\" x'>",
            Some("GBK"),
        ),
        (
            "<meta http-equiv=content-type content='charset charset=gbk;x'>",
            Some("GBK"),
        ),
        (
            "<meta http-equiv=content-type content=x charset=gbk>",
            Some("GBK"),
        ),
        (&late, Some("GBK")),
        (
            "<!DOCTYPE html><html lang=en><head><title>a</title><meta charset=gbk>",
            Some("GBK"),
        ),
        (
            "<p title='<meta charset=big5>'><meta charset=gbk>",
            Some("GBK"),
        ),
        (
            "<!-- <meta charset=big5> --><meta charset=gbk>",
            Some("GBK"),
        ),
        ("<!--><meta charset=gbk>", Some("GBK")),
        ("</p x='>'><meta charset=gbk>", Some("GBK")),
        ("<? <meta charset=big5><meta charset=gbk>", Some("GBK")),
        ("a < b <1 <meta charset=gbk>", Some("GBK")),
        ("<meta charset=klingon><meta charset=gbk>", Some("GBK")),
        ("<?xml version='1.0' encoding='gbk'?><html>", Some("GBK")),
        (
            "<?xml version='1.0' encoding='gbk'?><meta charset=big5>",
            Some("Big5"),
        ),
        ("<?xml version='1.0' encoding='utf-16'?>", Some("UTF-8")),
        // No declaration, or one that does not count.
        ("", None),
        ("<meta>", None),
        ("<meta charset>", None),
        ("<meta charset=>", None),
        ("<meta charset=''>", None),
        ("<meta charset=klingon>", None),
        ("<meta charset=iso-2022-kr>", None),
        ("<meta charset=gbk", None),
        ("<meta charset='gbk>", None),
        ("<metacharset=gbk>", None),
        ("<!-- <meta charset=gbk>", None),
        ("<meta content='text/html; charset=gbk'>", None),
        ("<meta http-equiv=refresh content='charset=gbk'>", None),
        ("<meta http-equiv=content-type content='charset='>", None),
        (
            "<meta http-equiv=content-type content='charset=\"gbk'>",
            None,
        ),
        (
            "<meta http-equiv=content-type content='charset=gbk' charset=klingon>",
            None,
        ),
        ("<p title='<meta charset=gbk>'>", None),
        ("charset=gbk", None),
        ("<?xml version='1.0' encoding=gbk?>", None),
        ("<?xml version='1.0' encoding='g bk'?>", None),
        ("<?xml version='1.0'", None),
        (" <?xml version='1.0' encoding='gbk'?>", None),
        (&never, None),
    ] {
        let found = prescan::html(page.as_bytes()).map(Encoding::name);
        assert_eq!(found, name, "{page:.80}");
    }
}

#[test]
fn the_charset_of_a_content_type_is_found_in_any_spelling() {
    for (content_type, label) in [
        ("text/html", None),
        ("text/html;", None),
        ("text/html; charset", None),
        ("text/html; charset=", None),
        ("text/html; charset=; x=1", None),
        ("text/html; charset=\"\"", None),
        ("text/html; x=\"charset=gbk\"", None),
        ("text/html; x=\"a;charset=gbk\"", None),
        ("text/html; x=\"a\\\";charset=gbk\"", None),
        ("charset=gbk", None),
        ("", None),
        ("text/html; charset=gbk", Some("gbk")),
        ("text/html;charset=gbk", Some("gbk")),
        ("text/html ; CHARSET = gbk ; x=1", Some("gbk")),
        ("text/html; charset=\"gbk\"", Some("gbk")),
        ("text/html; charset='gbk'", Some("gbk")),
        ("text/html; charset=\"gbk", Some("gbk")),
        ("text/html; x=\"a;b\"; charset=gbk", Some("gbk")),
        ("text/html; charset=gbk; charset=big5", Some("gbk")),
        ("text/html; charset=; charset=big5", Some("big5")),
        (";charset=é", Some("é")),
    ] {
        assert_eq!(charset_of(content_type), label, "{content_type}");
    }
}

/// A contract means what it contains: nothing in it is replaced or guessed.
#[test]
fn a_document_is_decoded_whole_or_refused_with_the_byte_offset() {
    let json = "{\"a\": \"caf\u{e9}\"}";
    let latin = b"{\"a\": \"caf\xe9\"}";
    let wide = |little: bool| -> Vec<u8> {
        let units = json.encode_utf16();
        let bytes = units.map(|unit| {
            if little {
                unit.to_le_bytes()
            } else {
                unit.to_be_bytes()
            }
        });
        bytes.flatten().collect()
    };
    let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
    for (bytes, header) in [
        (json.as_bytes().to_vec(), None),
        (json.as_bytes().to_vec(), Some("latin1")),
        (json.as_bytes().to_vec(), Some("klingon")),
        (json.as_bytes().to_vec(), Some("utf-16")),
        (marked(b"\xef\xbb\xbf", json.as_bytes()), None),
        (wide(true), None),
        (wide(false), None),
        (marked(b"\xff\xfe", &wide(true)), None),
        (marked(b"\xfe\xff", &wide(false)), Some("utf-8")),
        (latin.to_vec(), Some("iso-8859-1")),
        (latin.to_vec(), Some("windows-1252")),
    ] {
        assert_eq!(
            document(&bytes, header).as_deref(),
            Ok(json),
            "{bytes:?} {header:?}"
        );
    }
    let refused = |bytes: &[u8], header| document(bytes, header).unwrap_err();
    let malformed = |charset, at, line| Malformed { charset, at, line };
    assert_eq!(refused(latin, None), malformed("UTF-8", 10, 1));
    assert_eq!(refused(latin, Some("klingon")), malformed("UTF-8", 10, 1));
    assert_eq!(refused(latin, Some("utf-8")), malformed("UTF-8", 10, 1));
    assert_eq!(refused(b"a\nb\n\xff", None), malformed("UTF-8", 4, 3));
    assert_eq!(
        refused(b"\xef\xbb\xbfa\xff", None),
        malformed("UTF-8", 4, 1)
    );
    assert_eq!(
        refused(b"\xff\xfea\0\n\0\0\xdc", None),
        malformed("UTF-16LE", 6, 2)
    );
    assert_eq!(
        refused(b"a\x83\xff", Some("shift_jis")),
        malformed("Shift_JIS", 1, 1)
    );
    assert_eq!(refused(latin, None).to_string(), "byte 10 is not UTF-8");
}

/// The time to read hostile declarations grows linearly with their bytes.
#[test]
fn a_declaration_costs_no_more_than_its_bytes() {
    for part in [
        "<meta ",
        "<meta charset=",
        "<meta a='",
        "<!--",
        "<a b=\"",
        "<",
        "<meta content='charset charset",
        "a ",
    ] {
        let page = format!("<meta {}", part.repeat(2_000_000 / part.len()));
        let began = std::time::Instant::now();
        assert_eq!(prescan::html(page.as_bytes()), None, "{part}");
        assert!(began.elapsed().as_secs() < 5, "{part}");
    }
}

proptest! {
    #[test]
    fn utf8_is_decoded_unchanged(text in "[a-z<>=é\u{1f600}\u{a0}]{0,40}") {
        let whole = document(text.as_bytes(), Some("gbk"));
        prop_assert_eq!(whole.as_deref(), Ok(text.as_str()));
        let found = page(text.as_bytes(), Form::Text, None);
        prop_assert_eq!((&*found.text, found.notices), (text.as_str(), vec![]));
    }

    /// For all bytes and labels, only a lone byte order mark decodes to an empty text.
    #[test]
    fn every_page_has_a_text(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        label in proptest::option::of("utf-8|utf-16|utf-32|gbk|shift_jis|klingon"),
        html in any::<bool>(),
    ) {
        let form = if html { Form::Html } else { Form::Text };
        let found = page(&bytes, form, label.as_deref());
        prop_assert!(!found.text.is_empty() || bytes.len() <= 4);
    }
}
