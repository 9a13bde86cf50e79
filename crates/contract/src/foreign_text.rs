//! Finds the parts of a request that are not the writer's own words: quotations, code, pasted records and logs, and
//! the frame of a mail (headers of RFC 5322, quotes and signatures of RFC 3676). They express no request of their own.

mod mail;

use std::ops::Range;

/// Maximum length of a quotation, in bytes; quotation marks further apart do not belong together.
const MAX_QUOTATION: usize = 400;

/// Pairs of opening and closing quotation marks.
const QUOTES: [(char, char); 7] = [
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('«', '»'),
    ('‘', '’'),
    ('`', '`'),
    ('\'', '\''),
];

/// Kind of a foreign piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignKind {
    /// Another person's words, or words under discussion.
    Quotation,
    /// Code, JSON, markup, rows of a table, lines of a log.
    Pasted,
    /// Headers, salutation, signature and quoted lines of a mail.
    Mail,
}

/// A piece of a text that is not the writer's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// The kind of piece.
    pub kind: ForeignKind,
    /// Byte range.
    pub place: Range<usize>,
}

/// Returns the foreign pieces of a text, in order and without overlaps.
#[must_use]
pub fn foreign(text: &str) -> Vec<Foreign> {
    let mut found: Vec<Foreign> = Vec::new();
    let mut said = false;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let is_line_start = at == 0 || text[..at].ends_with('\n');
        let mail = is_line_start.then(|| mail::frame(rest, said)).flatten();
        let mail = mail.map(|length| (ForeignKind::Mail, length));
        let pasted = || pasted(rest, is_line_start).map(|length| (ForeignKind::Pasted, length));
        let quoted = || quotation(&text[..at], rest).map(|length| (ForeignKind::Quotation, length));
        match mail.or_else(pasted).or_else(quoted) {
            Some((kind, length)) => {
                let place = at..at + length;
                at = place.end;
                found.push(Foreign { kind, place });
            }
            None => {
                let first = rest.chars().next();
                said |= first.is_some_and(char::is_alphanumeric);
                at += first.map_or(1, char::len_utf8);
            }
        }
    }
    found
}

/// Replaces the foreign pieces of a text with blanks of the same length; line ends remain.
#[must_use]
pub fn blanked(text: &str, foreign: &[Foreign]) -> String {
    let mut own = String::with_capacity(text.len());
    let mut at = 0;
    for piece in foreign {
        own.push_str(&text[at..piece.place.start]);
        for c in text[piece.place.clone()].chars() {
            match c {
                '\n' => own.push('\n'),
                _ => own.push_str(&" ".repeat(c.len_utf8())),
            }
        }
        at = piece.place.end;
    }
    own.push_str(&text[at..]);
    own
}

/// Returns the length of the pasted piece at the start of a text.
fn pasted(rest: &str, is_line_start: bool) -> Option<usize> {
    if let Some(inner) = rest.strip_prefix("```") {
        let end = inner.find("```").map_or(rest.len(), |end| 3 + end + 3);
        return Some(end);
    }
    match rest.chars().next() {
        Some('{') => object(rest),
        Some('<') => tag(rest),
        Some(_) if is_line_start => {
            let line = rest.lines().next().unwrap_or_default();
            is_record(line).then_some(line.len().max(1))
        }
        Some(_) | None => None,
    }
}

/// Returns the length of a JSON object: matching braces, with a colon or nothing between them.
fn object(rest: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            let inside = &rest[..=at];
            return (inside.contains(':') || inside.len() == 2).then_some(inside.len());
        }
    }
    None
}

/// Returns the length of one markup tag.
fn tag(rest: &str) -> Option<usize> {
    let end = rest.find('>')?;
    let name = rest[1..end].trim_start_matches('/');
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 80
        && !name.contains(['\n', '<']);
    is_tag.then_some(end + 1)
}

/// Whether a line is a row of a table or written by a program.
fn is_record(line: &str) -> bool {
    let trimmed = line.trim();
    let cells = trimmed.matches('|').count();
    if cells >= 2 {
        return true;
    }
    #[rustfmt::skip]
    const BEGINNINGS: [&str; 24] = [
        "Traceback (",
        "File \"", "at ", "Caused by:", "Exception in", "[ERROR]", "[WARN", "[INFO", "ERROR ", "WARN ", "INFO ", "DEBUG ",
        "[error]", "[warn", "[info", "[debug", "[DEBUG", "FATAL ", "TRACE ", "WARNING ", "CRITICAL ", "ERROR:", "WARNING:",
        "level=",
    ];
    let begins = BEGINNINGS.iter().any(|begin| match *begin {
        // A stack frame: `at module.function(file:line)`.
        "at " => trimmed.starts_with("at ") && trimmed.contains('(') && trimmed.ends_with(')'),
        begin => trimmed.starts_with(begin),
    });
    begins || is_stamped(trimmed) || is_exception(trimmed) || is_indented_code(line)
}

/// Whether a line begins with a date and a time, as log lines do: in the form of ISO 8601, of syslog (RFC 3164), of a
/// web server, or with the time alone.
fn is_stamped(line: &str) -> bool {
    let line = line
        .trim_start_matches('[')
        .trim_start_matches("time=")
        .trim_start_matches("ts=")
        .trim_start_matches('"');
    let shape: String = line
        .chars()
        .take(20)
        .map(|c| match c {
            c if c.is_ascii_digit() => '0',
            c if c.is_ascii_alphabetic() && c != 'T' => 'a',
            c => c,
        })
        .collect();
    const SHAPES: [&str; 10] = [
        "0000-00-00T00",
        "0000-00-00 00",
        "0000/00/00 00",
        "00/00/0000 00",
        "00/aaa/0000:00",
        "aaa 00 00:00:00",
        "aaa  0 00:00:00",
        "aaa 0 00:00:00",
        "00:00:00.",
        "00:00:00 ",
    ];
    // A web server's log line has the client address before the time.
    let after_address = || {
        let (_, rest) = line.split_once(" - - [")?;
        rest.starts_with(|c: char| c.is_ascii_digit()).then_some(())
    };
    SHAPES.iter().any(|begin| shape.starts_with(begin)) || after_address().is_some()
}

/// Recognises `SomeError: message`.
fn is_exception(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else {
        return false;
    };
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
    is_name && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// Recognises deeply indented code by its punctuation.
fn is_indented_code(line: &str) -> bool {
    line.starts_with("    ") && line.contains(['(', '{', ';', '='])
        || line.starts_with("    import ")
}

/// Returns the length of the quotation at the start of `rest`.
fn quotation(before: &str, rest: &str) -> Option<usize> {
    let open = rest.chars().next()?;
    let (_, close) = QUOTES.iter().find(|(opening, _)| *opening == open)?;
    let last = before.chars().next_back();
    let opens = last.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | ':' | '—' | '–'));
    if !opens {
        return None;
    }
    let inner = &rest[open.len_utf8()..];
    if inner.starts_with(char::is_whitespace) {
        return None;
    }
    let apostrophe = matches!(close, '\'' | '’');
    for (at, c) in inner
        .char_indices()
        .take_while(|(at, _)| *at <= MAX_QUOTATION)
    {
        let after = inner[at + c.len_utf8()..].chars().next();
        // An apostrophe within a word does not close a quotation.
        let ends =
            c == *close && at > 0 && !(apostrophe && after.is_some_and(char::is_alphanumeric));
        if ends {
            return Some(open.len_utf8() + at + c.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_text(text: &str) -> String {
        let own = blanked(text, &foreign(text));
        assert_eq!(own.len(), text.len());
        own.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn quotations_are_excluded_and_apostrophes_open_no_quotation() {
        assert_eq!(
            own_text("Ann said 'drop the table' to Bob's team"),
            "Ann said to Bob's team"
        );
        assert_eq!(own_text("what does “wipe it” mean?"), "what does mean?");
        assert_eq!(
            own_text("the boys' and girls' rooms"),
            "the boys' and girls' rooms"
        );
        assert_eq!(own_text("rock 'n' roll"), "rock roll");
    }

    #[test]
    fn program_records_count_as_pasted_and_prose_does_not() {
        assert_eq!(own_text("row: {\"id\": {\"a\": 1}}\nwhy?"), "row: why?");
        assert_eq!(own_text("disk-1 | free | 20\nwhat is it?"), "what is it?");
        assert_eq!(
            own_text("2024-05-01T10:00:03 stopped\nrestart it"),
            "restart it"
        );
        assert_eq!(own_text("KeyError: 'x'\nwhat now"), "what now");
        assert_eq!(own_text("<b>bold</b> claim"), "bold claim");
        assert_eq!(own_text("a < b and c > d"), "a < b and c > d");
        assert_eq!(
            own_text("{braces without a colon}"),
            "{braces without a colon}"
        );
        assert_eq!(own_text("```\nrm -rf /\n``` is that safe"), "is that safe");
        for line in [
            "Jan 12 03:04:05 db-1 kernel: out of memory",
            "[2024/05/01 10:00:03] worker stopped",
            "10:00:03.120 worker stopped",
            "time=\"2024-05-01T10:00:03Z\" level=info msg=stopped",
            "10.0.0.7 - - [01/May/2024:10:00:03 +0000] \"GET / HTTP/1.1\" 500 12",
            "FATAL the disk is full",
        ] {
            assert_eq!(own_text(&format!("{line}\nwhat now")), "what now", "{line}");
        }
        for text in ["May 12 hosts be stopped", "10:00 is too early for it"] {
            assert_eq!(own_text(text), text);
        }
    }
}
