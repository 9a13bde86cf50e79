//! The operators of jq, with their precedence.

use jaq_core::load::parse::BinaryOp;
use jaq_core::ops::{Cmp, Math};

use super::terms::{self, Tree};

/// An operator between two terms.
pub(super) struct Operator {
    /// The precedence; a higher number binds more tightly.
    pub(super) binds: u8,
    pub(super) grouping: Grouping,
    pub(super) kind: Kind,
}

/// The associativity of operators with the same precedence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    Left,
    Right,
    /// Non-associative.
    None,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Alternative,
    Assign,
    Update,
    UpdateBy(Math),
    UpdateMissing,
    Or,
    And,
    Compare(Cmp),
    Calculate(Math),
}

impl Operator {
    /// Returns the operator of a symbol or a word.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (binds, grouping, kind) = match text {
            "//" => (1, Grouping::Right, Kind::Alternative),
            "=" => (2, Grouping::None, Kind::Assign),
            "|=" => (2, Grouping::None, Kind::Update),
            "+=" => (2, Grouping::None, Kind::UpdateBy(Math::Add)),
            "-=" => (2, Grouping::None, Kind::UpdateBy(Math::Sub)),
            "*=" => (2, Grouping::None, Kind::UpdateBy(Math::Mul)),
            "/=" => (2, Grouping::None, Kind::UpdateBy(Math::Div)),
            "%=" => (2, Grouping::None, Kind::UpdateBy(Math::Rem)),
            "//=" => (2, Grouping::None, Kind::UpdateMissing),
            "or" => (3, Grouping::Left, Kind::Or),
            "and" => (4, Grouping::Left, Kind::And),
            "==" => (5, Grouping::None, Kind::Compare(Cmp::Eq)),
            "!=" => (5, Grouping::None, Kind::Compare(Cmp::Ne)),
            "<" => (5, Grouping::None, Kind::Compare(Cmp::Lt)),
            "<=" => (5, Grouping::None, Kind::Compare(Cmp::Le)),
            ">" => (5, Grouping::None, Kind::Compare(Cmp::Gt)),
            ">=" => (5, Grouping::None, Kind::Compare(Cmp::Ge)),
            "+" => (6, Grouping::Left, Kind::Calculate(Math::Add)),
            "-" => (6, Grouping::Left, Kind::Calculate(Math::Sub)),
            "*" => (7, Grouping::Left, Kind::Calculate(Math::Mul)),
            "/" => (7, Grouping::Left, Kind::Calculate(Math::Div)),
            "%" => (7, Grouping::Left, Kind::Calculate(Math::Rem)),
            _ => return None,
        };
        Some(Self {
            binds,
            grouping,
            kind,
        })
    }
}

impl Kind {
    /// Builds the term for the operator and its operands.
    pub(super) fn join<'s>(self, left: Tree<'s>, right: Tree<'s>) -> Tree<'s> {
        match self {
            Self::Alternative => terms::alternative(left, right),
            Self::Assign => terms::assign(left, right),
            Self::Update => terms::update(left, right),
            Self::UpdateBy(operator) => terms::update_by(left, operator, right),
            Self::UpdateMissing => terms::update_missing(left, right),
            Self::Or => terms::join(left, BinaryOp::Or, right),
            Self::And => terms::join(left, BinaryOp::And, right),
            Self::Compare(operator) => terms::right_first(left, right, |left, right| {
                terms::join(left, BinaryOp::Cmp(operator), right)
            }),
            Self::Calculate(operator) => terms::right_first(left, right, |left, right| {
                terms::join(left, BinaryOp::Math(operator), right)
            }),
        }
    }
}
