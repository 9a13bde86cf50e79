//! The parser's input, which counts the parser's tokens, and presents a pair of escapes as one.
//!
//! The parser creates all tokens of a `[…]` or `{…}` before it returns the first event, so counting events is too late:
//! 15 MiB of commas are 15 million tokens by then. When the limit is reached, the input appears to end, and the parser
//! stops.
//!
//! The parser does not support a character written as two escapes, as in JSON: `\ud83d\ude00`. The input presents
//! `\U0001f600` instead. The columns of the following text on the line are two too low.

use std::cell::Cell;

use saphyr_parser::input::SkipTabs;
use saphyr_parser::{Input, StrInput};

use super::allowance::Meter;
use super::escape;

/// The scanner tests for it exactly once before each token: this is the hook for counting.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Digits of the long escape, `\U0001f600`.
const LONG_DIGITS: usize = 8;

/// A text that appears to end when its meter reaches a limit.
pub(super) struct Metered<'t, 'm> {
    text: StrInput<'t>,
    meter: &'m Meter<'m>,
    joined: Cell<Joined>,
}

/// The part of a pair of escapes that the parser has seen.
#[derive(Debug, Clone, Copy)]
enum Joined {
    Nothing,
    /// `\U`, after which the parser consumes two characters.
    Begun(char),
    /// The digits, after which the parser consumes eight characters.
    Digits(char),
}

impl<'t, 'm> Metered<'t, 'm> {
    pub(super) fn new(text: &'t str, meter: &'m Meter<'m>) -> Self {
        Self {
            text: StrInput::new(text),
            meter,
            joined: Cell::new(Joined::Nothing),
        }
    }

    /// Returns the rest of the text, for looking ahead.
    fn left(&self) -> StrInput<'t> {
        match self.meter.over() {
            None => self.text,
            Some(_) => StrInput::new(""),
        }
    }

    /// Returns the character of the two escapes at the beginning of the rest.
    fn pair(&self) -> Option<char> {
        let left = self.left();
        let start: String = (0..escape::PAIR).map(|n| left.peek_nth(n)).collect();
        escape::pair(&start)
    }

    /// Returns the rest of the text, for consuming.
    fn open(&mut self) -> &mut StrInput<'t> {
        self.joined.set(Joined::Nothing);
        if self.meter.over().is_some() {
            self.text = StrInput::new("");
        }
        &mut self.text
    }
}

impl Input for Metered<'_, '_> {
    fn lookahead(&mut self, count: usize) {
        self.text.lookahead(count);
    }

    fn buflen(&self) -> usize {
        self.text.buflen()
    }

    fn bufmaxlen(&self) -> usize {
        self.text.bufmaxlen()
    }

    fn raw_read_ch(&mut self) -> char {
        self.open().raw_read_ch()
    }

    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        self.open().raw_read_non_breakz_ch()
    }

    fn skip(&mut self) {
        self.open().skip();
    }

    fn skip_n(&mut self, count: usize) {
        match (self.joined.get(), count) {
            (Joined::Begun(character), 2) => {
                self.open().skip_n(count);
                self.joined.set(Joined::Digits(character));
            }
            (Joined::Digits(_), LONG_DIGITS) => self.open().skip_n(escape::PAIR - 2),
            (Joined::Nothing | Joined::Begun(_) | Joined::Digits(_), _) => {
                self.open().skip_n(count);
            }
        }
    }

    fn peek(&self) -> char {
        self.left().peek()
    }

    fn peek_nth(&self, n: usize) -> char {
        if let Joined::Digits(character) = self.joined.get()
            && n < LONG_DIGITS
        {
            let shift = 4 * (LONG_DIGITS - 1 - n);
            return char::from_digit((u32::from(character) >> shift) & 0xf, 16).unwrap_or('0');
        }
        // In double quotes, the parser uses this call for the escaped character after a backslash.
        if n == 1
            && self.left().next_2_are('\\', 'u')
            && let Some(character) = self.pair()
        {
            self.joined.set(Joined::Begun(character));
            return 'U';
        }
        self.left().peek_nth(n)
    }

    fn peek_opt(&self) -> Option<char> {
        self.left().peek_opt()
    }

    fn next_char_is(&self, c: char) -> bool {
        if c == BYTE_ORDER_MARK {
            self.meter.token();
        }
        self.left().next_char_is(c)
    }

    fn next_2_are(&self, c1: char, c2: char) -> bool {
        self.left().next_2_are(c1, c2)
    }

    fn next_3_are(&self, c1: char, c2: char, c3: char) -> bool {
        self.left().next_3_are(c1, c2, c3)
    }

    fn next_is_document_indicator(&self) -> bool {
        self.left().next_is_document_indicator()
    }

    fn next_is_document_start(&self) -> bool {
        self.left().next_is_document_start()
    }

    fn next_is_document_end(&self) -> bool {
        self.left().next_is_document_end()
    }

    fn skip_ws_to_eol(&mut self, skip_tabs: SkipTabs) -> (usize, Result<SkipTabs, &'static str>) {
        self.open().skip_ws_to_eol(skip_tabs)
    }

    fn skip_while_non_breakz(&mut self) -> usize {
        self.open().skip_while_non_breakz()
    }

    /// Reads a word of a directive. The parser keeps each, so it counts as a token.
    fn fetch_while_is_yaml_non_space(&mut self, out: &mut String) -> usize {
        self.meter.token();
        self.open().fetch_while_is_yaml_non_space(out)
    }
}
