//! Assignments and deletions by paths.

use jaq_core::box_iter::box_once;
use jaq_core::native::{bome, run, unary, v};
use jaq_core::{Bind, Cv, Exn, Native, ValX, ValXs};

use super::{Jq, NativeFilter};
use crate::jq::value::{JqValue, delete, fault, keys_of, modified, set};

/// `|=`: the first argument emits the paths, the second is applied to the values there.
pub(in crate::jq) const MODIFY: &str = "!modify";

/// `=`: its first argument emits the paths, its second is the value.
pub(in crate::jq) const ASSIGN: &str = "!assign";

pub(super) fn filters() -> Vec<NativeFilter> {
    let setpath: super::Plain = ("setpath", v(2), |mut cv| {
        let new = cv.0.pop_var();
        let path = cv.0.pop_var();
        bome(keys_of(&path).and_then(|keys| set(cv.1, keys, new)))
    });
    let delpaths: super::Plain = ("delpaths", v(1), |cv| {
        unary(cv, |value, paths| match paths {
            JqValue::List(paths) => delete(value, paths.to_vec()),
            _ => Err(fault("Paths must be specified as an array")),
        })
    });
    let both = [Bind::Fun(()), Bind::Fun(())].into();
    let filter_and_value = [Bind::Fun(()), Bind::Var(())].into();
    vec![
        run::<Jq>(setpath),
        run::<Jq>(delpaths),
        (MODIFY, both, Native::<Jq>::new(modify)),
        (ASSIGN, filter_and_value, Native::<Jq>::new(assign)),
    ]
}

type Paths<'a> = Result<Vec<JqValue>, Exn<'a, JqValue>>;

fn modify<'a>(mut cv: Cv<'a, Jq>) -> ValXs<'a, JqValue> {
    let (update, context) = cv.0.pop_fun();
    let (paths, paths_context) = cv.0.pop_fun();
    let paths: Paths<'a> = paths.run((paths_context, cv.1.clone())).collect();
    let modified = paths.and_then(|paths| {
        modified(cv.1, &paths, |old| {
            update.run((context.clone(), old)).next().transpose()
        })
    });
    box_once(modified)
}

fn assign<'a>(mut cv: Cv<'a, Jq>) -> ValXs<'a, JqValue> {
    let new = cv.0.pop_var();
    let (paths, context) = cv.0.pop_fun();
    let paths: Paths<'a> = paths.run((context, cv.1.clone())).collect();
    box_once(paths.and_then(|paths| assigned(cv.1, &paths, &new)))
}

fn assigned<'a>(mut value: JqValue, paths: &[JqValue], new: &JqValue) -> ValX<'a, JqValue> {
    for path in paths {
        value = set(value, keys_of(path)?, new.clone())?;
    }
    Ok(value)
}
