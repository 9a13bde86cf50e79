//! The grammar of jq 1.8, over the tokens of jaq: operators bind as in jq, every form of pattern is supported, and
//! forbidden constructs are rejected with their location. Knows no values.

mod calls;
mod objects;
mod operators;
mod terms;

use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::path::{Opt, Part};

use self::operators::{Grouping, Operator};
use self::terms::Tree;
use super::faults::Fault;
use super::natives::FORMATS;

/// A part of a filter, or the fault in it.
type Parsed<'s, T = Tree<'s>> = Result<T, Fault<'s>>;

/// Words that are not functions.
const KEYWORDS: [&str; 19] = [
    "", "and", "as", "break", "catch", "def", "elif", "else", "end", "foreach", "if", "import",
    "include", "label", "module", "or", "reduce", "then", "try",
];

const MODULES: &str = "a filter loads no modules: write the definitions into it";

/// Parses a filter.
///
/// # Errors
/// The first [`Fault`].
pub(super) fn filter(source: &str) -> Parsed<'_> {
    read(source, |parser| parser.query())
}

/// Parses definitions.
///
/// # Errors
/// The first [`Fault`].
pub(super) fn definitions(source: &str) -> Parsed<'_, Vec<Def<&str, Tree<'_>>>> {
    read(source, |parser| {
        let mut definitions = Vec::new();
        while parser.word() == "def" {
            definitions.push(parser.definition()?);
        }
        Ok(definitions)
    })
}

fn read<'s, T>(
    source: &'s str,
    read: impl FnOnce(&mut Parser<'s, '_>) -> Parsed<'s, T>,
) -> Parsed<'s, T> {
    let tokens = Lexer::new(source).lex().map_err(Fault::Lexed)?;
    let mut parser = Parser {
        source,
        rest: &tokens,
        defined: Vec::new(),
    };
    let read = read(&mut parser)?;
    match parser.rest {
        [] => Ok(read),
        [_, ..] => Err(parser.expected("an operator or the end")),
    }
}

/// A parser that reads tokens from left to right; a bracket is one token that contains its contents.
struct Parser<'s, 't> {
    source: &'s str,
    rest: &'t [Token<&'s str>],
    /// The functions that the filter has defined so far.
    defined: Vec<&'s str>,
}

/// The tokens.
impl<'s, 't> Parser<'s, 't> {
    /// Returns the text of the next token, or the end of the filter.
    fn found(&self) -> &'s str {
        let end = || self.source.split_at(self.source.len()).1;
        self.rest.first().map_or_else(end, |token| token.0)
    }

    fn expected(&self, wanted: &'static str) -> Fault<'s> {
        Fault::Expected(wanted, self.found())
    }

    /// Returns the next token if it is a symbol, or else an empty text.
    fn symbol(&self) -> &'s str {
        match self.rest.first() {
            Some(Token(text, Tok::Sym)) => text,
            Some(_) | None => "",
        }
    }

    /// Returns the next token if it is a word, or else an empty text.
    fn word(&self) -> &'s str {
        match self.rest.first() {
            Some(Token(text, Tok::Word)) => text,
            Some(_) | None => "",
        }
    }

    fn next(&mut self) -> Option<&'t Token<&'s str>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Skips a symbol, if it is the next token.
    fn take(&mut self, symbol: &str) -> bool {
        let is_next = self.symbol() == symbol;
        if is_next {
            self.next();
        }
        is_next
    }

    fn symbol_of(&mut self, symbol: &'static str) -> Parsed<'s, ()> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(self.expected(symbol)),
        }
    }

    fn word_of(&mut self, word: &'static str) -> Parsed<'s, ()> {
        if self.word() != word {
            return Err(self.expected(word));
        }
        self.next();
        Ok(())
    }

    fn variable(&mut self) -> Parsed<'s, &'s str> {
        match self.rest.first() {
            Some(Token(name, Tok::Var)) if !name.contains("::") => {
                self.next();
                Ok(*name)
            }
            Some(_) | None => Err(self.expected("variable")),
        }
    }

    /// Returns the tokens within the next token, if it is this kind of bracket.
    fn bracket(&mut self, open: char) -> Option<&'t [Token<&'s str>]> {
        let Some(Token(text, Tok::Block(within))) = self.rest.first() else {
            return None;
        };
        if !text.starts_with(open) {
            return None;
        }
        self.next();
        Some(within)
    }

    /// Parses the tokens within brackets, up to the closing one.
    fn within<T>(
        &mut self,
        tokens: &'t [Token<&'s str>],
        close: &'static str,
        read: impl FnOnce(&mut Self) -> Parsed<'s, T>,
    ) -> Parsed<'s, T> {
        let outer = std::mem::replace(&mut self.rest, tokens);
        let read = read(self)?;
        self.symbol_of(close)?;
        self.rest = outer;
        Ok(read)
    }
}

/// The grammar, from pipes to parts of terms.
impl<'s, 't> Parser<'s, 't> {
    fn query(&mut self) -> Parsed<'s> {
        let mut left = self.element()?;
        while self.take(",") {
            let right = self.element()?;
            left = terms::join(left, BinaryOp::Comma, right);
        }
        match self.take("|") {
            true => Ok(terms::pipe(left, self.query()?)),
            false => Ok(left),
        }
    }

    /// Parses an operand of commas. Definitions, labels and variables extend to the end.
    fn element(&mut self) -> Parsed<'s> {
        match self.word() {
            "def" => {
                let mut definitions = Vec::new();
                while self.word() == "def" {
                    definitions.push(self.definition()?);
                }
                Ok(Term::Def(definitions, Box::new(self.query()?)))
            }
            "label" => {
                self.next();
                let label = self.variable()?;
                self.symbol_of("|")?;
                Ok(Term::Label(label, Box::new(self.query()?)))
            }
            "import" | "include" | "module" => Err(Fault::Refused(MODULES, self.found())),
            _ => {
                let source = self.expression(0)?;
                if self.word() != "as" {
                    return Ok(source);
                }
                self.next();
                let patterns = self.patterns()?;
                self.symbol_of("|")?;
                let body = self.query()?;
                Ok(terms::destructured(source, patterns, body))
            }
        }
    }

    fn definition(&mut self) -> Parsed<'s, Def<&'s str, Tree<'s>>> {
        self.word_of("def")?;
        let name = self.word();
        if name.contains("::") || KEYWORDS.contains(&name) {
            return Err(self.expected("identifier"));
        }
        self.next();
        self.defined.push(name);
        let mut parameters = Vec::new();
        if let Some(tokens) = self.bracket('(') {
            parameters = self.within(tokens, ")", Self::parameters)?;
        }
        self.symbol_of(":")?;
        let body = self.query()?;
        self.symbol_of(";")?;
        Ok(terms::definition(name, &parameters, body))
    }

    fn parameters(&mut self) -> Parsed<'s, Vec<&'s str>> {
        let mut parameters = Vec::new();
        loop {
            match self.rest.first() {
                Some(Token(name, Tok::Word | Tok::Var)) if !name.contains("::") => {
                    parameters.push(*name);
                }
                Some(_) | None => return Err(self.expected("argument")),
            }
            self.next();
            if !self.take(";") {
                return Ok(parameters);
            }
        }
    }

    /// Parses terms with operators of at least this precedence.
    fn expression(&mut self, least: u8) -> Parsed<'s> {
        let mut left = self.term()?;
        while let Some(operator) = self.operator().filter(|operator| operator.binds >= least) {
            self.next();
            let least = match operator.grouping {
                Grouping::Right => operator.binds,
                Grouping::Left | Grouping::None => operator.binds + 1,
            };
            let right = self.expression(least)?;
            left = operator.kind.join(left, right);
            if operator.grouping == Grouping::None
                && let Some(next) = self.operator()
                && next.binds == operator.binds
            {
                let message = "comparisons and assignments cannot be chained: write parentheses";
                return Err(Fault::Refused(message, self.found()));
            }
        }
        Ok(left)
    }

    fn operator(&self) -> Option<Operator> {
        match self.word() {
            word @ ("and" | "or") => Operator::read(word),
            _ => Operator::read(self.symbol()),
        }
    }

    /// Parses a term with its suffixes.
    fn term(&mut self) -> Parsed<'s> {
        if self.take("-") {
            return Ok(Term::Neg(Box::new(self.term()?)));
        }
        let mut term = self.primary()?;
        loop {
            let part = match self.rest {
                [Token("?", Tok::Sym), ..] => {
                    self.next();
                    term = terms::attempt(term, None);
                    continue;
                }
                [Token(text, Tok::Sym), ..] if field(text).is_some() => {
                    self.next();
                    Part::Index(terms::text(field(text).unwrap_or_default()))
                }
                [Token(".", Tok::Sym), Token(_, Tok::Str(_) | Tok::Fmt), ..] => {
                    self.next();
                    Part::Index(self.key()?)
                }
                [Token(".", Tok::Sym), Token(text, Tok::Block(within)), ..]
                    if text.starts_with('[') =>
                {
                    self.next();
                    self.next();
                    self.within(within, "]", Self::part)?
                }
                [Token(text, Tok::Block(within)), ..] if text.starts_with('[') => {
                    self.next();
                    self.within(within, "]", Self::part)?
                }
                _ => return Ok(term),
            };
            let optional = match self.take("?") {
                true => Opt::Optional,
                false => Opt::Essential,
            };
            term = terms::indexed(term, part, optional);
        }
    }

    /// Parses the contents of an index in brackets.
    fn part(&mut self) -> Parsed<'s, Part<Tree<'s>>> {
        if self.symbol() == "]" {
            return Ok(Part::Range(None, None));
        }
        if self.take(":") {
            return Ok(Part::Range(None, Some(self.query()?)));
        }
        let first = self.query()?;
        if !self.take(":") {
            return Ok(Part::Index(first));
        }
        match self.symbol() {
            "]" => Ok(Part::Range(Some(first), None)),
            _ => Ok(Part::Range(Some(first), Some(self.query()?))),
        }
    }

    fn primary(&mut self) -> Parsed<'s> {
        match self.rest {
            [Token(".", Tok::Sym), Token(digits, Tok::Num), ..] => self.fraction(digits),
            [Token(".", Tok::Sym), Token(_, Tok::Str(_) | Tok::Fmt), ..] => {
                self.next();
                let key = Part::Index(self.key()?);
                let optional = match self.take("?") {
                    true => Opt::Optional,
                    false => Opt::Essential,
                };
                Ok(terms::indexed(Term::Id, key, optional))
            }
            [Token(".", Tok::Sym), ..] => self.read(Term::Id),
            [Token("..", Tok::Sym), ..] => self.read(Term::Recurse),
            // Parsed as a path of the input.
            [Token(text, Tok::Sym), ..] if field(text).is_some() => Ok(Term::Id),
            [Token(digits, Tok::Num), ..] => self.read(Term::Num(*digits)),
            [Token("$__loc__", Tok::Var), ..] => {
                let term = terms::location(self.before());
                self.read(term)
            }
            [Token(_, Tok::Var), ..] => Ok(Term::Var(self.variable()?)),
            [Token(_, Tok::Str(_)), ..] => self.key(),
            [Token(name, Tok::Fmt), rest @ ..] => {
                if !FORMATS.contains(name) {
                    return Err(Fault::Refused("there is no such format", name));
                }
                match rest {
                    [Token(_, Tok::Str(_)), ..] => self.key(),
                    _ => self.read(terms::call(name, Vec::new())),
                }
            }
            [Token(_, Tok::Word), ..] => self.named(),
            [Token(_, Tok::Block(_)), ..] => self.bracketed(),
            [Token(_, Tok::Sym), ..] | [] => Err(self.expected("term")),
        }
    }

    /// Skips the token that a term was parsed from.
    fn read(&mut self, term: Tree<'s>) -> Parsed<'s> {
        self.next();
        Ok(term)
    }

    /// Returns the filter's text before the next token.
    fn before(&self) -> &'s str {
        let rest = self.found();
        let at = (rest.as_ptr() as usize).checked_sub(self.source.as_ptr() as usize);
        at.and_then(|at| self.source.get(..at)).unwrap_or_default()
    }

    /// `.5`
    fn fraction(&mut self, digits: &'s str) -> Parsed<'s> {
        let at = self.before().len();
        let written = self.source.get(at..at + 1 + digits.len());
        let written = written.filter(|written| written.ends_with(digits));
        match written {
            Some(written) => {
                self.next();
                self.read(Term::Num(written))
            }
            None => self.read(Term::Id),
        }
    }

    /// Parses a text, with or without a format.
    fn key(&mut self) -> Parsed<'s> {
        let format = match self.rest {
            [Token(name, Tok::Fmt), Token(_, Tok::Str(_)), ..] if FORMATS.contains(name) => {
                self.next();
                Some(*name)
            }
            _ => None,
        };
        let Some(Token(_, Tok::Str(pieces))) = self.rest.first() else {
            return Err(self.expected("string"));
        };
        self.next();
        let mut read = Vec::new();
        for piece in pieces {
            read.push(match piece {
                StrPart::Str(text) => StrPart::Str(*text),
                StrPart::Char(c) => StrPart::Char(*c),
                StrPart::Term(Token(_, Tok::Block(within))) => {
                    StrPart::Term(self.within(within, ")", Self::query)?)
                }
                StrPart::Term(token) => return Err(Fault::Expected("term", token.0)),
            });
        }
        Ok(terms::interpolated(format, read))
    }

    fn bracketed(&mut self) -> Parsed<'s> {
        if let Some(within) = self.bracket('(') {
            return self.within(within, ")", Self::query);
        }
        if let Some(within) = self.bracket('[') {
            if let [_] = within {
                return Ok(Term::Arr(None));
            }
            let items = self.within(within, "]", Self::query)?;
            return Ok(Term::Arr(Some(Box::new(items))));
        }
        match self.bracket('{') {
            Some(within) => self.within(within, "}", Self::object),
            None => Err(self.expected("term")),
        }
    }

    /// `pattern ?// pattern …`
    fn patterns(&mut self) -> Parsed<'s, Vec<Pattern<&'s str>>> {
        let mut patterns = vec![self.pattern()?];
        while let [Token("?", Tok::Sym), Token("//", Tok::Sym), ..] = self.rest {
            self.next();
            self.next();
            patterns.push(self.pattern()?);
        }
        Ok(patterns)
    }
}

/// Returns the name in `.name`.
fn field(symbol: &str) -> Option<&str> {
    let name = symbol.strip_prefix('.')?;
    (!name.is_empty() && name != ".").then_some(name)
}
