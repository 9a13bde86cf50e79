//! Functions that control evaluation: no output, the last and the next output, errors.

use std::iter;

use jaq_core::box_iter::box_once;
use jaq_core::native::{bome, v};
use jaq_core::{Bind, Cv, Error, Exn, Native, ValXs};

use super::{Jq, NativeFilter};
use crate::jq::value::JqValue;

/// The last output of a filter, or null if there is none. `reduce` continues with it.
pub(in crate::jq) const LAST: &str = "!last";

/// Each output of a filter in a list, with whether it is the last. `foreach` continues with them.
pub(in crate::jq) const STEPS: &str = "!steps";

pub(super) fn filters() -> Vec<NativeFilter> {
    let filter = || [Bind::Fun(())].into();
    vec![
        ("empty", v(0), nothing()),
        ("error", v(0), failing()),
        (LAST, filter(), last()),
        (STEPS, filter(), Native::<Jq>::new(steps)),
    ]
}

fn nothing() -> Native<Jq> {
    Native::<Jq>::new(|_| Box::new(iter::empty())).with_paths(|_| Box::new(iter::empty()))
}

fn failing() -> Native<Jq> {
    Native::<Jq>::new(|cv| bome(Err(Error::new(cv.1))))
        .with_paths(|cv| box_once(Err(Exn::from(Error::new(cv.1.0)))))
}

fn last() -> Native<Jq> {
    let outputs: jaq_core::RunPtr<Jq> = |mut cv| {
        let (filter, context) = cv.0.pop_fun();
        let mut outputs = filter.run((context, cv.1));
        box_once(outputs.try_fold(JqValue::Null, |_, next| next))
    };
    Native::<Jq>::new(outputs).with_paths(|mut cv| {
        let (filter, context) = cv.0.pop_fun();
        let mut paths = filter.paths((context, cv.1));
        let last = paths.try_fold(None, |_, next| next.map(Some));
        Box::new(last.transpose().into_iter())
    })
}

/// Returns `[output, last]` for each output, or `[null, true, true]` if there is none; the latter is not emitted.
fn steps<'a>(mut cv: Cv<'a, Jq>) -> ValXs<'a, JqValue> {
    let (filter, context) = cv.0.pop_fun();
    let mut outputs = filter.run((context, cv.1)).peekable();
    let mut begun = false;
    Box::new(iter::from_fn(move || {
        let first = !std::mem::replace(&mut begun, true);
        let Some(output) = outputs.next() else {
            let none = vec![JqValue::Null, JqValue::Bool(true), JqValue::Bool(true)];
            return first.then(|| Ok(JqValue::list(none)));
        };
        Some(output.map(|value| {
            let last = outputs.peek().is_none();
            JqValue::list(vec![value, JqValue::Bool(last)])
        }))
    }))
}
