//! Objects and destructuring patterns.

use jaq_core::load::lex::{Tok, Token};
use jaq_core::load::parse::{Pattern, Term};

use super::terms::{self, Tree};
use super::{Fault, Parsed, Parser};

/// A field. Without a value, it takes the input's field of that name, or the variable's value.
type Field<'s> = (Tree<'s>, Option<Tree<'s>>);

impl<'s> Parser<'s, '_> {
    /// Parses the fields within braces.
    pub(super) fn object(&mut self) -> Parsed<'s> {
        let mut fields = Vec::new();
        while self.symbol() != "}" {
            fields.push(self.object_field()?);
            if !self.take(",") {
                break;
            }
        }
        Ok(Term::Obj(fields))
    }

    fn object_field(&mut self) -> Parsed<'s, Field<'s>> {
        let key = match self.rest {
            [Token("$__loc__", Tok::Var), ..] => {
                let location = terms::location(self.before());
                self.next();
                return Ok((terms::text("__loc__"), Some(location)));
            }
            [Token(_, Tok::Var), ..] => Term::Var(self.variable()?),
            [Token(name, Tok::Word), ..] if !name.contains("::") => {
                self.next();
                terms::text(name)
            }
            [Token(_, Tok::Str(_) | Tok::Fmt), ..] => self.key()?,
            [Token(text, Tok::Block(within)), ..] if text.starts_with('(') => {
                self.next();
                let key = self.within(within, ")", Self::query)?;
                if is_no_text(&key) {
                    return Err(Fault::Refused(
                        "a key must be a string: add `| tostring`",
                        text,
                    ));
                }
                self.symbol_of(":")?;
                return Ok((key, Some(self.field_value()?)));
            }
            _ => return Err(self.expected("key")),
        };
        match self.take(":") {
            true => Ok((key, Some(self.field_value()?))),
            false => Ok((key, None)),
        }
    }

    /// Parses terms with pipes, and without commas.
    fn field_value(&mut self) -> Parsed<'s> {
        let value = self.expression(0)?;
        match self.take("|") {
            true => Ok(terms::pipe(value, self.field_value()?)),
            false => Ok(value),
        }
    }

    pub(super) fn pattern(&mut self) -> Parsed<'s, Pattern<&'s str>> {
        if let Some(within) = self.bracket('[') {
            return self.within(within, "]", |parser| {
                let mut patterns = vec![parser.pattern()?];
                while parser.take(",") {
                    patterns.push(parser.pattern()?);
                }
                Ok(Pattern::Arr(patterns))
            });
        }
        if let Some(within) = self.bracket('{') {
            return self.within(within, "}", |parser| {
                let mut fields = Vec::new();
                parser.pattern_field(&mut fields)?;
                while parser.take(",") {
                    parser.pattern_field(&mut fields)?;
                }
                Ok(Pattern::Obj(fields))
            });
        }
        match self.variable() {
            Ok(name) => Ok(Pattern::Var(name)),
            Err(_) => Err(self.expected("pattern")),
        }
    }

    fn pattern_field(&mut self, fields: &mut Vec<(Tree<'s>, Pattern<&'s str>)>) -> Parsed<'s, ()> {
        let key = match self.rest {
            [Token(_, Tok::Var), ..] => {
                let name = self.variable()?;
                let key = terms::text(name.trim_start_matches('$'));
                fields.push((key.clone(), Pattern::Var(name)));
                if self.symbol() != ":" {
                    return Ok(());
                }
                key
            }
            [Token(name, Tok::Word), ..] if !name.contains("::") => {
                self.next();
                terms::text(name)
            }
            [Token(text, Tok::Block(within)), ..] if text.starts_with('(') => {
                self.next();
                self.within(within, ")", Self::query)?
            }
            _ => self.key()?,
        };
        self.symbol_of(":")?;
        let pattern = self.pattern()?;
        fields.push((key, pattern));
        Ok(())
    }
}

/// Returns whether a key is certainly not a text.
fn is_no_text(key: &Tree<'_>) -> bool {
    match key {
        Term::Num(_) | Term::Arr(_) | Term::Obj(_) => true,
        Term::Call("true" | "false" | "null", arguments) => arguments.is_empty(),
        _ => false,
    }
}
