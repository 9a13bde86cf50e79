//! Limits of a Cedar text before parsing. The recursion of Cedar's parser and printer is as deep as a rule nests, and
//! they do not check the stack.

use charter_contract::bounds::{
    CEDAR_BRACKETS, CEDAR_BYTES, CEDAR_LEVELS, CEDAR_LIKE_BYTES, CEDAR_OPERATORS, CEDAR_RULES,
};

use super::fault::CedarFault;
use crate::nesting::Nesting;

/// The measures of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) rules: usize,
    /// The number of operators, members and calls in all rules.
    pub(super) operators: usize,
}

/// Measures the tokens of a text.
///
/// # Errors
/// The first limit that is exceeded.
pub(super) fn shape(text: &str) -> Result<Shape, CedarFault> {
    if text.len() > CEDAR_BYTES {
        return Err(CedarFault::new(format!(
            "the Cedar text has {} bytes; the limit is {CEDAR_BYTES}",
            text.len()
        )));
    }
    let mut scan = Scan {
        text,
        at: 0,
        shape: Shape::default(),
        brackets: 0,
        rule: Rule::default(),
    };
    while let Some(byte) = scan.byte(0) {
        scan.token(byte)?;
    }
    if scan.rule.is_begun {
        scan.end_rule()?;
    }
    Ok(scan.shape)
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    shape: Shape,
    brackets: usize,
    rule: Rule,
}

/// The current rule.
#[derive(Default)]
struct Rule {
    /// Whether it has a token.
    is_begun: bool,
    start: usize,
    operators: usize,
    nesting: Nesting,
    /// Whether an operand has just ended, to which a following bracket would apply.
    after_operand: bool,
    /// Whether the preceding token is `like`, so that a text is its pattern.
    after_like: bool,
}

impl Scan<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Skips a token, or the text between two tokens.
    fn token(&mut self, first: u8) -> Result<(), CedarFault> {
        if first.is_ascii_whitespace() {
            self.at += 1;
            return Ok(());
        }
        if (first, self.byte(1)) == (b'/', Some(b'/')) {
            self.pass(|byte| byte != b'\n' && byte != b'\r');
            return Ok(());
        }
        if !self.rule.is_begun {
            self.rule.is_begun = true;
            self.rule.start = self.at;
        }
        match first {
            b'"' => return self.string(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => {
                self.pass(|byte| byte.is_ascii_digit());
                self.operand();
            }
            b'(' | b'[' | b'{' => return self.open(first),
            b')' | b']' | b'}' => {
                self.at += 1;
                self.rule.nesting.close();
                self.operand();
            }
            b';' => return self.semicolon(),
            _ => self.sign(first),
        }
        Ok(())
    }

    fn sign(&mut self, first: u8) {
        let second = self.byte(1);
        self.at += 1;
        self.rule.after_operand = false;
        self.rule.after_like = false;
        match (first, second) {
            (b'&', Some(b'&')) | (b'|', Some(b'|')) | (b'=' | b'!' | b'<' | b'>', Some(b'=')) => {
                self.at += 1;
                self.operator();
            }
            (b'=' | b'!' | b'<' | b'>' | b'&' | b'|' | b'+' | b'-' | b'*' | b'/' | b'%', _) => {
                self.operator();
            }
            (b':', Some(b':')) => self.at += 1,
            (b'.', _) => {
                self.rule.operators += 1;
                self.rule.nesting.postfix();
            }
            (b',' | b':', _) => self.rule.nesting.separator(),
            _ => {}
        }
    }

    /// Reads an identifier or a keyword. A keyword that is the name of a member counts as a keyword.
    fn word(&mut self) {
        let start = self.at;
        self.pass(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = self.text.get(start..self.at).unwrap_or_default();
        self.operand();
        match word {
            "like" => {
                self.operator();
                self.rule.after_like = true;
            }
            "in" | "has" | "is" | "if" => self.operator(),
            "then" | "else" => {
                self.rule.nesting.operand_ends();
                self.rule.after_operand = false;
            }
            // All conditions of a rule are combined into one.
            "when" | "unless" if self.rule.nesting.is_closed() => self.operator(),
            _ => {}
        }
    }

    fn operator(&mut self) {
        self.rule.operators += 1;
        self.rule.nesting.operator();
        self.rule.after_operand = false;
    }

    fn operand(&mut self) {
        self.rule.after_operand = true;
        self.rule.after_like = false;
    }

    fn open(&mut self, bracket: u8) -> Result<(), CedarFault> {
        self.brackets += 1;
        if self.brackets > CEDAR_BRACKETS {
            return Err(CedarFault::new(format!(
                "the Cedar text has more than {CEDAR_BRACKETS} brackets (CEDAR_BRACKETS); split the policy"
            )));
        }
        if self.rule.after_operand && bracket != b'{' {
            self.rule.operators += 1;
            self.rule.nesting.postfix();
        }
        self.at += 1;
        self.rule.after_operand = false;
        self.rule.nesting.open();
        Ok(())
    }

    fn string(&mut self) -> Result<(), CedarFault> {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
        let bytes = (self.at - start).saturating_sub(2);
        if self.rule.after_like && bytes > CEDAR_LIKE_BYTES {
            return Err(CedarFault {
                span: Some(start..self.at),
                ..CedarFault::new(format!(
                    "the pattern of this `like` has {bytes} bytes; the limit is {CEDAR_LIKE_BYTES} (CEDAR_LIKE_BYTES)"
                ))
            });
        }
        self.operand();
        Ok(())
    }

    /// Ends a rule. Within brackets, where Cedar searches for the closing one, it ends nothing.
    fn semicolon(&mut self) -> Result<(), CedarFault> {
        self.at += 1;
        if self.rule.nesting.is_closed() {
            return self.end_rule();
        }
        self.rule.nesting.separator();
        self.rule.after_operand = false;
        Ok(())
    }

    fn end_rule(&mut self) -> Result<(), CedarFault> {
        let rule = std::mem::take(&mut self.rule);
        self.shape.rules += 1;
        self.shape.operators += rule.operators;
        if self.shape.rules > CEDAR_RULES {
            return Err(CedarFault::new(format!(
                "the Cedar text has more than {CEDAR_RULES} rules (CEDAR_RULES); split the policy"
            )));
        }
        let refused = |message: String| {
            Err(CedarFault {
                advice: Some("split the rule".to_owned()),
                span: Some(rule.start..self.at),
                ..CedarFault::new(message)
            })
        };
        if rule.operators > CEDAR_OPERATORS {
            return refused(format!(
                "the rule has {} operators, members and calls; the limit is {CEDAR_OPERATORS} (CEDAR_OPERATORS)",
                rule.operators
            ));
        }
        let levels = rule.nesting.brackets().max(rule.nesting.operators());
        if levels > CEDAR_LEVELS {
            return refused(format!(
                "the rule nests {levels} levels deep; the limit is {CEDAR_LEVELS} (CEDAR_LEVELS)"
            ));
        }
        Ok(())
    }

    fn pass(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.byte(0).is_some_and(&belongs) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests;
