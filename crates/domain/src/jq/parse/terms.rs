//! Translates terms of jq to terms of jaq. Constructs that jaq would evaluate in another order or way are rewritten
//! with jq's meaning.
//!
//! Names that begin with `!` belong to this file. Filters cannot contain them, so they do not clash.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Opt, Part, Path};

use crate::jq::natives::{ASSIGN, LAST, LINE, MODIFY, PATH, STEPS};

/// A term over the text of a filter.
pub(super) type Tree<'s> = Term<&'s str>;

/// A part of a text with interpolations.
pub(super) type Piece<'s> = StrPart<&'s str, Tree<'s>>;

const LEFT: &str = "$!left";
const RIGHT: &str = "$!right";
const VALUE: &str = "$!value";
const SOURCE: &str = "$!source";
const INPUT: &str = "$!input";
const BODY: &str = "!body";

/// Names of the variables that hold the outputs of several terms. Their number is the maximum.
const PIECES: [&str; 8] = [
    "$!piece1", "$!piece2", "$!piece3", "$!piece4", "$!piece5", "$!piece6", "$!piece7", "$!piece8",
];

/// The number of outputs that a term can have, by its form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outputs {
    One,
    AtMostOne,
    Any,
}

pub(super) fn text<'s>(text: &'s str) -> Tree<'s> {
    Term::Str(None, vec![StrPart::Str(text)])
}

pub(super) fn call<'s>(name: &'s str, arguments: Vec<Tree<'s>>) -> Tree<'s> {
    Term::Call(name, arguments)
}

/// Functions of two arguments for which jq iterates over the second one in the outer loop.
const OF_TWO: [&str; 16] = [
    "atan2",
    "copysign",
    "drem",
    "fdim",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "jn",
    "ldexp",
    "nextafter",
    "nexttoward",
    "pow",
    "scalb",
    "scalbln",
    "setpath",
];

/// Builds a call that occurs in a filter.
pub(super) fn called<'s>(name: &'s str, mut arguments: Vec<Tree<'s>>) -> Tree<'s> {
    if arguments.len() == 2
        && OF_TWO.contains(&name)
        && let (Some(second), Some(first)) = (arguments.pop(), arguments.pop())
    {
        return right_first(first, second, |first, second| {
            call(name, vec![first, second])
        });
    }
    call(name, arguments)
}

pub(super) fn pipe<'s>(left: Tree<'s>, right: Tree<'s>) -> Tree<'s> {
    join(left, BinaryOp::Pipe(None), right)
}

/// Joins two terms with an operator that jaq evaluates as jq does.
pub(super) fn join<'s>(left: Tree<'s>, operator: BinaryOp<&'s str>, right: Tree<'s>) -> Tree<'s> {
    Term::BinOp(Box::new(left), operator, Box::new(right))
}

/// `source as $name | body`.
fn bind<'s>(source: Tree<'s>, name: &'s str, body: Tree<'s>) -> Tree<'s> {
    join(source, BinaryOp::Pipe(Some(Pattern::Var(name))), body)
}

/// Joins two terms with the outputs of the right one in the outer loop, as in jq.
pub(super) fn right_first<'s>(
    left: Tree<'s>,
    right: Tree<'s>,
    joined: impl FnOnce(Tree<'s>, Tree<'s>) -> Tree<'s>,
) -> Tree<'s> {
    if outputs(&left) != Outputs::Any || outputs(&right) != Outputs::Any {
        return joined(left, right);
    }
    let joined = joined(Term::Var(LEFT), Term::Var(RIGHT));
    bind(right, RIGHT, bind(left, LEFT, joined))
}

/// Builds `left // right`. If the left term is a path, paths to null and false are omitted.
pub(super) fn alternative<'s>(left: Tree<'s>, right: Tree<'s>) -> Tree<'s> {
    let left = match outputs(&left) {
        Outputs::One | Outputs::AtMostOne => left,
        Outputs::Any => {
            let kept = Term::IfThenElse(vec![(Term::Id, Term::Id)], Some(Box::new(nothing())));
            pipe(left, kept)
        }
    };
    join(left, BinaryOp::Alt, right)
}

/// Builds a term without outputs, also when used as a path.
fn nothing<'s>() -> Tree<'s> {
    let none = indexed(
        Term::Obj(Vec::new()),
        Part::Range(None, None),
        Opt::Essential,
    );
    bind(none, VALUE, Term::Id)
}

pub(super) fn assign<'s>(paths: Tree<'s>, value: Tree<'s>) -> Tree<'s> {
    call(ASSIGN, vec![call(PATH, vec![paths]), value])
}

pub(super) fn update<'s>(paths: Tree<'s>, update: Tree<'s>) -> Tree<'s> {
    call(MODIFY, vec![call(PATH, vec![paths]), update])
}

/// Builds `paths += value` and similar updates.
pub(super) fn update_by<'s>(paths: Tree<'s>, operator: Math, value: Tree<'s>) -> Tree<'s> {
    let changed = join(Term::Id, BinaryOp::Math(operator), Term::Var(VALUE));
    bind(value, VALUE, update(paths, changed))
}

/// `paths //= value`.
pub(super) fn update_missing<'s>(paths: Tree<'s>, value: Tree<'s>) -> Tree<'s> {
    let changed = alternative(Term::Id, Term::Var(VALUE));
    bind(value, VALUE, update(paths, changed))
}

/// Builds an index into the outputs of a term. The outputs of the index are in the outer loop.
pub(super) fn indexed<'s>(term: Tree<'s>, part: Part<Tree<'s>>, optional: Opt) -> Tree<'s> {
    let add = |term: Tree<'s>, part: Part<Tree<'s>>| match term {
        Term::Path(term, Path(mut parts)) => {
            parts.push((part, optional));
            Term::Path(term, Path(parts))
        }
        term => Term::Path(Box::new(term), Path(vec![(part, optional)])),
    };
    if outputs(&term) != Outputs::Any {
        return add(term, part);
    }
    match part {
        Part::Index(index) if outputs(&index) == Outputs::Any => {
            bind(index, LEFT, add(term, Part::Index(Term::Var(LEFT))))
        }
        Part::Range(Some(start), None) => bind(
            start,
            LEFT,
            add(term, Part::Range(Some(Term::Var(LEFT)), None)),
        ),
        Part::Range(None, Some(end)) => bind(
            end,
            RIGHT,
            add(term, Part::Range(None, Some(Term::Var(RIGHT)))),
        ),
        Part::Range(Some(start), Some(end)) => {
            let part = Part::Range(Some(Term::Var(LEFT)), Some(Term::Var(RIGHT)));
            bind(start, LEFT, bind(end, RIGHT, add(term, part)))
        }
        part => add(term, part),
    }
}

/// Builds a text with the outputs of its later terms in the outer loops.
pub(super) fn interpolated<'s>(format: Option<&'s str>, mut pieces: Vec<Piece<'s>>) -> Tree<'s> {
    let several = pieces.iter_mut().filter_map(|piece| match piece {
        StrPart::Term(term) if outputs(term) == Outputs::Any => Some(term),
        StrPart::Term(_) | StrPart::Str(_) | StrPart::Char(_) => None,
    });
    let mut bound = Vec::new();
    for (term, name) in several.zip(PIECES) {
        bound.push((name, std::mem::replace(term, Term::Var(name))));
    }
    let text = Term::Str(format, pieces);
    let bound = bound.into_iter();
    bound.fold(text, |body, (name, term)| bind(term, name, body))
}

/// `try body catch handler`.
pub(super) fn attempt<'s>(body: Tree<'s>, handler: Option<Tree<'s>>) -> Tree<'s> {
    Term::TryCatch(Box::new(body), handler.map(Box::new))
}

/// Builds `reduce`, which continues with the last output of the update, or with null.
pub(super) fn reduce<'s>(
    source: Tree<'s>,
    pattern: Pattern<&'s str>,
    start: Tree<'s>,
    update: Tree<'s>,
) -> Tree<'s> {
    let update = match outputs(&update) {
        Outputs::One => update,
        Outputs::AtMostOne | Outputs::Any => call(LAST, vec![update]),
    };
    Term::Fold("reduce", Box::new(source), pattern, vec![start, update])
}

/// Builds `foreach`, which emits each output of the update and continues with the last one, or with null. The state is
/// a list of an output and whether it is the last one of its step, because jaq continues from each output.
pub(super) fn foreach<'s>(
    source: Tree<'s>,
    pattern: Pattern<&'s str>,
    start: Tree<'s>,
    update: Tree<'s>,
    emitted: Option<Tree<'s>>,
) -> Tree<'s> {
    let source = Box::new(source);
    if outputs(&update) == Outputs::One {
        let parts = [start, update].into_iter().chain(emitted).collect();
        return Term::Fold("foreach", source, pattern, parts);
    }
    let of_state = |place| indexed(Term::Id, Part::Index(Term::Num(place)), Opt::Essential);
    let state = join(Term::Id, BinaryOp::Comma, call("true", Vec::new()));
    let start = pipe(start, Term::Arr(Some(Box::new(state))));
    let steps = pipe(of_state("0"), call(STEPS, vec![update]));
    let update = Term::IfThenElse(vec![(of_state("1"), steps)], Some(Box::new(nothing())));
    let output = pipe(of_state("0"), emitted.unwrap_or(Term::Id));
    let emitted = Term::IfThenElse(vec![(of_state("2"), nothing())], Some(Box::new(output)));
    Term::Fold("foreach", source, pattern, vec![start, update, emitted])
}

/// Builds a function whose `$` parameters are also functions, as in jq.
pub(super) fn definition<'s>(
    name: &'s str,
    parameters: &[&'s str],
    body: Tree<'s>,
) -> Def<&'s str, Tree<'s>> {
    let named = |parameter: &'s str| parameter.strip_prefix('$').unwrap_or(parameter);
    let values = parameters.iter().copied();
    let values = values.filter(|name| name.starts_with('$'));
    let body = values.rev().fold(body, |body, parameter| {
        bind(call(named(parameter), Vec::new()), parameter, body)
    });
    Def {
        name,
        args: parameters.iter().copied().map(named).collect(),
        body,
    }
}

/// Builds `source as pattern ?// pattern … | body`: if a pattern, or the body with it, fails, the next one is tried.
/// The variables of the other patterns are null.
pub(super) fn destructured<'s>(
    source: Tree<'s>,
    mut patterns: Vec<Pattern<&'s str>>,
    body: Tree<'s>,
) -> Tree<'s> {
    if patterns.len() == 1
        && let Some(pattern) = patterns.pop()
    {
        return join(source, BinaryOp::Pipe(Some(pattern)), body);
    }
    let mut names: Vec<&'s str> = Vec::new();
    for pattern in &patterns {
        variables(pattern, &mut names);
    }
    names.sort_unstable();
    names.dedup();
    let tried = patterns.into_iter().map(|pattern| {
        let mut own = Vec::new();
        variables(&pattern, &mut own);
        let arguments = names.iter().map(|name| match own.contains(name) {
            true => Term::Var(*name),
            false => call("null", Vec::new()),
        });
        let body = call(BODY, arguments.collect());
        join(Term::Var(SOURCE), BinaryOp::Pipe(Some(pattern)), body)
    });
    let tried = tried.rev().reduce(|next, first| {
        let next = pipe(Term::Var(INPUT), next);
        attempt(first, Some(next))
    });
    let body = Def {
        name: BODY,
        args: names,
        body,
    };
    let tried = Term::Def(vec![body], Box::new(tried.unwrap_or_default()));
    bind(source, SOURCE, bind(Term::Id, INPUT, tried))
}

fn variables<'s>(pattern: &Pattern<&'s str>, names: &mut Vec<&'s str>) {
    match pattern {
        Pattern::Var(name) => names.push(name),
        Pattern::Arr(patterns) => {
            for pattern in patterns {
                variables(pattern, names);
            }
        }
        Pattern::Obj(fields) => {
            for (_, pattern) in fields {
                variables(pattern, names);
            }
        }
    }
}

/// Builds `$__loc__` for the position after this part of the filter.
pub(super) fn location(before: &str) -> Tree<'_> {
    let line = pipe(text(before), call(LINE, Vec::new()));
    Term::Obj(vec![
        (text("file"), Some(text("<top-level>"))),
        (text("line"), Some(line)),
    ])
}

fn outputs(term: &Tree<'_>) -> Outputs {
    match term {
        Term::Id | Term::Num(_) | Term::Var(_) | Term::Arr(_) => Outputs::One,
        Term::Str(_, pieces) => most(pieces.iter().map(|piece| match piece {
            StrPart::Term(term) => outputs(term),
            StrPart::Str(_) | StrPart::Char(_) => Outputs::One,
        })),
        Term::Obj(fields) => most(fields.iter().map(|(name, value)| {
            let value = value.as_ref().map_or(Outputs::One, outputs);
            outputs(name).max(value)
        })),
        Term::Neg(term) => outputs(term),
        Term::BinOp(left, operator, right) => of_both(left, operator, right),
        Term::Label(_, body) => outputs(body).max(Outputs::AtMostOne),
        Term::Break(_) => Outputs::AtMostOne,
        Term::Fold("reduce", _, _, parts) => parts.first().map_or(Outputs::Any, outputs),
        Term::TryCatch(body, handler) => {
            let handler = handler.as_deref().map_or(Outputs::One, outputs);
            outputs(body).max(handler).max(Outputs::AtMostOne)
        }
        Term::IfThenElse(branches, last) => {
            let branches = branches.iter();
            let branches = branches.map(|(test, branch)| outputs(test).max(outputs(branch)));
            let last = last.as_deref().map_or(Outputs::One, outputs);
            most(branches).max(last)
        }
        Term::Def(_, body) => outputs(body),
        Term::Call("true" | "false" | "null", arguments) if arguments.is_empty() => Outputs::One,
        Term::Path(term, Path(parts)) => outputs(term).max(most(parts.iter().map(of_part))),
        Term::Recurse | Term::Fold(..) | Term::Call(..) => Outputs::Any,
    }
}

fn of_both(left: &Tree<'_>, operator: &BinaryOp<&str>, right: &Tree<'_>) -> Outputs {
    match operator {
        BinaryOp::Comma => Outputs::Any,
        BinaryOp::Alt if outputs(left) != Outputs::Any => outputs(right),
        BinaryOp::Pipe(Some(Pattern::Arr(_) | Pattern::Obj(_))) => Outputs::Any,
        BinaryOp::Alt
        | BinaryOp::Pipe(_)
        | BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Math(_)
        | BinaryOp::Cmp(_)
        | BinaryOp::Assign
        | BinaryOp::Update
        | BinaryOp::UpdateMath(_)
        | BinaryOp::UpdateAlt => outputs(left).max(outputs(right)),
    }
}

fn of_part((part, optional): &(Part<Tree<'_>>, Opt)) -> Outputs {
    let part = match part {
        Part::Index(index) => outputs(index),
        Part::Range(None, None) => Outputs::Any,
        Part::Range(start, end) => most([start, end].into_iter().flatten().map(outputs)),
    };
    match optional {
        Opt::Optional => part.max(Outputs::AtMostOne),
        Opt::Essential => part,
    }
}

fn most(all: impl Iterator<Item = Outputs>) -> Outputs {
    all.max().unwrap_or(Outputs::One)
}
