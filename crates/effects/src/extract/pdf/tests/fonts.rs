//! The mapping of codes to letters and widths.

use super::{page, pages, parts, stream, text};

const FONT_UNREAD: &str = "page 1 is only partly read: a font cannot be read";

const TO_UNICODE: &str = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap \
    /CMapName /Adobe-Identity-UCS def /CMapType 2 def \
    1 begincodespacerange <0000> <FFFF> endcodespacerange \
    1 beginbfrange <0041> <005A> <0061> endbfrange endcmap end end";

/// Builds a document in which each letter of a composite font begins where the one before it ends, by the widths that
/// the font declares as `declared`. Code 0x41 is `a`, and so on; spaces are gaps alone.
fn placed(declared: &str, width: impl Fn(u8) -> f64, words: &str) -> Vec<u8> {
    let mut content = "BT /G 12 Tf 72 700 Td\n".to_owned();
    let mut moved = 0.0;
    for letter in words.bytes() {
        if letter == b' ' {
            moved += 0.25 * 12.0;
            continue;
        }
        content += &format!("{moved:.3} 0 Td <{:04X}> Tj\n", letter - 32);
        moved = width(letter) * 12.0 / 1000.0;
    }
    let font = "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H \
         /DescendantFonts [11 0 R] /ToUnicode 12 0 R >>";
    let descendant = format!(
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 10 /W {declared} \
         /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
    );
    let more = [font.into(), descendant.into(), stream("", TO_UNICODE)];
    pages(&[stream("", content + "ET")], "", &more)
}

/// B000-16: widths of composite fonts are lists or ranges; a letter that follows at its width belongs to the same word.
#[test]
fn words_are_kept_whole_with_every_form_of_widths() {
    let narrow = |letter| if letter == b'i' { 200.0 } else { 600.0 };
    let forms = [
        "[65 72 600 73 73 200 74 90 600]".to_owned(),
        format!("[65 [{} 200 {}]]", "600 ".repeat(8), "600 ".repeat(17)),
        format!("[65 72 600 73 [200] 74 [{}]]", "600.0 ".repeat(17)),
        "[74 90 600 73 73 200 65 72 600]".to_owned(),
    ];
    for declared in forms {
        let file = placed(&declared, narrow, "policies bind services");
        assert_eq!(text(&file), "policies bind services", "{declared}");
    }
}

#[test]
fn the_width_of_codes_without_one_is_the_default() {
    let file = placed("[]", |_| 10.0, "dense text");
    assert_eq!(text(&file), "dense text");
}

/// Codes 1 and 2 by `bfchar`, 3 to 5 by a range, 6 and 7 by a range with a list, 8 a ligature.
#[test]
fn b000_16_letters_come_from_every_form_of_a_table() {
    let table = "1 begincodespacerange <00> <FF> endcodespacerange \
        2 beginbfchar <01> <0041> <02> <D83DDD11> endbfchar \
        2 beginbfrange <03> <05> <0062> <06> <07> [<0078> <00790079>] endbfrange \
        1 beginbfchar <08> <FB01> endbfchar";
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /FirstChar 0 /LastChar 8 \
        /Widths [0 500 500 500 500 500 500 500 500] /ToUnicode 11 0 R >>";
    let content = stream("", "BT /G 10 Tf 72 700 Td <0102030405060708> Tj ET");
    let file = pages(&[content], "", &[font.into(), stream("", table)]);
    assert_eq!(text(&file), "A\u{1f511}bcdxyyfi");
}

#[test]
fn differences_of_an_encoding_name_letters() {
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << \
        /Differences [1 /K /eacute 65 /f_i /uni00DF] >> >>";
    let content = stream("", "BT /G 10 Tf 72 700 Td <01024142> Tj ET");
    assert_eq!(text(&pages(&[content], "", &[font.into()])), "Kéfiß");
}

/// Glyph space of a Type 3 font may be of any scale; the letters of a word still touch.
#[test]
fn b000_16_words_of_drawn_fonts_are_kept_whole() {
    for (matrix, width, size) in [
        ("0.001 0 0 0.001 0 0", 600.0, 10.0),
        ("0.05 0 0 0.05 0 0", 60.0, 2.0),
        ("1 0 0 -1 0 0", 6.0, 1.0),
    ] {
        let font = format!(
            "<< /Type /Font /Subtype /Type3 /FontMatrix [{matrix}] /FontBBox [0 0 10 10] \
             /CharProcs << /k 11 0 R /e 11 0 R /y 11 0 R >> /FirstChar 1 /LastChar 3 \
             /Widths [{width} {width} {width}] /Encoding << /Differences [1 /k /e /y] >> >>"
        );
        let content = format!("BT /G {size} Tf 72 700 Td <010203> Tj 24 0 Td <010203> Tj ET");
        let more = [font.into(), stream("", "0 0 d0")];
        let file = pages(&[stream("", content)], "", &more);
        assert_eq!(text(&file), "key key", "{matrix}");
    }
}

#[test]
fn text_written_downwards_is_one_line() {
    let table = "1 begincodespacerange <0000> <FFFF> endcodespacerange \
        1 beginbfrange <0001> <0003> <9375> endbfrange";
    let font = "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-V \
        /DescendantFonts [11 0 R] /ToUnicode 12 0 R >>";
    let descendant = "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /X \
        /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>";
    let content = stream("", "BT /G 10 Tf 300 700 Td <000100020003> Tj ET");
    let more = [font.into(), descendant.into(), stream("", table)];
    assert_eq!(
        text(&pages(&[content], "", &more)),
        "\u{9375}\u{9376}\u{9377}"
    );
}

/// A Japanese font without its own table is read by the codes that its encoding names.
#[test]
fn predefined_encodings_of_asian_fonts_are_supported() {
    let font = "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /90ms-RKSJ-H \
        /DescendantFonts [11 0 R] >>";
    let descendant = "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /X \
        /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>";
    let content = stream("", "BT /G 10 Tf 72 700 Td <93FA967B> Tj ET");
    let file = pages(&[content], "", &[font.into(), descendant.into()]);
    assert_eq!(text(&file), "日本");
}

/// B000-16: a font that cannot be read is named, and the rest of the page is read.
#[test]
fn b000_16_a_font_that_cannot_be_read_is_named() {
    let content = "BT /Missing 10 Tf 72 700 Td (plain codes) Tj /F 10 Tf 0 -14 Td (the rest) Tj ET";
    assert_eq!(
        parts(&page(content)),
        (
            "plain codes\nthe rest".to_owned(),
            vec![FONT_UNREAD.to_owned()]
        )
    );
}

/// Widths for four thousand million codes would be stored one by one.
#[test]
fn b000_16_fonts_with_more_widths_than_codes_are_refused() {
    let composite = "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H \
        /DescendantFonts [11 0 R] >>";
    for (font, descendant) in [
        (
            composite,
            "<< /Subtype /CIDFontType2 /W [0 4294967294 500] >>",
        ),
        (
            composite,
            "<< /Subtype /CIDFontType2 /W2 [0 4294967294 0 0 0] >>",
        ),
        (
            "<< /Type /Font /Subtype /TrueType /BaseFont /X /FirstChar 4000000000 \
             /LastChar 4000000001 /Widths [1 1] >>",
            "null",
        ),
    ] {
        let content = stream(
            "",
            "BT /G 10 Tf 72 700 Td (x) Tj /F 10 Tf 72 600 Td (kept) Tj ET",
        );
        let file = pages(&[content], "", &[font.into(), descendant.into()]);
        let (text, unread) = parts(&file);
        assert!(text.ends_with("kept"), "{text}");
        assert_eq!(unread, [FONT_UNREAD], "{descendant}");
    }
}
