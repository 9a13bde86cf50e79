//! Translates patterns whose meaning differs between jq and `fancy-regex`, or rejects them. jq uses Oniguruma with Perl
//! syntax, and Unicode character classes.

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'p> {
    /// A backslash with the characters that it applies to.
    Escape(&'p str),
    /// A class, with its brackets.
    Class(&'p str),
    /// The bounds of a repetition, with their braces.
    Interval(&'p str),
    /// A comment, or a character of any other kind.
    Plain(&'p str),
}

/// Letters for which jq ignores the backslash, with the notation for the meaning that the escape has elsewhere.
const LETTERS: [(&str, &str); 4] = [
    (r"\h", "[0-9A-Fa-f]"),
    (r"\H", "[^0-9A-Fa-f]"),
    (r"\u", r"\x{…}"),
    (r"\v", r"\x0b"),
];

/// The named classes, as contents of a class.
const NAMED: [(&str, &str); 14] = [
    ("alnum", r"\p{Alphabetic}\p{Nd}"),
    ("alpha", r"\p{Alphabetic}"),
    ("ascii", r"\x00-\x7f"),
    ("blank", r"\p{Zs}\t"),
    ("cntrl", r"\p{Cc}"),
    ("digit", r"\p{Nd}"),
    ("graph", r"[^\p{White_Space}\p{Cc}\p{Cn}\p{Cs}]"),
    ("lower", r"\p{Lowercase}"),
    ("print", r"[^\p{Cc}\p{Cn}\p{Cs}\x{2028}\x{2029}]"),
    ("punct", r"\p{P}\p{S}"),
    ("space", r"\p{White_Space}"),
    ("upper", r"\p{Uppercase}"),
    ("word", r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"),
    ("xdigit", "0-9A-Fa-f"),
];

/// Splits a pattern into parts. In an extended pattern `#` begins a comment.
pub(super) fn parts(pattern: &str, extended: bool) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let bounds = interval(rest);
        let length = match (first, bounds) {
            ('\\', _) => escape(rest),
            ('[', _) => class(rest),
            ('(', _) if rest.starts_with("(?#") => through(rest, ')'),
            ('#', _) if extended => through(rest, '\n'),
            (_, Some(length)) => length,
            (other, None) => other.len_utf8(),
        };
        let (text, after) = rest.split_at(length);
        parts.push(match (first, bounds) {
            ('\\', _) => Part::Escape(text),
            ('[', _) => Part::Class(text),
            (_, Some(_)) => Part::Interval(text),
            (_, None) => Part::Plain(text),
        });
        rest = after;
    }
    parts
}

/// Returns the length of a text up to and including a character, or of the whole text if the character is missing.
fn through(text: &str, last: char) -> usize {
    text.find(last)
        .map_or(text.len(), |at| at + last.len_utf8())
}

/// Returns the length of the escape at the beginning of a text.
fn escape(text: &str) -> usize {
    let Some(escaped) = text.chars().nth(1) else {
        return text.len();
    };
    let length = 1 + escaped.len_utf8();
    let rest = text.get(length..).unwrap_or_default();
    if matches!(escaped, 'p' | 'P' | 'x') && rest.starts_with('{') {
        return length + through(rest, '}');
    }
    length
}

/// Returns the length of the class at the beginning of a text.
fn class(text: &str) -> usize {
    let mut length = opening(text);
    while let Some(rest) = text.get(length..).filter(|rest| !rest.is_empty()) {
        length += match rest.chars().next() {
            Some(']') => return length + 1,
            Some('\\') => escape(rest),
            Some('[') => named(rest).map_or(1, |(_, length)| length),
            other => other.map_or(1, char::len_utf8),
        };
    }
    length
}

/// Returns the length of a class's beginning: its bracket, the negation, and a bracket that is the first member.
fn opening(text: &str) -> usize {
    let members = text.strip_prefix('[').unwrap_or(text);
    let members = members.strip_prefix('^').unwrap_or(members);
    let members = members.strip_prefix(']').unwrap_or(members);
    text.len() - members.len()
}

/// Returns the name between `[:` and `:]` at the beginning of a text, and the total length.
fn named(text: &str) -> Option<(&str, usize)> {
    let (name, _) = text.strip_prefix("[:")?.split_once(":]")?;
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_name(name.strip_prefix('^').unwrap_or(name)).then(|| (name, name.len() + 4))
}

/// Returns the length of the interval at the beginning of a text.
fn interval(text: &str) -> Option<usize> {
    let (bounds, _) = text.strip_prefix('{')?.split_once('}')?;
    let digits = bounds.replacen(',', "", 1);
    let are_bounds = !bounds.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_bounds.then(|| bounds.len() + 2)
}

/// Translates the pattern for `fancy-regex`.
///
/// # Errors
/// The first part that has another meaning there and cannot be translated.
pub(super) fn written(pattern: &str, extended: bool) -> Result<String, String> {
    let parts = parts(pattern, extended);
    let mut written = String::with_capacity(pattern.len());
    // The starts of the open groups, and the start of the atom that a following repetition would repeat.
    let mut groups = Vec::new();
    let mut atom = 0;
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        match part {
            Part::Escape(text) => {
                check_escape(text)?;
                atom = written.len();
                written.push_str(text);
            }
            Part::Class(text) => {
                atom = written.len();
                write_class(text, &mut written)?;
            }
            Part::Interval(text) => {
                check_interval(text)?;
                // A possessive interval; elsewhere it would be a repeated interval.
                let is_possessive = parts.next_if_eq(&Part::Plain("+")).is_some();
                if is_possessive {
                    written.insert_str(atom, "(?>");
                }
                written.push_str(text);
                written.extend(is_possessive.then_some(')'));
            }
            Part::Plain(text) => {
                match text {
                    "(" => groups.push(written.len()),
                    ")" => atom = groups.pop().unwrap_or(atom),
                    "*" | "+" | "?" => {}
                    _ if is_ignored(text, extended) => {}
                    _ => atom = written.len(),
                }
                written.push_str(text);
            }
        }
    }
    Ok(written)
}

/// Returns whether a part is a comment, or an ignored space.
fn is_ignored(text: &str, extended: bool) -> bool {
    let is_space = text.chars().all(char::is_whitespace);
    text.starts_with("(?#") || extended && (is_space || text.starts_with('#'))
}

fn check_escape(text: &str) -> Result<(), String> {
    if let Some((_, instead)) = LETTERS.iter().find(|(letter, _)| *letter == text) {
        return Err(format!("`{text}` is a letter in jq; write `{instead}`"));
    }
    match text {
        r"\p" | r"\P" => Err(format!("`{text}` needs braces; write `{text}{{…}}`")),
        _ => Ok(()),
    }
}

fn check_interval(text: &str) -> Result<(), String> {
    if let Some(most) = text.strip_prefix("{,") {
        return Err(format!(
            "`{text}` is not an interval in jq; write `{{0,{most}`"
        ));
    }
    let bounds = text.trim_matches(['{', '}']).split_once(',');
    let number = |bound: &str| bound.parse::<u64>().ok();
    if let Some((least, most)) = bounds
        && let (Some(least), Some(most)) = (number(least), number(most))
        && least > most
    {
        return Err(format!("`{text}` has reversed bounds"));
    }
    Ok(())
}

/// Translates a class. Its members are characters, escapes, ranges and named classes: jq has neither nested classes nor
/// set operations.
fn write_class(class: &str, written: &mut String) -> Result<(), String> {
    let (open, mut rest) = class.split_at(opening(class));
    written.push_str(open);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\\' => {
                let length = escape(rest);
                let (text, _) = rest.split_at(length);
                check_escape(text)?;
                written.push_str(text);
                length
            }
            '[' => match named(rest) {
                Some((name, length)) => {
                    write_named(name, written)?;
                    length
                }
                None => {
                    written.push_str(r"\[");
                    1
                }
            },
            '&' | '~' => {
                written.extend(['\\', first]);
                1
            }
            '-' if rest.starts_with("--") => {
                return Err(
                    r"`--` in a class is a range in jq; write `\-` for the character".to_owned(),
                );
            }
            other => {
                written.push(other);
                other.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

fn write_named(name: &str, written: &mut String) -> Result<(), String> {
    let (open, name) = match name.strip_prefix('^') {
        Some(name) => ("[^", name),
        None => ("[", name),
    };
    let Some((_, members)) = NAMED.iter().find(|(known, _)| *known == name) else {
        return Err(format!("`[:{name}:]` is not a class"));
    };
    written.push_str(open);
    written.push_str(members);
    written.push(']');
    Ok(())
}
