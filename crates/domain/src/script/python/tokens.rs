//! A scanner for Python sources, limited to what placeholders need: string literals, other quoted or commented text,
//! and whether a `return` statement is outside of functions. Scans valid Python of every version 3. For invalid sources
//! the result is approximate, or the first unclosed literal.

use std::ops::Range;

/// A string literal that is neither bytes nor formatted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    /// The letters before its quotes; may be empty.
    pub(super) prefix: Range<usize>,
    /// The contents between its quotes.
    pub(super) content: Range<usize>,
    /// Whether backslashes are ordinary characters.
    pub(super) is_raw: bool,
}

/// Text that is neither code nor such a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    Comment,
    Bytes,
    Formatted,
}

/// The result of scanning a source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// The literals in the order of the source; none is within another.
    pub(super) literals: Vec<Literal>,
    /// Other quoted or commented text, ordered by end. A formatted literal may contain others.
    pub(super) asides: Vec<(Range<usize>, Aside)>,
    /// Whether a `return` statement is outside of functions.
    pub(super) returns: bool,
}

/// An unclosed literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclosed {
    /// Its start.
    pub(super) at: usize,
}

/// Scans a source.
///
/// # Errors
/// The unclosed literal, because the source is then not Python.
pub(super) fn scan(source: &str) -> Result<Tokens, Unclosed> {
    let mut scanner = Scanner {
        source,
        bytes: source.as_bytes(),
        at: 0,
        inside: Vec::new(),
        line: Line::default(),
        brackets: 0,
        functions: Vec::new(),
        found: Tokens::default(),
    };
    while scanner.at < scanner.bytes.len() {
        match scanner.inside.last().copied() {
            None | Some(Inside::Field { .. }) => scanner.code()?,
            Some(Inside::Formatted(quotes)) => scanner.formatted(quotes)?,
            Some(Inside::Spec) => scanner.spec(),
        }
    }
    match scanner.outermost() {
        Some(at) => Err(Unclosed { at }),
        None => Ok(scanner.found),
    }
}

/// The parts of a formatted literal during scanning.
#[derive(Debug, Clone, Copy)]
enum Inside {
    /// Its text.
    Formatted(Quotes),
    /// A replacement field, with its number of open brackets.
    Field { brackets: usize },
    /// The format specification of a field.
    Spec,
}

/// The quotes of a literal.
#[derive(Debug, Clone, Copy)]
struct Quotes {
    /// The start of the literal, including its prefix.
    start: usize,
    quote: u8,
    is_triple: bool,
    is_raw: bool,
}

impl Quotes {
    fn length(self) -> usize {
        if self.is_triple { 3 } else { 1 }
    }

    fn unclosed(self) -> Unclosed {
        Unclosed { at: self.start }
    }
}

/// The current logical line.
#[derive(Debug, Default)]
struct Line {
    /// The start of the line of text.
    begins: usize,
    /// Its indentation, once it has a token.
    indent: Option<usize>,
    /// Whether its first token is `async`.
    is_async: bool,
}

struct Scanner<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    inside: Vec<Inside>,
    line: Line,
    /// The number of open brackets outside of literals.
    brackets: usize,
    /// Indentations of the functions that contain the line.
    functions: Vec<usize>,
    found: Tokens,
}

impl Scanner<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Returns the start of the outermost formatted literal that is being scanned.
    fn outermost(&self) -> Option<usize> {
        self.inside.iter().find_map(|inside| match inside {
            Inside::Formatted(quotes) => Some(quotes.start),
            Inside::Field { .. } | Inside::Spec => None,
        })
    }

    /// Scans one token of code.
    fn code(&mut self) -> Result<(), Unclosed> {
        let Some(byte) = self.byte(0) else {
            return Ok(());
        };
        match byte {
            b'#' => self.comment(),
            b'\n' | b'\r' => self.end_line(),
            b' ' | b'\t' | b'\x0c' => self.at += 1,
            b'\\' if matches!(self.byte(1), Some(b'\n' | b'\r')) => self.skip_escaped(),
            b'\'' | b'"' => {
                self.begin_token();
                return self.string(self.at..self.at);
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80..=0xff => return self.name(),
            b'0'..=b'9' => {
                self.begin_token();
                self.at = self.end_of_word();
            }
            _ => {
                self.begin_token();
                self.sign(byte);
            }
        }
        Ok(())
    }

    fn comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let end = self.at + length.unwrap_or(rest.len());
        self.found.asides.push((self.at..end, Aside::Comment));
        self.at = end;
    }

    /// Ends a line of text. The logical line ends too if no bracket is open.
    fn end_line(&mut self) {
        self.at += 1;
        if self.inside.is_empty() && self.brackets == 0 {
            self.line = Line {
                begins: self.at,
                ..Line::default()
            };
        }
    }

    /// Records the start of a token, and returns whether it is the first one of its logical line.
    fn begin_token(&mut self) -> bool {
        if self.line.indent.is_some() || !self.inside.is_empty() {
            return false;
        }
        let indent = indentation(&self.bytes[self.line.begins..self.at]);
        self.line.indent = Some(indent);
        while self.functions.last().is_some_and(|of| indent <= *of) {
            self.functions.pop();
        }
        true
    }

    /// Returns the end of the letters, digits and dots at this position.
    fn end_of_word(&self) -> usize {
        let is_of_word =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | 0x80..=0xff);
        let rest = self.bytes[self.at..].iter();
        self.at + rest.take_while(|byte| is_of_word(byte)).count()
    }

    /// Scans a name, or the prefix of a string.
    fn name(&mut self) -> Result<(), Unclosed> {
        let is_of_name =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..=0xff);
        let rest = self.bytes[self.at..].iter();
        let end = self.at + rest.take_while(|byte| is_of_name(byte)).count();
        let (start, source) = (self.at, self.source);
        let name = &source[start..end];
        let is_first = self.begin_token();
        if matches!(self.bytes.get(end), Some(b'\'' | b'"')) && is_prefix(name) {
            self.at = end;
            return self.string(start..end);
        }
        if self.inside.is_empty() {
            let begins_function = name == "def" && (is_first || self.line.is_async);
            if let Some(indent) = self.line.indent.filter(|_| begins_function) {
                self.functions.push(indent);
            }
            self.line.is_async = is_first && name == "async";
            self.found.returns |= name == "return" && self.functions.is_empty();
        }
        self.at = end;
        Ok(())
    }

    /// Scans a bracket or another sign.
    fn sign(&mut self, byte: u8) {
        self.at += 1;
        let brackets = match self.inside.last_mut() {
            Some(Inside::Field { brackets }) => brackets,
            Some(Inside::Formatted(_) | Inside::Spec) | None => &mut self.brackets,
        };
        match byte {
            b'(' | b'[' | b'{' => *brackets += 1,
            b')' | b']' | b'}' if *brackets > 0 => *brackets -= 1,
            b'}' => {
                // The end of a replacement field.
                self.inside.pop();
            }
            b':' if *brackets == 0 => {
                if let Some(field @ Inside::Field { .. }) = self.inside.last_mut() {
                    *field = Inside::Spec;
                }
            }
            _ => {}
        }
    }

    /// Scans a literal after its prefix.
    fn string(&mut self, prefix: Range<usize>) -> Result<(), Unclosed> {
        let Some(quote) = self.byte(0) else {
            return Ok(());
        };
        let has = |letters: [u8; 2]| {
            self.bytes[prefix.clone()]
                .iter()
                .any(|b| letters.contains(b))
        };
        let (is_formatted, is_bytes) = (has(*b"fF") || has(*b"tT"), has(*b"bB"));
        let quotes = Quotes {
            start: prefix.start,
            quote,
            is_triple: self.byte(1) == Some(quote) && self.byte(2) == Some(quote),
            is_raw: has(*b"rR"),
        };
        self.at += quotes.length();
        if is_formatted {
            self.inside.push(Inside::Formatted(quotes));
            return Ok(());
        }
        let begins = self.at;
        while !self.closes(quotes) {
            match self.byte(0) {
                Some(b'\\') => self.skip_escaped(),
                Some(b'\n' | b'\r') if !quotes.is_triple => return Err(quotes.unclosed()),
                Some(_) => self.at += 1,
                None => return Err(quotes.unclosed()),
            }
        }
        let content = begins..self.at;
        self.at += quotes.length();
        if is_bytes {
            self.found.asides.push((content, Aside::Bytes));
        } else {
            self.found.literals.push(Literal {
                prefix,
                content,
                is_raw: quotes.is_raw,
            });
        }
        Ok(())
    }

    /// Returns whether a literal with these quotes ends here.
    fn closes(&self, quotes: Quotes) -> bool {
        let mut ahead = 0..quotes.length();
        ahead.all(|ahead| self.byte(ahead) == Some(quotes.quote))
    }

    /// Skips a backslash and the escaped character; a line break may have two characters.
    fn skip_escaped(&mut self) {
        let is_break = self.byte(1) == Some(b'\r') && self.byte(2) == Some(b'\n');
        let end = self.at + if is_break { 3 } else { 2 };
        self.at = end.min(self.bytes.len());
    }

    /// Scans one part of a formatted literal's text.
    fn formatted(&mut self, quotes: Quotes) -> Result<(), Unclosed> {
        if self.closes(quotes) {
            self.at += quotes.length();
            self.inside.pop();
            let all = quotes.start..self.at;
            self.found.asides.push((all, Aside::Formatted));
            return Ok(());
        }
        match (self.byte(0), self.byte(1)) {
            (Some(b'\\'), Some(b'N')) if !quotes.is_raw && self.byte(2) == Some(b'{') => {
                let rest = &self.bytes[self.at..];
                let name = rest.iter().position(|byte| *byte == b'}');
                self.at += name.map_or(rest.len(), |close| close + 1);
            }
            // A backslash does not escape a brace.
            (Some(b'\\'), Some(b'{' | b'}')) => self.at += 1,
            (Some(b'\\'), _) => self.skip_escaped(),
            (Some(b'{'), Some(b'{')) => self.at += 2,
            (Some(b'{'), _) => {
                self.at += 1;
                self.inside.push(Inside::Field { brackets: 0 });
            }
            (Some(b'\n' | b'\r'), _) if !quotes.is_triple => return Err(quotes.unclosed()),
            _ => self.at += 1,
        }
        Ok(())
    }

    /// Scans one part of a format specification.
    fn spec(&mut self) {
        match self.byte(0) {
            Some(b'{') => self.inside.push(Inside::Field { brackets: 0 }),
            Some(b'}') => {
                self.inside.pop();
            }
            _ => {}
        }
        self.at += 1;
    }
}

/// Returns whether a name is the prefix of a following string.
fn is_prefix(name: &str) -> bool {
    let known = ["r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt"];
    known.iter().any(|prefix| name.eq_ignore_ascii_case(prefix))
}

/// Returns the column of an indentation: a tab advances to the next multiple of eight, a form feed resets it.
fn indentation(blanks: &[u8]) -> usize {
    blanks.iter().fold(0, |column, byte| match byte {
        b'\t' => (column / 8 + 1) * 8,
        b'\x0c' => 0,
        _ => column + 1,
    })
}
