//! The functions of expressions, and the check of calls to them. The check runs when an expression is compiled, because a
//! call to an unknown function fails for every input.

use std::sync::{Arc, LazyLock};

use cel::common::ast::{CallExpr, Expr, IdedExpr};
use cel::{DeclarationError, Env};
use charter_contract::validate::nearest;

use super::patterns::parts;
use super::{arithmetic, time};

/// The syntax of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `f(x)`.
    Function,
    /// `x.f()`; `x` is not counted as an argument.
    Method,
}

/// A signature: name, syntax, and the minimum and maximum number of arguments.
type Call = (&'static str, Style, usize, usize);

/// The standard functions of the CEL specification, and cel-go's strings extension.
const CALLS: [Call; 40] = {
    use Style::{Function, Method};
    [
        ("bool", Function, 1, 1),
        ("bytes", Function, 1, 1),
        ("double", Function, 1, 1),
        ("duration", Function, 1, 1),
        ("dyn", Function, 1, 1),
        ("int", Function, 1, 1),
        ("matches", Function, 2, 2),
        ("size", Function, 1, 1),
        ("string", Function, 1, 1),
        ("strings.quote", Function, 1, 1),
        ("timestamp", Function, 1, 1),
        ("type", Function, 1, 1),
        ("uint", Function, 1, 1),
        ("charAt", Method, 1, 1),
        ("contains", Method, 1, 1),
        ("endsWith", Method, 1, 1),
        ("format", Method, 1, 1),
        ("getDate", Method, 0, 1),
        ("getDayOfMonth", Method, 0, 1),
        ("getDayOfWeek", Method, 0, 1),
        ("getDayOfYear", Method, 0, 1),
        ("getFullYear", Method, 0, 1),
        ("getHours", Method, 0, 1),
        ("getMilliseconds", Method, 0, 1),
        ("getMinutes", Method, 0, 1),
        ("getMonth", Method, 0, 1),
        ("getSeconds", Method, 0, 1),
        ("indexOf", Method, 1, 2),
        ("join", Method, 0, 1),
        ("lastIndexOf", Method, 1, 2),
        ("lowerAscii", Method, 0, 0),
        ("matches", Method, 1, 1),
        ("replace", Method, 2, 3),
        ("reverse", Method, 0, 0),
        ("size", Method, 0, 0),
        ("split", Method, 1, 2),
        ("startsWith", Method, 1, 1),
        ("substring", Method, 1, 2),
        ("trim", Method, 0, 0),
        ("upperAscii", Method, 0, 0),
    ]
};

/// The macros, with an example of each. The parser expands a macro only if its arguments have this form.
const MACROS: [(&str, &str); 7] = [
    ("all", "list.all(item, item > 0)"),
    ("exists", "list.exists(item, item > 0)"),
    ("existsOne", "list.existsOne(item, item > 0)"),
    ("exists_one", "list.exists_one(item, item > 0)"),
    ("filter", "list.filter(item, item > 0)"),
    ("has", "has(value.field)"),
    ("map", "list.map(item, item * 2)"),
];

/// Names of the same functions in other languages.
const ELSEWHERE: [(&str, &str); 10] = [
    ("len", "size"),
    ("length", "size"),
    ("lower", "lowerAscii"),
    ("lowercase", "lowerAscii"),
    ("toLowerCase", "lowerAscii"),
    ("toString", "string"),
    ("toUpperCase", "upperAscii"),
    ("upper", "upperAscii"),
    ("uppercase", "upperAscii"),
    ("year", "getFullYear"),
];

/// Names of the current time in other languages.
const CLOCKS: [&str; 4] = ["currentTime", "current_time", "now", "today"];

/// Names of types.
const TYPES: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
];

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// There is no such function.
    #[error("there is no function `{name}`{}", suggested(.suggestion.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// A similar function.
        suggestion: Option<String>,
    },
    /// The function has another syntax.
    #[error("call `{name}` as in `{form}`")]
    Form {
        /// The name.
        name: String,
        /// An example of its syntax.
        form: String,
    },
    /// The number of arguments is wrong.
    #[error("`{name}` takes {takes}, not {given}")]
    Count {
        /// The name.
        name: String,
        /// The expected number of arguments.
        takes: String,
        /// The number of arguments of the call.
        given: usize,
    },
    /// A message of protocol buffers, which are not supported.
    #[error("unknown type `{0}`: write a map, as in `{{\"key\": 1}}`")]
    Message(String),
    /// The current time.
    #[error(
        "`{0}` is not available: an expression depends only on its inputs, so that its decision can be explained and \
         repeated; pass the time as a parameter, and read it with `timestamp(…)`"
    )]
    Clock(String),
}

fn suggested(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(suggestion) => format!("; {suggestion}"),
        None => ": use the standard functions of CEL and of its strings extension".into(),
    }
}

/// The environment with all functions.
pub(super) fn environment() -> Arc<Env> {
    static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
        let mut env = Env::stdlib();
        let extended = extend(&mut env);
        debug_assert_eq!(extended, Ok(()));
        Arc::new(env)
    });
    Arc::clone(&ENV)
}

fn extend(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_extension(cel::extensions::strings)?;
    arithmetic::library(env)?;
    time::library(env)
}

/// Checks every call of an expression.
///
/// # Errors
/// [`CallFault`] for the first call that is refused.
pub(super) fn check(expression: &IdedExpr) -> Result<(), CallFault> {
    match &expression.expr {
        Expr::Call(call) => check_call(call)?,
        Expr::Struct(made) => return Err(CallFault::Message(made.type_name.clone())),
        Expr::Unspecified
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_) => {}
    }
    parts(expression).into_iter().try_for_each(check)
}

fn check_call(call: &CallExpr) -> Result<(), CallFault> {
    let written = call.func_name.trim_start_matches('.');
    // Names of operators have characters that no function name has.
    if written.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        return Ok(());
    }
    let qualified = qualified(call);
    let name = qualified.as_deref().unwrap_or(written);
    let style = match (&call.target, &qualified) {
        (Some(_), None) => Style::Method,
        (Some(_), Some(_)) | (None, _) => Style::Function,
    };
    let given = call.args.len();
    let mut of_style = CALLS
        .iter()
        .filter(|(known, known_style, ..)| *known == name && *known_style == style);
    if let Some((_, _, fewest, most)) = of_style.next() {
        if (*fewest..=*most).contains(&given) {
            return Ok(());
        }
        return Err(CallFault::Count {
            name: name.to_owned(),
            takes: counted(*fewest, *most),
            given,
        });
    }
    Err(unknown(name))
}

/// The fault of a call that matches no signature.
fn unknown(name: &str) -> CallFault {
    let form = |form: String| CallFault::Form {
        name: name.to_owned(),
        form,
    };
    if let Some((_, written)) = MACROS.iter().find(|(known, _)| *known == name) {
        return form((*written).to_owned());
    }
    if let Some((_, style, fewest, _)) = CALLS.iter().find(|(known, ..)| *known == name) {
        let arguments = ["a", "b"].get(..*fewest).unwrap_or_default().join(", ");
        return form(match style {
            Style::Function => format!("{name}({arguments})"),
            Style::Method => format!("value.{name}({arguments})"),
        });
    }
    if CLOCKS.contains(&name) {
        return CallFault::Clock(name.to_owned());
    }
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name);
    let meant = elsewhere.map(|(_, here)| format!("did you mean `{here}`?"));
    let names = CALLS.iter().map(|(known, ..)| *known);
    let names = names.chain(MACROS.iter().map(|(known, _)| *known));
    CallFault::Unknown {
        name: name.to_owned(),
        suggestion: meant.or_else(|| nearest(name, names)),
    }
}

fn counted(fewest: usize, most: usize) -> String {
    match (fewest, most) {
        (0, 0) => "no argument".to_owned(),
        (1, 1) => "one argument".to_owned(),
        (fewest, most) if fewest == most => format!("{most} arguments"),
        (fewest, most) => format!("{fewest} or {most} arguments"),
    }
}

/// The full name of a function with a namespace: `strings.quote(x)`.
pub(super) fn qualified(call: &CallExpr) -> Option<String> {
    let namespace = dotted(call.target.as_deref()?)?;
    let name = format!("{namespace}.{}", call.func_name);
    CALLS
        .iter()
        .any(|(known, ..)| *known == name)
        .then_some(name)
}

/// Whether an expression is the name of a type.
pub(super) fn is_type(expression: &IdedExpr) -> bool {
    dotted(expression).is_some_and(|name| TYPES.contains(&&*name))
}

/// Whether a name means the current time.
pub(super) fn is_clock(name: &str) -> bool {
    CLOCKS.contains(&name)
}

/// An identifier, or identifiers joined by dots.
fn dotted(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", dotted(&select.operand)?, select.field))
        }
        _ => None,
    }
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let functions = CALLS.iter().map(|(name, ..)| *name);
    functions.chain(MACROS.iter().map(|(name, _)| *name))
}
