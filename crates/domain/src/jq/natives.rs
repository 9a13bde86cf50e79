//! The functions of filters that are not written in jq: those of this crate, and those of jaq with the same meaning as
//! in jq. They read only their input and arguments.

mod control;
mod formats;
mod numbers;
pub(super) mod patterns;
mod texts;
mod updates;
mod values;

use jaq_core::RunPtr;
use jaq_core::data::JustLut;
use jaq_core::native::{Filter, Fun, run};

use super::value::JqValue;

pub(super) use control::{LAST, STEPS};
pub(super) use formats::FORMATS;
pub(super) use texts::LINE;
pub(super) use updates::{ASSIGN, MODIFY};

/// The data type of filters: values only, without a context.
pub(super) type Jq = JustLut<JqValue>;

/// A function with its name and its parameters.
pub(super) type NativeFilter = Fun<Jq>;

/// As above, for a function that has outputs but no paths.
type Plain = Filter<RunPtr<Jq>>;

/// Filters of jaq's core, with their names here.
const CORE: &[(&str, &str)] = &[
    ("path", "path"),
    ("range", "_range"),
    ("first", "first"),
    ("last", "last"),
    ("limit", "_limit"),
    ("skip", "_skip"),
];

/// The name of `path` that filters cannot redefine.
pub(super) const PATH: &str = "!path";

/// Filters of jaq's library that depend only on their input and arguments, with their names here.
const LIBRARY: &[(&str, &str)] = &[
    ("acos", "acos"),
    ("acosh", "acosh"),
    ("asin", "asin"),
    ("asinh", "asinh"),
    ("atan", "atan"),
    ("atan2", "atan2"),
    ("atanh", "atanh"),
    ("cbrt", "cbrt"),
    ("copysign", "copysign"),
    ("cos", "cos"),
    ("cosh", "cosh"),
    ("erf", "erf"),
    ("erfc", "erfc"),
    ("exp", "exp"),
    ("exp10", "exp10"),
    ("exp2", "exp2"),
    ("expm1", "expm1"),
    ("fdim", "fdim"),
    ("fma", "fma"),
    ("fmax", "fmax"),
    ("fmin", "fmin"),
    ("fmod", "fmod"),
    ("frexp", "frexp"),
    ("gmtime", "_gmtime"),
    ("group_by", "group_by"),
    ("hypot", "hypot"),
    ("j0", "j0"),
    ("j1", "j1"),
    ("jn", "jn"),
    ("ldexp", "ldexp"),
    ("lgamma", "lgamma"),
    ("log", "log"),
    ("log10", "log10"),
    ("log1p", "log1p"),
    ("log2", "log2"),
    ("max_by_or_empty", "_max_by"),
    ("min_by_or_empty", "_min_by"),
    ("mktime", "_mktime"),
    ("modf", "modf"),
    ("nextafter", "nextafter"),
    ("pow", "pow"),
    ("remainder", "remainder"),
    ("rint", "rint"),
    ("scalbln", "scalbln"),
    ("sin", "sin"),
    ("sinh", "sinh"),
    ("sort_by", "sort_by"),
    ("sqrt", "sqrt"),
    ("strftime", "_strftime"),
    ("strptime", "strptime"),
    ("tan", "tan"),
    ("tanh", "tanh"),
    ("tgamma", "tgamma"),
    ("y0", "y0"),
    ("y1", "y1"),
    ("yn", "yn"),
];

/// Returns every function that is not written in jq.
pub(super) fn all() -> Vec<NativeFilter> {
    let plain = [
        formats::filters(),
        numbers::filters(),
        patterns::filters(),
        texts::filters(),
        values::filters(),
    ];
    let plain = plain.into_iter().flat_map(|filters| filters.into_vec());
    plain
        .map(run::<Jq>)
        .chain(control::filters())
        .chain(updates::filters())
        .chain(named(jaq_core::funs::<Jq>(), CORE))
        .chain(named(jaq_core::funs::<Jq>(), &[("path", PATH)]))
        .chain(named(jaq_std::funs::<Jq>(), LIBRARY))
        .collect()
}

/// Selects the filters of a list, and renames them as listed.
fn named(
    filters: impl Iterator<Item = NativeFilter>,
    names: &'static [(&'static str, &'static str)],
) -> impl Iterator<Item = NativeFilter> {
    filters.filter_map(move |(name, parameters, filter)| {
        let (_, name) = names.iter().find(|(theirs, _)| *theirs == name)?;
        Some((*name, parameters, filter))
    })
}
