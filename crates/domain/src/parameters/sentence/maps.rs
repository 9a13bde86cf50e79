//! Maps, which a sentence contains as JSON after the parameter's name: `filter={"state": "open"}`.

use charter_contract::json::{Profile, decode_text};
use serde_json::Value;

use super::reader::Reader;
use super::seen::{Misread, ParameterReading, PlaceContent, Strength};

/// The maximum length of a map, in bytes.
const LONGEST: usize = 4_096;

/// Finds the values of a map parameter in a sentence.
pub(super) fn find(reader: Reader<'_, '_>) -> ParameterReading {
    let mut found = ParameterReading::default();
    let sentence = reader.sentence;
    for mention in reader.mentions {
        let last = mention.first + mention.words - 1;
        let tail = sentence.tail(last);
        let json = tail.trim_start_matches([' ', '=', ':', '"', '\'']);
        let skipped = tail.len() - json.len();
        let signed = tail
            .get(..skipped)
            .is_some_and(|gap| gap.contains(['=', ':']));
        let Some(end) = end_of_map(json).filter(|_| signed) else {
            continue;
        };
        let words = mention.words + sentence.words_within(last + 1, skipped + end);
        let value = json
            .get(..end)
            .map(|json| decode_text::<Value>(json, Profile::PARAMETER));
        let seen = match value {
            Some(Ok(value)) => PlaceContent::Value(value, words),
            Some(Err(_)) | None => PlaceContent::Doubt(Misread::NotUnderstood, words),
        };
        found.note(mention.first, seen, Strength::Written);
    }
    found
}

/// Returns the length of the map at the beginning of a text, in bytes.
fn end_of_map(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < LONGEST) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}
