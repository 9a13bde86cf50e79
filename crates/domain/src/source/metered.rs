//! The parser's input, which counts the tokens that the parser makes.
//!
//! The parser makes all tokens of a `[…]` or `{…}` before it returns the first event, so counting events comes too late:
//! 15 MiB of commas are 15 million tokens by then. When the limit is reached, the input appears to end, and the parser
//! stops.

use saphyr_parser::input::SkipTabs;
use saphyr_parser::{Input, StrInput};

use super::allowance::Meter;

/// The scanner tests for it exactly once before each token: this is the hook for counting.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A text that ends where its meter reaches a limit.
pub(super) struct Metered<'t, 'm> {
    text: StrInput<'t>,
    meter: &'m Meter<'m>,
}

impl<'t, 'm> Metered<'t, 'm> {
    pub(super) fn new(text: &'t str, meter: &'m Meter<'m>) -> Self {
        Self {
            text: StrInput::new(text),
            meter,
        }
    }

    /// The rest of the text, for looking ahead.
    fn left(&self) -> StrInput<'t> {
        match self.meter.over() {
            None => self.text,
            Some(_) => StrInput::new(""),
        }
    }

    /// The rest of the text, for consuming.
    fn open(&mut self) -> &mut StrInput<'t> {
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
        self.open().skip_n(count);
    }

    fn peek(&self) -> char {
        self.left().peek()
    }

    fn peek_nth(&self, n: usize) -> char {
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
