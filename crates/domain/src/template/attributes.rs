//! Filters on an attribute of each item. minijinja's filters skip an item without the attribute, or put it anywhere, so
//! that the sum of a misspelled attribute is 0. Here it is an error with the attribute's name, as in the rest of a
//! text. Must not know the items' meaning.

use minijinja::value::{Kwargs, Rest, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

/// Tests for the presence of an attribute.
const OF_ABSENCE: [&str; 3] = ["defined", "undefined", "none"];

/// The argument in which a filter receives the name of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttributeSource {
    /// The keyword argument `attribute`.
    ByKeyword,
    /// The first argument, or the keyword argument `attribute`.
    First,
}

macro_rules! strict {
    ($($filter:ident: $named:ident),* $(,)?) => {
        /// Replaces the filters by strict ones.
        pub(super) fn make_strict(environment: &mut Environment<'_>) {
            $(
                fn $filter(
                    state: &mut State,
                    items: Value,
                    arguments: Rest<ValueOrKwargs>,
                ) -> Result<Value, Error> {
                    let built_in = Value::from_function(filters::$filter);
                    strictly(&built_in, AttributeSource::$named, state, items, arguments)
                }
                environment.add_filter(stringify!($filter), $filter);
            )*
        }
    };
}

strict! {
    groupby: First,
    map: ByKeyword,
    max: ByKeyword,
    min: ByKeyword,
    rejectattr: First,
    selectattr: First,
    sort: ByKeyword,
    sum: First,
    unique: ByKeyword,
}

/// Applies a filter after a check that every item has the attribute.
fn strictly(
    built_in: &Value,
    named: AttributeSource,
    state: &mut State,
    items: Value,
    arguments: Rest<ValueOrKwargs>,
) -> Result<Value, Error> {
    // An iterator may yield its items once. An undefined value is the filter's own error.
    let items = if items.is_undefined() {
        items
    } else {
        let items: Vec<Value> = items.try_iter()?.collect();
        demand(&items, named, &arguments)?;
        Value::from(items)
    };
    let arguments = arguments.into_values();
    let all: Vec<Value> = std::iter::once(items).chain(arguments).collect();
    built_in.call(state, &all)
}

/// Fails if an item lacks the attribute, unless the text has a default or tests for its presence.
fn demand(
    items: &[Value],
    named: AttributeSource,
    arguments: &Rest<ValueOrKwargs>,
) -> Result<(), Error> {
    let arguments: Vec<Value> = arguments.iter().map(|one| Value::clone(one)).collect();
    let (positional, keywords): (&[Value], Kwargs) = from_args(&arguments)?;
    let attribute = match (named, positional.first()) {
        (AttributeSource::First, Some(first)) => Some(first.clone()),
        (AttributeSource::ByKeyword, Some(_)) => return Ok(()),
        (_, None) => keywords.peek("attribute")?,
    };
    let test = positional.get(1).and_then(Value::as_str);
    if keywords.has("default") || test.is_some_and(|test| OF_ABSENCE.contains(&test)) {
        return Ok(());
    }
    let Some(attribute) = attribute else {
        return demand_values(items);
    };
    // Sorting may use several.
    let attribute = attribute.to_string();
    let mut paths = attribute.split(',').map(str::trim);
    paths.try_for_each(|path| demand_path(items, path))
}

fn demand_values(items: &[Value]) -> Result<(), Error> {
    if items.iter().any(Value::is_undefined) {
        return Err(Error::new(
            ErrorKind::UndefinedError,
            "an item has no value",
        ));
    }
    Ok(())
}

fn demand_path(items: &[Value], path: &str) -> Result<(), Error> {
    let Some(item) = items.iter().find(|item| at(item, path).is_undefined()) else {
        return Ok(());
    };
    let nested = format!("fields.{path}");
    let detail = if at(item, &nested).is_undefined() {
        format!("an item has no `{path}`")
    } else {
        format!("an item has no `{path}`; it has `{nested}`")
    };
    Err(Error::new(ErrorKind::UndefinedError, detail))
}

/// Returns the value at a dotted path, or undefined if there is none.
fn at(item: &Value, path: &str) -> Value {
    let mut parts = path.split('.');
    let found = parts.try_fold(item.clone(), |value, part| match part.parse::<usize>() {
        Ok(index) => value.get_item_by_index(index),
        Err(_) => value.get_attr(part),
    });
    found.unwrap_or(Value::UNDEFINED)
}
