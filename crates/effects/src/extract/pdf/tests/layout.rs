//! The grouping of positioned letters into words, lines and columns.

use super::{page, pages, show, stream, text};

#[test]
fn b000_16_words_are_separated_by_gaps_and_not_by_strings() {
    for (content, expected) in [
        (
            "[(Ro) 20 (tate) -280 (the) -250 (k) 60 (eys)] TJ",
            "Rotate the keys",
        ),
        ("(Rota) Tj (te) Tj ( ) Tj (keys) Tj", "Rotate keys"),
        ("2 Tc (Rotate keys) Tj", "Rotate keys"),
        ("30 Tz (Rotate all keys) Tj", "Rotate all keys"),
        ("20 Tw (Rotate keys) Tj", "Rotate keys"),
        ("12 TL (one) Tj (two) ' 1 1 (three) \"", "one\ntwo\nthree"),
    ] {
        let content = format!("BT /F 10 Tf 72 700 Td {content} ET");
        assert_eq!(text(&page(&content)), expected, "{content}");
    }
}

/// A heading with letter spacing, each letter positioned separately.
#[test]
fn spaced_out_letters_form_one_word() {
    let parts =
        "[(R) -200 (O) -200 (T) -200 (A) -200 (T) -200 (E) -700 (K) -200 (E) -200 (Y) -200 (S)]";
    let content = format!("BT /F 10 Tf 72 700 Td {parts} TJ ET");
    assert_eq!(text(&page(&content)), "ROTATE KEYS");
}

#[test]
fn a_hyphenated_word_at_a_line_end_is_joined() {
    let lines = [
        "Services ro- ",
        "tate keys, and well-",
        "Known ones from 2024-",
        "2026 do not.",
    ];
    let shown: String = (0_u32..)
        .zip(lines)
        .map(|(at, line)| show(72.0, 700.0 - 12.0 * f64::from(at), line))
        .collect();
    assert_eq!(
        text(&page(&shown)),
        "Services rotate keys, and well-\nKnown ones from 2024-\n2026 do not."
    );
}

#[test]
fn paragraphs_are_separated_by_an_empty_line() {
    let shown: String = [(700.0, "One."), (688.0, "Two."), (660.0, "Three.")]
        .into_iter()
        .map(|(y, line)| show(72.0, y, line))
        .collect();
    assert_eq!(text(&page(&shown)), "One.\nTwo.\n\nThree.");
}

/// The lines of two columns, written side by side under a title.
#[test]
fn b000_16_columns_do_not_interleave() {
    let mut shown = show(
        72.0,
        750.0,
        "A title that goes over both of the columns of this page, all the way to its right edge",
    );
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for line in 0_u32..8 {
        let y = 700.0 - 12.0 * f64::from(line);
        left.push(format!(
            "left line {line} goes on about the keys of a service"
        ));
        right.push(format!(
            "right line {line} goes on about the pages of a book"
        ));
        shown += &show(72.0, y, &left[left.len() - 1]);
        shown += &show(320.0, y, &right[right.len() - 1]);
    }
    let found = text(&page(&shown));
    let expected = [left.join("\n"), right.join("\n")].join("\n\n");
    assert!(found.ends_with(&expected), "{found}");
}

#[test]
fn rows_of_a_table_stay_rows() {
    let mut shown = String::new();
    for row in 0_u32..8 {
        let y = 700.0 - 12.0 * f64::from(row);
        shown += &show(72.0, y, &format!("name {row}"));
        shown += &show(320.0, y, &format!("value {row}"));
    }
    let rows: Vec<String> = (0..8)
        .map(|row| format!("name {row} value {row}"))
        .collect();
    assert_eq!(text(&page(&shown)), rows.join("\n"));
}

#[test]
fn text_is_read_in_any_direction() {
    let turned = "BT /F 10 Tf 0 1 -1 0 100 100 Tm (Turned words) Tj ET";
    assert_eq!(text(&page(turned)), "Turned words");
    let mirrored = "q 1 0 0 -1 0 792 cm BT /F 10 Tf 1 0 0 -1 72 100 Tm (Flipped twice) Tj ET Q";
    assert_eq!(text(&page(mirrored)), "Flipped twice");
    let skewed = "BT /F 10 Tf 0.9 0.3 -0.3 0.9 72 100 Tm [(A) -400 (watermark)] TJ ET";
    assert_eq!(text(&page(skewed)), "A watermark");
}

/// Hebrew with its letters from left to right in the file, as browsers print it.
#[test]
fn right_to_left_text_is_in_reading_order() {
    let table = "1 begincodespacerange <00> <FF> endcodespacerange \
        1 beginbfrange <01> <1A> <05D0> endbfrange 2 beginbfchar <20> <0020> <31> <0031> endbfchar";
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 11 0 R >>";
    let content = stream("", "BT /G 10 Tf 72 700 Td <313120030201> Tj ET");
    let file = pages(&[content], "", &[font.into(), stream("", table)]);
    assert_eq!(text(&file), "\u{5d0}\u{5d1}\u{5d2} 11");
}

#[test]
fn text_printed_twice_for_bold_appears_once() {
    let shown = show(72.0, 700.0, "Bold") + &show(72.4, 700.0, "Bold") + &show(72.0, 600.0, "Bold");
    assert_eq!(text(&page(&shown)), "Bold\n\nBold");
}

/// Each letter twice, and accents as separate letters, as in old TeX fonts.
#[test]
fn overprinted_letters_appear_once() {
    let bold = "[(K) 667 (K) (e) 556 (e) (y) 500 (y)] TJ";
    let accented = "[(caf) 30 (\\264) 420 (e na) 20 (i) 280 (\\250) (ve)] TJ";
    let content = format!("BT /F 10 Tf 72 700 Td {bold} 0 -12 Td {accented} ET");
    assert_eq!(text(&page(&content)), "Key\ncafé naïve");
}

#[test]
fn actual_text_replaces_the_shown_letters() {
    let content = "BT /F 10 Tf 72 700 Td (e) Tj /Span << /ActualText <FEFF006600660069> >> BDC (xyz) Tj EMC \
        (cient) Tj /Span << /ActualText () >> BDC (*) Tj EMC /Artifact BMC (!) Tj EMC ET";
    assert_eq!(text(&page(content)), "efficient!");
}

/// Forms have their own matrices, fonts and forms; no form shows itself.
#[test]
fn forms_are_read_at_their_position() {
    let outer = stream(
        "/Subtype /Form /Matrix [1 0 0 1 0 -100] /Resources << /Font << /H 3 0 R >> \
         /XObject << /I 11 0 R /O 10 0 R >> >>",
        "BT /H 10 Tf 72 700 Td (outer) Tj ET /I Do /O Do",
    );
    let inner = stream(
        "/Subtype /Form /Matrix [2 0 0 2 0 0]",
        "BT /H 5 Tf 36 340 Td (inner) Tj ET",
    );
    let content = show(72.0, 700.0, "before") + "/O Do " + &show(72.0, 560.0, "after");
    let file = pages(
        &[stream("", content)],
        "/XObject << /O 10 0 R >>",
        &[outer, inner],
    );
    assert_eq!(text(&file), "before\n\nouter\n\ninner\n\nafter");
}
