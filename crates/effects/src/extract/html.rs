//! HTML: converts a stream of tokens to lines of text. No tree is built, so that depth costs nothing.
//!
//! Tokens follow the WHATWG specification, section 13.2.5 (html5gum). Parts that people do not read (scripts, styles,
//! navigation, links of headings to themselves) are left out. An empty line separates blocks; lines and spaces of `pre`
//! are kept.

mod pausing;

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use self::pausing::PausingReader;
use super::plain::{plain, without_anchor_mark};
use super::{Extracted, heading};

/// Elements whose content is not displayed.
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
/// Elements that begin on their own line.
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

/// The content that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    /// Content that is not displayed, and lists of links (`nav`).
    UnreadAndLinks,
    /// Content that is not displayed.
    Unread,
    /// Nothing.
    Nothing,
}

/// Extracts the text of a page. Lists of links are left out, unless one of them is never closed.
pub(super) fn extract(page: &str) -> Extracted {
    let written = render(page, LeftOut::UnreadAndLinks);
    match written.hidden {
        Some((name, _)) if name == b"nav" => render(page, LeftOut::Unread).extracted,
        Some(_) | None => written.extracted,
    }
}

/// Extracts the text of a line such as a title with some bold words. If a hidden element is never closed, the line only
/// mentions tags; then only the tags are removed.
pub(super) fn line(text: &str) -> String {
    let written = render(text, LeftOut::Unread);
    let written = match written.hidden {
        Some(_) => render(text, LeftOut::Nothing),
        None => written,
    };
    let words: Vec<&str> = written.extracted.text.split_whitespace().collect();
    words.join(" ")
}

fn render(page: &str, left_out: LeftOut) -> Writer {
    let mut writer = Writer::new(left_out);
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        writer.read(&event);
        None::<Infallible>
    });
    emitter.naively_switch_states(left_out != LeftOut::Nothing);
    // The items are pauses, after which the tokenizer continues.
    Tokenizer::new_with_emitter(PausingReader::new(page), emitter).for_each(drop);
    writer.end_heading();
    writer
}

/// The least separator between two words.
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

/// The text written so far.
struct Writer {
    extracted: Extracted,
    left_out: LeftOut,
    gap: Gap,
    /// Number of open `pre` elements.
    verbatim: usize,
    /// The open hidden element, and the number of open elements with its name.
    hidden: Option<(Vec<u8>, usize)>,
    /// Level and beginning of the open heading.
    heading: Option<(u8, usize)>,
    /// The open link.
    link: Option<Link>,
    /// The attribute that is being read.
    attribute: Attribute,
}

/// A link, and the text position before it.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// Where its text begins.
    at: usize,
    gap: Gap,
    target: Target,
}

/// The target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A fragment of a page.
    Place,
    /// Anything else.
    Other,
}

/// The attribute that the next value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attribute {
    /// The `href` of the link that begins.
    Href,
    /// Another attribute of that link.
    OfLink,
    /// An attribute of another element.
    OfOther,
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
            link: None,
            attribute: Attribute::OfOther,
        }
    }

    fn read(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.open(name),
            CallbackEvent::CloseStartTag { self_closing } => {
                self.attribute = Attribute::OfOther;
                if *self_closing {
                    self.close_at_once();
                }
            }
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => self.write(&String::from_utf8_lossy(value)),
            CallbackEvent::AttributeName { name } => self.name_attribute(name),
            CallbackEvent::AttributeValue { value } => self.read_target(value),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }

    fn open(&mut self, name: &[u8]) {
        self.attribute = Attribute::OfOther;
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
                    b"a" => self.begin_link(),
                    _ => {}
                }
            }
        }
    }

    fn begin_link(&mut self) {
        self.end_link();
        self.attribute = Attribute::OfLink;
        self.link = Some(Link {
            at: self.extracted.text.len(),
            gap: self.gap,
            target: Target::Other,
        });
    }

    fn name_attribute(&mut self, name: &[u8]) {
        if self.attribute != Attribute::OfOther {
            self.attribute = match name {
                b"href" => Attribute::Href,
                _ => Attribute::OfLink,
            };
        }
    }

    fn read_target(&mut self, value: &[u8]) {
        if let Some(link) = &mut self.link
            && self.attribute == Attribute::Href
            && value.contains(&b'#')
        {
            link.target = Target::Place;
        }
    }

    /// Removes a link to a fragment that has no word in it: generators put these beside headings, and as arrows back.
    fn end_link(&mut self) {
        let Some(Link { at, gap, target }) = self.link.take() else {
            return;
        };
        let text = &mut self.extracted.text;
        let is_bare = !text[at..].contains(char::is_alphanumeric);
        if target == Target::Other || !is_bare {
            return;
        }
        text.truncate(at);
        self.gap = self.gap.max(gap);
        self.extracted.marks.retain(|mark| mark.at < at);
        if let Some((_, from)) = &mut self.heading {
            *from = (*from).min(at);
        }
    }

    /// A slash closes an element only in SVG.
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
                match name {
                    b"pre" => self.verbatim = self.verbatim.saturating_sub(1),
                    b"a" => self.end_link(),
                    _ => {}
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

    /// Separates the following text as the element requires.
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
        let text = plain(text);
        let text: &str = &text;
        if self.hidden.is_some() || text.is_empty() {
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
        let text = &mut self.extracted.text;
        text.truncate(from + without_anchor_mark(&text[from..]).len());
        let written = &text[from..];
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
