//! Markdown: keeps the text, marks its headings (CommonMark 0.31, sections 4.2 and 4.3), and removes their links to
//! themselves. Front matter has no headings.

use charter_contract::frontmatter;

use super::plain::{without_anchor_mark, without_mark_of_word};
use super::{Extracted, Mark, heading};

/// Most `#` of a heading.
const MAX_LEVEL: usize = 6;

/// Marks the headings outside code blocks.
pub(super) fn extract(text: &str) -> Extracted {
    let fields = frontmatter::split(text).filter(|(head, _)| is_fields(head));
    let body = fields.map_or(text, |(_, body)| body);
    let mut extracted = Extracted {
        text: text[..text.len() - body.len()].to_owned(),
        ..Extracted::default()
    };
    let mut fence = None;
    let mut before: Option<(usize, &str)> = None;
    for line in body.split_inclusive('\n') {
        let at = extracted.text.len();
        let whole = line.trim_end_matches('\n');
        let content = match fence {
            None => without_link_to_itself(whole),
            Some(_) => whole,
        };
        extracted.text.push_str(content);
        extracted.text.push_str(&line[whole.len()..]);
        let content = content.trim();
        match (fence, fence_of(content)) {
            (None, Some(opening)) => fence = Some(opening),
            (Some(open), Some(closing)) if open == closing => fence = None,
            (Some(_), Some(_) | None) => {}
            (None, None) => extracted.marks.extend(heading_of(at, content, before)),
        }
        before = (fence.is_none() && !content.is_empty()).then_some((at, content));
    }
    extracted
}

/// Whether the lines between two lines of dashes are front matter, not text between two rules.
fn is_fields(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    first.contains(':') && !first.starts_with(['#', ' '])
}

/// Removes a heading's link to itself, which generators put behind its words: `[¶](#words "Permanent link")`, or a mark
/// alone.
fn without_link_to_itself(line: &str) -> &str {
    let mut bare = line;
    while let Some(before) = before_link(bare) {
        bare = before;
    }
    if bare.trim_start().starts_with('#') {
        without_anchor_mark(bare)
    } else {
        without_mark_of_word(bare)
    }
}

/// Returns the part of a line before a link to a fragment at its end, if the link contains no word.
fn before_link(line: &str) -> Option<&str> {
    let inside = line.trim_end().strip_suffix(')')?;
    let (before, target) = inside.rsplit_once("](")?;
    let (before, words) = before.rsplit_once('[')?;
    let is_bare = !words.contains(char::is_alphanumeric) && !before.ends_with(['!', '\\']);
    (is_bare && target.contains('#')).then(|| before.trim_end())
}

fn fence_of(line: &str) -> Option<char> {
    ['`', '~']
        .into_iter()
        .find(|mark| line.chars().take_while(|c| c == mark).count() >= 3)
}

/// Recognises `## Words`, or a line of `=` or `-` under words.
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
