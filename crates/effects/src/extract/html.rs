//! HTML: a stream of tokens becomes lines of text. No tree is built, so that depth costs nothing.
//!
//! Tokens by the WHATWG specification, section 13.2.5 (html5gum). What people do not read (scripts,
//! styles, navigation) is left out, blocks are set apart by an empty line, `pre` is kept as it is.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::{Extracted, heading};

/// How far into a page its own declaration of a charset is looked for (WHATWG, 13.2.3.2).
const DECLARED_WITHIN_BYTES: usize = 1024;

/// Elements whose content nobody reads.
const HIDDEN: [&[u8]; 8] = [
    b"script",
    b"style",
    b"template",
    b"svg",
    b"title",
    b"object",
    b"select",
    b"noframes",
];
/// Elements that a line of their own is made of.
const BLOCKS: [&[u8]; 34] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"br",
    b"caption",
    b"dd",
    b"details",
    b"div",
    b"dl",
    b"dt",
    b"fieldset",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"header",
    b"hr",
    b"li",
    b"main",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"table",
    b"tbody",
    b"thead",
    b"tfoot",
    b"tr",
    b"ul",
    b"legend",
    b"hgroup",
];
/// Blocks that follow the one before without an empty line.
const TIGHT: [&[u8]; 5] = [b"br", b"li", b"tr", b"dd", b"dt"];

/// What between tags is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    /// What nobody reads, and lists of links (`nav`).
    UnreadAndLinks,
    /// What nobody reads.
    Unread,
    /// Nothing.
    Nothing,
}

/// The text of a page. Lists of links are left out, unless one of them never ends.
pub(super) fn extract(page: &str) -> Extracted {
    let written = render(page, LeftOut::UnreadAndLinks);
    match written.hidden {
        Some((name, _)) if name == b"nav" => render(page, LeftOut::Unread).extracted,
        Some(_) | None => written.extracted,
    }
}

/// The text of a line such as a title with some words in bold. One in which something unread never
/// ends only speaks of tags; it loses those.
pub(super) fn line(text: &str) -> String {
    let written = render(text, LeftOut::Unread);
    let written = match written.hidden {
        Some(_) => render(text, LeftOut::Nothing),
        None => written,
    };
    let words: Vec<&str> = written.extracted.text.split_whitespace().collect();
    words.join(" ")
}

/// The charset that a page declares for itself: `<meta charset="…">`, also inside `content`.
pub(super) fn charset(bytes: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"charset=";
    let head = &bytes[..bytes.len().min(DECLARED_WITHIN_BYTES)];
    let at = head
        .windows(KEY.len())
        .position(|part| part.eq_ignore_ascii_case(KEY))?;
    let value = head[at + KEY.len()..].trim_ascii_start();
    let value = value
        .strip_prefix(b"\"")
        .or(value.strip_prefix(b"'"))
        .unwrap_or(value);
    let length = value
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))
        .count();
    let label = std::str::from_utf8(&value[..length]).ok()?;
    (!label.is_empty()).then_some(label)
}

fn render(page: &str, left_out: LeftOut) -> Writer {
    let mut writer = Writer::new(left_out);
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        writer.read(&event);
        None::<Infallible>
    });
    emitter.naively_switch_states(left_out != LeftOut::Nothing);
    match Tokenizer::new_with_emitter(page, emitter).finish() {
        Ok(()) => {}
        Err(never) => match never {},
    }
    writer.end_heading();
    writer
}

/// What stands between two words, at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Nothing,
    Space,
    Line,
    Blank,
}

impl Gap {
    fn text(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Space => " ",
            Self::Line => "\n",
            Self::Blank => "\n\n",
        }
    }
}

/// The text as far as it was written.
struct Writer {
    extracted: Extracted,
    left_out: LeftOut,
    gap: Gap,
    /// How many `pre` are open.
    verbatim: usize,
    /// The hidden element that is open, and how many of its name.
    hidden: Option<(Vec<u8>, usize)>,
    /// Level and beginning of the heading that is open.
    heading: Option<(u8, usize)>,
}

impl Writer {
    fn new(left_out: LeftOut) -> Self {
        Self {
            extracted: Extracted::default(),
            left_out,
            gap: Gap::Nothing,
            verbatim: 0,
            hidden: None,
            heading: None,
        }
    }

    fn read(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.open(name),
            CallbackEvent::CloseStartTag { self_closing: true } => self.close_at_once(),
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => self.write(&String::from_utf8_lossy(value)),
            CallbackEvent::CloseStartTag {
                self_closing: false,
            }
            | CallbackEvent::AttributeName { .. }
            | CallbackEvent::AttributeValue { .. }
            | CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }

    fn open(&mut self, name: &[u8]) {
        let hides = self.hides(name);
        match &mut self.hidden {
            Some((hidden, depth)) if hidden == name => *depth += 1,
            Some(_) => {}
            None if hides => self.hidden = Some((name.to_vec(), 1)),
            None => {
                self.part(name);
                if let Some(level) = heading_level(name) {
                    self.end_heading();
                    self.heading = Some((level, self.extracted.text.len()));
                }
                match name {
                    b"pre" => self.verbatim += 1,
                    b"li" => self.item(),
                    _ => {}
                }
            }
        }
    }

    /// Only in SVG does a slash end an element.
    fn close_at_once(&mut self) {
        if self
            .hidden
            .as_ref()
            .is_some_and(|(name, depth)| name == b"svg" && *depth == 1)
        {
            self.hidden = None;
        }
    }

    fn close(&mut self, name: &[u8]) {
        match &mut self.hidden {
            Some((hidden, depth)) if hidden == name => {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            Some(_) => {}
            None => {
                if heading_level(name).is_some() {
                    self.end_heading();
                }
                if name == b"pre" {
                    self.verbatim = self.verbatim.saturating_sub(1);
                }
                self.part(name);
            }
        }
    }

    fn hides(&self, name: &[u8]) -> bool {
        match self.left_out {
            LeftOut::UnreadAndLinks => name == b"nav" || HIDDEN.contains(&name),
            LeftOut::Unread => HIDDEN.contains(&name),
            LeftOut::Nothing => false,
        }
    }

    /// Sets what follows apart, as the element asks.
    fn part(&mut self, name: &[u8]) {
        let gap = match name {
            b"td" | b"th" => Gap::Space,
            _ if TIGHT.contains(&name) => Gap::Line,
            _ if BLOCKS.contains(&name) || heading_level(name).is_some() => Gap::Blank,
            _ => return,
        };
        self.gap = self.gap.max(gap);
    }

    fn item(&mut self) {
        self.fill_gap();
        self.extracted.text.push_str("- ");
    }

    fn write(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.verbatim > 0 {
            self.fill_gap();
            self.extracted.text.push_str(text);
            return;
        }
        let mut words = text.split_ascii_whitespace().peekable();
        if words.peek().is_none() || text.starts_with(|c: char| c.is_ascii_whitespace()) {
            self.gap = self.gap.max(Gap::Space);
        }
        while let Some(word) = words.next() {
            self.fill_gap();
            self.extracted.text.push_str(word);
            if words.peek().is_some() || text.ends_with(|c: char| c.is_ascii_whitespace()) {
                self.gap = self.gap.max(Gap::Space);
            }
        }
    }

    fn fill_gap(&mut self) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        let text = &mut self.extracted.text;
        let begins = text.is_empty() || (gap == Gap::Space && text.ends_with([' ', '\n']));
        if !begins {
            text.push_str(gap.text());
        }
    }

    fn end_heading(&mut self) {
        let Some((level, from)) = self.heading.take() else {
            return;
        };
        let written = &self.extracted.text[from..];
        let title = written.trim();
        if !title.is_empty() {
            let at = from + (written.len() - written.trim_start().len());
            let mark = heading(at, level, title);
            self.extracted.marks.push(mark);
        }
    }
}

fn heading_level(name: &[u8]) -> Option<u8> {
    match name {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    }
}
