//! Finds the frame of a mail: headers, salutation, quoted lines, signature. Reads whole lines only.

/// Maximum number of signature lines after the closing.
const SIGNATURE_LINES: usize = 6;
/// Maximum length of a signature line, in characters.
const SIGNATURE_WIDTH: usize = 72;
/// Maximum length of a salutation, in words.
const SALUTATION_WORDS: usize = 5;

/// Headers with sender, recipients and date.
const HEADERS: [&str; 9] = [
    "from:",
    "to:",
    "cc:",
    "bcc:",
    "date:",
    "sent:",
    "reply-to:",
    "message-id:",
    "received:",
];

/// Opening words of a salutation.
const SALUTATIONS: [&str; 9] = [
    "hi",
    "hello",
    "hey",
    "dear",
    "good morning",
    "good afternoon",
    "good evening",
    "greetings",
    "morning",
];

/// Closings of a mail, each alone on its line.
#[rustfmt::skip]
const CLOSINGS: [&str; 24] = [
    "best", "best regards", "kind regards", "warm regards", "regards", "many regards", "best wishes", "cheers",
    "thanks", "thanks a lot", "many thanks", "thank you", "thanks in advance", "thank you in advance",
    "thanks and regards", "thanks & regards", "sincerely", "yours sincerely", "yours", "yours faithfully", "all the best",
    "have a nice day", "br", "rgds",
];

/// Returns the length of the frame part that starts at this line; `said` is true after text of the writer's own.
pub(super) fn frame(rest: &str, said: bool) -> Option<usize> {
    let line = rest.lines().next().unwrap_or_default();
    let trimmed = line.trim();
    let lower = trimmed.to_lowercase();
    let after = &rest[line.len()..];
    let is_line = trimmed.starts_with('>')
        || is_header(&lower)
        || introduces_quote(&lower)
        || lower.starts_with("-----original message")
        || said && lower.starts_with("sent from my ");
    if is_line {
        return Some(line.len().max(1));
    }
    if !said && is_salutation(&lower) && after.contains(char::is_alphanumeric) {
        return Some(line.len());
    }
    if !said {
        return None;
    }
    let is_cut = matches!(line.trim_end(), "--" | "—") || is_underline(trimmed);
    let closes = CLOSINGS.contains(&lower.trim_end_matches([',', '!', '.', ' ']));
    (is_cut || closes).then(|| signature(rest)).flatten()
}

/// Recognises `From: Ann <ann@example.com>`.
fn is_header(lower: &str) -> bool {
    let header = HEADERS.iter().find(|header| lower.starts_with(**header));
    header.is_some_and(|header| {
        let value = &lower[header.len()..];
        value.contains('@')
            || value.starts_with(' ') && value.contains(|c: char| c.is_ascii_digit())
    })
}

/// Recognises `On Monday, Ann wrote:`.
fn introduces_quote(lower: &str) -> bool {
    lower.ends_with("wrote:") && (lower.starts_with("on ") || lower.contains('@'))
}

/// Recognises `Hi all,`.
fn is_salutation(lower: &str) -> bool {
    let opens = SALUTATIONS.iter().any(|opening| {
        let rest = lower.strip_prefix(opening);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',', '!']))
    });
    let ends = lower.ends_with([',', '!', '.', ':', '-']) || !lower.contains(' ');
    opens && ends && lower.split_whitespace().count() <= SALUTATION_WORDS
}

fn is_underline(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '_' | '='))
}

/// Returns the length of a signature: short lines without a question, up to the end or to an empty line after at least
/// one line.
fn signature(rest: &str) -> Option<usize> {
    let mut length = 0;
    let mut lines = 0;
    for line in rest.split_inclusive('\n') {
        let trimmed = line.trim();
        let is_long = trimmed.chars().count() > SIGNATURE_WIDTH;
        if lines > SIGNATURE_LINES || is_long || trimmed.ends_with('?') {
            return None;
        }
        if trimmed.is_empty() && lines > 1 {
            break;
        }
        lines += usize::from(!trimmed.is_empty());
        length += line.len();
    }
    Some(rest[..length].trim_end().len().max(1))
}

#[cfg(test)]
mod tests {
    use super::super::{ForeignKind, blanked, foreign};

    fn own_text(text: &str) -> String {
        let pieces = foreign(text);
        assert!(pieces.iter().all(|piece| piece.kind == ForeignKind::Mail));
        let own = blanked(text, &pieces);
        own.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn mail_headers_quotes_and_signatures_are_excluded() {
        assert_eq!(
            own_text(
                "From: Ann <ann@example.com>\nDate: Mon, 4 May 2026\n\nHi all,\n\nwhich hosts are down?\n\n\
                 Best regards,\nAnn Other\nOperations\n"
            ),
            "which hosts are down?"
        );
        assert_eq!(
            own_text("stop the relay\n-- \nAnn Other\n+49 30 1234"),
            "stop the relay"
        );
        assert_eq!(
            own_text("is it still down?\n\nOn Monday, Bob wrote:\n> the relay is down\n> again"),
            "is it still down?"
        );
        assert_eq!(
            own_text("count the hosts\nSent from my phone"),
            "count the hosts"
        );
    }

    #[test]
    fn texts_that_look_like_mail_headers_are_kept() {
        for text in [
            "hello",
            "thanks",
            "hi, which hosts are down?",
            "to: stop the relay",
            "find leads\nthanks for the help with the long list of hosts, can you also show me those that are down?",
            "the best\nhosts",
        ] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(own_text(text), words);
        }
    }
}
