//! Terms that begin with a word: conditions, folds and calls.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::Term;

use super::terms::{self, Tree};
use super::{Fault, KEYWORDS, MODULES, Parsed, Parser};
use crate::jq::natives::patterns;

impl<'s> Parser<'s, '_> {
    /// Parses a keyword with its parts, or a call.
    pub(super) fn named(&mut self) -> Parsed<'s> {
        let name = self.word();
        match name {
            "if" => self.condition(),
            "try" => {
                self.next();
                let body = self.term()?;
                if self.word() != "catch" {
                    return Ok(terms::attempt(body, None));
                }
                self.next();
                Ok(terms::attempt(body, Some(self.term()?)))
            }
            "reduce" | "foreach" => self.fold(),
            "break" => {
                self.next();
                Ok(Term::Break(self.variable()?))
            }
            name if name.contains("::") => Err(Fault::Refused(MODULES, name)),
            name if KEYWORDS.contains(&name) => Err(self.expected("term")),
            name => {
                self.next();
                let arguments = self.arguments()?;
                if !self.defined.contains(&name)
                    && let Err(message) = check_patterns(name, &arguments)
                {
                    return Err(Fault::Pattern(message, name));
                }
                Ok(terms::called(name, arguments))
            }
        }
    }

    /// Parses the arguments between parentheses, if there are any.
    fn arguments(&mut self) -> Parsed<'s, Vec<Tree<'s>>> {
        let Some(tokens) = self.bracket('(') else {
            return Ok(Vec::new());
        };
        self.within(tokens, ")", |parser| {
            let mut arguments = vec![parser.query()?];
            while parser.take(";") {
                arguments.push(parser.query()?);
            }
            Ok(arguments)
        })
    }

    fn condition(&mut self) -> Parsed<'s> {
        let mut branches = Vec::new();
        loop {
            // `if` or `elif`
            self.next();
            let test = self.query()?;
            self.word_of("then")?;
            branches.push((test, self.query()?));
            match self.word() {
                "elif" => {}
                "else" => {
                    self.next();
                    let last = self.query()?;
                    self.word_of("end")?;
                    return Ok(Term::IfThenElse(branches, Some(Box::new(last))));
                }
                "end" => return self.read(Term::IfThenElse(branches, None)),
                _ => return Err(self.expected("else or end")),
            }
        }
    }

    fn fold(&mut self) -> Parsed<'s> {
        let name = self.word();
        self.next();
        let source = self.expression(0)?;
        self.word_of("as")?;
        let mut patterns = self.patterns()?;
        let at = self.found();
        let (Some(pattern), true) = (patterns.pop(), patterns.is_empty()) else {
            let message = "`?//` is for `as … |` alone: bind the outputs first, and then fold them";
            return Err(Fault::Refused(message, at));
        };
        let mut arguments = self.arguments()?.into_iter();
        let parts = (arguments.next(), arguments.next(), arguments.next());
        match (name, parts, arguments.next()) {
            ("reduce", (Some(start), Some(update), None), None) => {
                Ok(terms::reduce(source, pattern, start, update))
            }
            ("foreach", (Some(start), Some(update), emitted), None) => {
                Ok(terms::foreach(source, pattern, start, update, emitted))
            }
            ("reduce", ..) => Err(Fault::Expected("(start; update)", at)),
            _ => Err(Fault::Expected(
                "(start; update) or (start; update; emitted)",
                at,
            )),
        }
    }
}

/// Checks the literal patterns of a call.
fn check_patterns(name: &str, arguments: &[Tree<'_>]) -> Result<(), String> {
    let flags = match (name, arguments.len()) {
        ("test" | "match" | "capture" | "scan" | "splits", 1) | ("sub" | "gsub", 2) => None,
        ("test" | "match" | "capture" | "scan" | "splits" | "split", 2) => arguments.get(1),
        ("sub" | "gsub", 3) => arguments.get(2),
        _ => return Ok(()),
    };
    let Some(pattern) = arguments.first().and_then(literal) else {
        return Ok(());
    };
    let flags = flags.and_then(literal).unwrap_or_default();
    patterns::check(&pattern, &flags)
}

/// Returns the value of a text without interpolations.
fn literal(term: &Tree<'_>) -> Option<String> {
    let Term::Str(None, pieces) = term else {
        return None;
    };
    let pieces = pieces.iter().map(|piece| match piece {
        StrPart::Str(text) => Some((*text).to_owned()),
        StrPart::Char(c) => Some(c.to_string()),
        StrPart::Term(_) => None,
    });
    pieces.collect()
}
