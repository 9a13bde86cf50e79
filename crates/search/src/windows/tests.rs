//! Windows of synthetic texts, and that no part of a text is lost.

use proptest::prelude::*;

use super::*;

const SMALL: WindowSettings = WindowSettings {
    vector_tokens: 10,
    vectors: 2,
    overlap_tokens: 4,
};

/// Returns one token for each word.
fn words(text: &str) -> Vec<Range<usize>> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace()
        .map(|word| start(word)..start(word) + word.len())
        .collect()
}

fn numbers(range: Range<usize>) -> String {
    range.map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, sections: &[usize]) -> Vec<String> {
    let windows = windows(text, &words(text), sections, &SMALL);
    windows
        .into_iter()
        .map(|w| text[w.span].to_owned())
        .collect()
}

#[test]
fn b000_16_windows_are_full_and_overlap() {
    let text = numbers(0..50);
    let expected = [numbers(0..20), numbers(16..36), numbers(32..50)];
    assert_eq!(cut(&text, &[]), expected);
}

#[test]
fn b000_16_a_window_ends_with_the_best_place_near_its_end() {
    let text = format!(
        "{}\n\n{}. {}",
        numbers(0..16),
        numbers(16..34),
        numbers(34..50)
    );
    let found = cut(&text, &[]);
    assert_eq!(found[0], numbers(0..16));
    assert_eq!(
        found[1],
        format!("{}\n\n{}", numbers(12..16), numbers(16..32))
    );
}

#[test]
fn b000_16_a_section_begins_a_window_once_half_of_one_is_full() {
    let (first, second, third) = (numbers(0..6), numbers(6..12), numbers(12..18));
    let text = format!("{first}\n\n{second}\n\n{third}");
    let sections = [0, first.len() + 2, first.len() + second.len() + 4];
    assert_eq!(
        cut(&text, &sections),
        [format!("{first}\n\n{second}"), third]
    );
}

#[test]
fn b000_16_a_change_leaves_the_windows_of_other_sections() {
    let sections = |first: &str| {
        let texts = [
            first.to_owned(),
            numbers(100..115),
            numbers(200..215),
            numbers(300..315),
        ];
        let mut starts = Vec::new();
        let mut text = String::new();
        for section in texts {
            starts.push(text.len());
            text.push_str(&section);
            text.push_str("\n\n");
        }
        cut(&text, &starts)
    };
    let (before, after) = (sections(&numbers(0..12)), sections(&numbers(0..15)));
    assert_eq!(before[1..], after[1..]);
    assert_eq!(before.len(), 4);
}

#[test]
fn b000_16_a_window_has_a_vector_for_each_part_that_the_model_can_read() {
    let text = numbers(0..20);
    let windows = windows(&text, &words(&text), &[], &SMALL);
    let parts: Vec<&str> = windows[0]
        .parts
        .iter()
        .map(|part| &text[part.clone()])
        .collect();
    assert_eq!(parts, [numbers(0..10), numbers(10..20)]);
}

#[test]
fn an_estimate_counts_long_words_and_marks() {
    let text = "Misconfigured, is 0.0.0.0/0!";
    let tokens: Vec<&str> = estimated(text).into_iter().map(|t| &text[t]).collect();
    let expected = [
        "Misco", "nfigu", "red", ",", "is", "0", ".", "0", ".", "0", ".", "0", "/", "0", "!",
    ];
    assert_eq!(tokens, expected);
}

#[test]
fn a_line_without_end_is_tokenised_in_pieces() {
    let text = "abcd ".repeat(10_000);
    assert_eq!(token_spans(&text, None).len(), 10_000);
    let spans = token_spans(&"é".repeat(20_000), None);
    assert_eq!(spans.last().map(|last| last.end), Some(40_000));
}

proptest! {
    #[test]
    fn b000_16_nothing_is_lost_and_no_window_is_too_long(
        text in "[a-zé .,\n]{0,600}",
        sections in prop::collection::btree_set(0usize..600, 0..8),
    ) {
        let tokens = token_spans(&text, None);
        let sections: Vec<usize> = sections.into_iter().map(|at| text.floor_char_boundary(at.min(text.len()))).collect();
        let windows = windows(&text, &tokens, &sections, &SMALL);
        let mut reached = 0;
        for window in &windows {
            prop_assert!(text[reached.min(window.span.start)..window.span.start].trim().is_empty() || window.span.start <= reached);
            prop_assert!(window.span.end > reached);
            reached = window.span.end;
            let inside = tokens.iter().filter(|token| window.span.contains(&token.start));
            prop_assert!(inside.count() <= 20);
            prop_assert!(window.parts.len() <= 2);
            for part in &window.parts {
                prop_assert!(window.span.start <= part.start && part.end <= window.span.end);
                prop_assert!(tokens.iter().filter(|token| part.contains(&token.start)).count() <= 10);
            }
        }
        prop_assert!(text[reached..].trim().is_empty());
    }
}
