//! Measures how deep a filter nests. The recursion of the lexer, the parser, the compiler and the destructor of the
//! tree is equally deep.

use charter_contract::bounds::{JQ_BRACKETS, JQ_LEVELS, JQ_OPERATORS};
use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};

use super::FilterError;
use crate::nesting::Nesting;

/// Words that join or contain terms.
const WORDS: [&str; 11] = [
    "and", "as", "catch", "def", "elif", "foreach", "if", "label", "or", "reduce", "try",
];

/// Words after which a comma within braces may join terms, instead of fields.
const COMMAS_JOIN: [&str; 3] = ["def", "if", "label"];

/// Symbols that do not join terms.
const SEPARATORS: [&str; 6] = [":", ";", "?", ")", "]", "}"];

/// The maximum number of levels that an operator adds in jaq's terms. A pipe and a comma add one.
const LEVELS: usize = 3;

/// Checks that there are few enough brackets for the lexer, whose recursion is as deep as their nesting.
///
/// # Errors
/// [`FilterError::TooDeep`].
pub(super) fn count_brackets(source: &str) -> Result<(), FilterError> {
    if source.matches(['(', '[', '{']).count() > JQ_BRACKETS {
        let message = format!("has more than {JQ_BRACKETS} brackets (JQ_BRACKETS)");
        return Err(FilterError::TooDeep(message));
    }
    Ok(())
}

/// Checks that a filter nests few enough levels. If the lexer rejects the filter, the parser reports the error with its
/// location.
///
/// # Errors
/// [`FilterError::TooDeep`].
pub(super) fn measure(source: &str) -> Result<(), FilterError> {
    let Ok(tokens) = Lexer::new(source).lex() else {
        return Ok(());
    };
    let mut nesting = Nesting::default();
    read(&tokens, true, &mut nesting);
    let levels = nesting.brackets();
    if levels > JQ_LEVELS {
        return Err(FilterError::TooDeep(format!(
            "nests {levels} levels deep, and the limit is {JQ_LEVELS} (JQ_LEVELS)"
        )));
    }
    let operators = nesting.operators();
    if operators > JQ_OPERATORS {
        return Err(FilterError::TooDeep(format!(
            "has {operators} operators and keywords within each other, and the limit is {JQ_OPERATORS} (JQ_OPERATORS)"
        )));
    }
    Ok(())
}

/// Measures the contents of brackets. All operators there count for each of their operands: the text after the end of a
/// definition or a condition still belongs to it.
fn read(tokens: &[Token<&str>], mut commas_join: bool, nesting: &mut Nesting) {
    for Token(text, kind) in tokens {
        match kind {
            Tok::Block(within) => block(text, within, nesting),
            Tok::Str(parts) => {
                for part in parts {
                    if let StrPart::Term(Token(text, Tok::Block(within))) = part {
                        block(text, within, nesting);
                    }
                }
            }
            Tok::Word if WORDS.contains(text) => {
                commas_join |= COMMAS_JOIN.contains(text);
                nesting.operator();
            }
            Tok::Sym if *text == "," => {
                if commas_join {
                    nesting.operator();
                }
            }
            Tok::Sym if *text == "|" => nesting.operator(),
            Tok::Sym if !text.starts_with('.') && !SEPARATORS.contains(text) => {
                for _ in 0..LEVELS {
                    nesting.operator();
                }
            }
            Tok::Word | Tok::Sym | Tok::Var | Tok::Fmt | Tok::Num => {}
        }
    }
}

fn block(text: &str, within: &[Token<&str>], nesting: &mut Nesting) {
    nesting.open();
    read(within, !text.starts_with('{'), nesting);
    nesting.close();
}
