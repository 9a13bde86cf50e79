//! Classifies a text of a template before parsing: whether it has only names, or expressions and blocks too; and
//! whether it is short and flat enough for the parser, whose recursion is as deep as its input nests. The tokens are
//! those of the parser, so that both count equally. Must not know values.

use charter_contract::bounds::{TEMPLATE_BYTES, TEMPLATE_OPERATORS};
use charter_contract::deeply::deeply;
use minijinja::machinery::{self, Token};
use minijinja::syntax::SyntaxConfig;

use super::RenderError;

/// Names that are literal values.
const LITERALS: [&str; 6] = ["true", "True", "false", "False", "none", "None"];

/// The parser's name for a text in errors; a text has no file.
const UNNAMED: &str = "<string>";

/// A text of a template, within its limits.
#[derive(Debug)]
pub(super) enum Text<'t> {
    /// Text, and names to replace by values.
    Plain(Vec<Piece<'t>>),
    /// Expressions or blocks, which must be evaluated.
    Program(&'t str),
}

/// A part of a text without expressions.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Unmodified text.
    Text(&'t str),
    /// A dotted name.
    Name(String),
}

impl<'t> Text<'t> {
    /// Classifies a text without parsing its expressions.
    pub(super) fn read(text: &'t str) -> Result<Self, RenderError> {
        if text.len() > TEMPLATE_BYTES {
            return Err(RenderError::too_long(text));
        }
        let tokens = machinery::tokenize(text, false, SyntaxConfig::default());
        let tokens: Vec<Token<'t>> = tokens
            .map(|token| token.map(|(token, _)| token))
            .collect::<Result<_, _>>()
            .map_err(|error| RenderError::syntax(text, &error))?;
        if !is_flat(&tokens) {
            return Err(RenderError::too_many_operators(text));
        }
        Ok(match pieces(&tokens) {
            Some(pieces) => Self::Plain(pieces),
            None => Self::Program(text),
        })
    }

    /// Checks whether the parser accepts it. Nothing is evaluated.
    pub(super) fn check(&self) -> Result<(), RenderError> {
        let Self::Program(text) = self else {
            return Ok(());
        };
        deeply(|| machinery::parse(text, UNNAMED, SyntaxConfig::default()).map(drop))
            .map_err(|error| RenderError::syntax(text, &error))
    }
}

/// Returns whether no tag exceeds the depth limit of the parser and of tree walkers.
///
/// Each level of an expression needs an operator of its tag. The parser bounds nested statements, except for `elif`,
/// which nests within the preceding one.
fn is_flat(tokens: &[Token<'_>]) -> bool {
    let (mut operators, mut branches) = (0, 0);
    let mut opens_block = false;
    tokens.iter().all(|token| {
        match token {
            Token::VariableStart | Token::BlockStart => operators = 0,
            Token::Ident("elif") if opens_block => branches += 1,
            other => operators += usize::from(is_operator(other)),
        }
        opens_block = matches!(token, Token::BlockStart);
        operators <= TEMPLATE_OPERATORS && branches <= TEMPLATE_OPERATORS
    })
}

/// Returns whether a token can nest one expression within another. An `else` follows an `if`.
fn is_operator(token: &Token<'_>) -> bool {
    matches!(
        token,
        Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::FloorDiv
            | Token::Pow
            | Token::Mod
            | Token::Dot
            | Token::Tilde
            | Token::Pipe
            | Token::Eq
            | Token::Ne
            | Token::Gt
            | Token::Gte
            | Token::Lt
            | Token::Lte
            | Token::BracketOpen
            | Token::ParenOpen
            | Token::BraceOpen
            | Token::Ident("not" | "and" | "or" | "in" | "is" | "if")
    )
}

/// Returns the pieces of a text without expressions; `None` for any other text.
fn pieces<'t>(tokens: &[Token<'t>]) -> Option<Vec<Piece<'t>>> {
    let mut pieces = Vec::new();
    let mut rest = tokens.iter();
    while let Some(token) = rest.next() {
        match *token {
            Token::TemplateData(text) => pieces.push(Piece::Text(text)),
            Token::VariableStart => {
                let tokens = rest.as_slice();
                let end = tokens
                    .iter()
                    .position(|token| matches!(token, Token::VariableEnd))?;
                let (inside, after) = tokens.split_at(end);
                pieces.push(Piece::Name(name(inside)?));
                rest = after.iter();
                rest.next();
            }
            _ => return None,
        }
    }
    Some(pieces)
}

/// Returns a dotted name of fields and item indexes.
fn name(tokens: &[Token<'_>]) -> Option<String> {
    let [Token::Ident(first), rest @ ..] = tokens else {
        return None;
    };
    if LITERALS.contains(first) {
        return None;
    }
    let mut name = (*first).to_owned();
    let (parts, remainder) = rest.as_chunks::<2>();
    for part in parts {
        name.push('.');
        match part {
            [Token::Dot, Token::Ident(field)] => name.push_str(field),
            [Token::Dot, Token::Int(index)] => name.push_str(&index.to_string()),
            _ => return None,
        }
    }
    remainder.is_empty().then_some(name)
}
