//! Markdown: the text as it stands, its headings marked (CommonMark 0.31, sections 4.2 and 4.3).

use super::{Extracted, Mark, heading};

/// Most `#` of a heading.
const MAX_LEVEL: usize = 6;

/// Marks the headings outside code blocks.
pub(super) fn extract(text: String) -> Extracted {
    let mut marks = Vec::new();
    let mut fence = None;
    let mut before: Option<(usize, &str)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        match (fence, fence_of(content)) {
            (None, Some(opening)) => fence = Some(opening),
            (Some(open), Some(closing)) if open == closing => fence = None,
            (Some(_), Some(_) | None) => {}
            (None, None) => marks.extend(heading_of(at, content, before)),
        }
        before = (fence.is_none() && !content.is_empty()).then_some((at, content));
        at += line.len();
    }
    Extracted { text, marks }
}

fn fence_of(line: &str) -> Option<char> {
    ['`', '~']
        .into_iter()
        .find(|mark| line.chars().take_while(|c| c == mark).count() >= 3)
}

/// `## Words`, or a line of `=` or `-` under words.
fn heading_of(at: usize, line: &str, before: Option<(usize, &str)>) -> Option<Mark> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=MAX_LEVEL).contains(&level) {
        let title = line[level..].strip_prefix([' ', '\t'])?;
        let title = title.trim_end().trim_end_matches('#');
        return Some(heading(at, u8::try_from(level).ok()?, title));
    }
    let (above, words) = before?;
    let underlined = |mark: char| line.len() >= 2 && line.chars().all(|c| c == mark);
    let is_words =
        words.chars().any(char::is_alphanumeric) && !words.starts_with(['#', '-', '|', '>']);
    match (underlined('='), underlined('-')) {
        _ if !is_words => None,
        (true, _) => Some(heading(above, 1, words)),
        (false, true) => Some(heading(above, 2, words)),
        (false, false) => None,
    }
}
