//! Changes a value at paths. Missing parents are created, as in jq.

use std::rc::Rc;

use charter_contract::bounds::JSON_BYTES;

use super::{Error, JqValue, Number, Outcome, bounds, fault, position};

/// The maximum number of keys of a path.
const MOST_KEYS: usize = 10_000;

/// Returns the keys of a path.
pub(in crate::jq) fn keys_of(path: &JqValue) -> Outcome<&[JqValue]> {
    match path {
        JqValue::List(keys) if keys.len() <= MOST_KEYS => Ok(keys),
        JqValue::List(_) => Err(fault("Path too deep")),
        _ => Err(fault("Path must be specified as an array")),
    }
}

/// Replaces the part of a value at a path.
pub(in crate::jq) fn set(value: JqValue, keys: &[JqValue], new: JqValue) -> Outcome {
    let mut new = Some(new);
    replaced(value, keys, &mut |_| Ok(new.take().unwrap_or_default()))
}

/// Replaces the part of a value at each path by the output of `update`, or removes it if there is none. The paths refer
/// to the value before the update.
pub(in crate::jq) fn modified<E: From<Error>>(
    mut value: JqValue,
    paths: &[JqValue],
    mut update: impl FnMut(JqValue) -> Result<Option<JqValue>, E>,
) -> Result<JqValue, E> {
    let mut emptied = Vec::new();
    for path in paths {
        let keys = keys_of(path)?;
        if holds(&value, keys) {
            let mut kept = true;
            value = replaced(value, keys, &mut |old| {
                let new = update(old)?;
                kept = new.is_some();
                Ok::<_, E>(new.unwrap_or_default())
            })?;
            if !kept {
                emptied.push(path.clone());
            }
        } else {
            match update(get(&value, keys)?)? {
                Some(new) => value = set(value, keys, new)?,
                None => emptied.push(path.clone()),
            }
        }
    }
    match emptied.is_empty() {
        true => Ok(value),
        false => Ok(delete(value, emptied)?),
    }
}

/// Returns whether a value exists at a path without slices.
fn holds(value: &JqValue, keys: &[JqValue]) -> bool {
    let Some((key, rest)) = keys.split_first() else {
        return true;
    };
    let part = match (value, key) {
        (JqValue::Object(fields), JqValue::Text(name)) => fields.get(name.as_str()),
        (JqValue::List(items), JqValue::Number(index)) => {
            position(index, items.len()).and_then(|index| items.get(index))
        }
        _ => None,
    };
    part.is_some_and(|part| holds(part, rest))
}

fn get(value: &JqValue, keys: &[JqValue]) -> Outcome {
    keys.iter()
        .try_fold(value.clone(), |value, key| value.at(key))
}

/// Replaces the part of a value at a path. Parts without other references are not copied.
fn replaced<E: From<Error>>(
    value: JqValue,
    keys: &[JqValue],
    update: &mut dyn FnMut(JqValue) -> Result<JqValue, E>,
) -> Result<JqValue, E> {
    let Some((key, rest)) = keys.split_first() else {
        return update(value);
    };
    match (value, key) {
        (JqValue::Null, JqValue::Text(_)) => {
            replaced(JqValue::object(super::Fields::default()), keys, update)
        }
        (JqValue::Null, JqValue::Number(_) | JqValue::Object(_)) => {
            replaced(JqValue::list(Vec::new()), keys, update)
        }
        (JqValue::Object(mut fields), JqValue::Text(name)) => {
            let field = Rc::make_mut(&mut fields).entry(name.as_str().into());
            let field = field.or_default();
            *field = replaced(std::mem::take(field), rest, update)?;
            Ok(JqValue::Object(fields))
        }
        (JqValue::List(mut items), JqValue::Number(index)) => {
            let index = writable(index, items.len())?;
            let items_now = Rc::make_mut(&mut items);
            if items_now.len() <= index {
                items_now.resize(index + 1, JqValue::Null);
            }
            if let Some(item) = items_now.get_mut(index) {
                *item = replaced(std::mem::take(item), rest, update)?;
            }
            Ok(JqValue::List(items))
        }
        (JqValue::List(items), JqValue::Object(slice)) => {
            let missing = JqValue::Bool(false);
            let bound = |name: &str| slice.get(name).unwrap_or(&missing);
            let range = bounds(bound("start"), bound("end"), items.len())?;
            let part = items.get(range.clone()).unwrap_or_default().to_vec();
            let JqValue::List(part) = replaced(JqValue::list(part), rest, update)? else {
                let message = "A slice of an array can only be assigned another array";
                return Err(fault(message).into());
            };
            let mut items = Rc::unwrap_or_clone(items);
            drop(items.splice(range, Rc::unwrap_or_clone(part)));
            Ok(JqValue::list(items))
        }
        (JqValue::Text(_), JqValue::Object(_)) => Err(fault("Cannot update string slices").into()),
        (JqValue::List(_), JqValue::List(_)) => {
            Err(fault("Cannot update field at array index of array").into())
        }
        (other, key) => Err(other.not_indexed(key).into()),
    }
}

/// Returns the index to write to, in a list of this length.
fn writable(index: &Number, length: usize) -> Outcome<usize> {
    if index.is_nan() {
        return Err(fault("Cannot set array element at NaN index"));
    }
    let index =
        position(index, length).ok_or_else(|| fault("Out of bounds negative array index"))?;
    if index >= JSON_BYTES {
        return Err(fault("Array index too large"));
    }
    Ok(index)
}

/// Removes the parts of a value at these paths, which refer to the original value.
pub(in crate::jq) fn delete(value: JqValue, mut paths: Vec<JqValue>) -> Outcome {
    paths.sort();
    let paths: Vec<&[JqValue]> = paths.iter().map(keys_of).collect::<Outcome<_>>()?;
    without(value, &paths)
}

/// As `delete`, for sorted paths.
fn without(mut value: JqValue, paths: &[&[JqValue]]) -> Outcome {
    let mut doomed: Vec<&JqValue> = Vec::new();
    for group in paths.chunk_by(|left, right| left.first() == right.first()) {
        let below: Vec<&[JqValue]> = group
            .iter()
            .filter_map(|path| Some(path.split_first()?.1))
            .collect();
        let Some(key) = group.first().and_then(|path| path.first()) else {
            // The empty path refers to the whole value.
            return Ok(JqValue::Null);
        };
        if below.iter().any(|rest| rest.is_empty()) {
            doomed.push(key);
            continue;
        }
        let part = value.at(key)?;
        if !matches!(part, JqValue::Null) {
            let part = without(part, &below)?;
            value = set(value, std::slice::from_ref(key), part)?;
        }
    }
    without_keys(value, &doomed)
}

/// Removes parts from a list or an object.
fn without_keys(value: JqValue, keys: &[&JqValue]) -> Outcome {
    if keys.is_empty() {
        return Ok(value);
    }
    match value {
        JqValue::List(items) => {
            let mut kept = vec![true; items.len()];
            for key in keys {
                let doomed = match key {
                    JqValue::Number(index) => {
                        position(index, items.len()).map(|index| index..index + 1)
                    }
                    JqValue::Object(slice) => {
                        let missing = JqValue::Bool(false);
                        let bound = |name: &str| slice.get(name).unwrap_or(&missing);
                        Some(bounds(bound("start"), bound("end"), items.len())?)
                    }
                    other => {
                        return Err(fault(format!(
                            "Cannot delete {} element of array",
                            other.kind()
                        )));
                    }
                };
                if let Some(kept) = doomed.and_then(|doomed| kept.get_mut(doomed)) {
                    kept.fill(false);
                }
            }
            let items = Rc::unwrap_or_clone(items).into_iter().zip(kept);
            Ok(items
                .filter(|(_, kept)| *kept)
                .map(|(item, _)| item)
                .collect())
        }
        JqValue::Object(mut fields) => {
            for key in keys {
                let JqValue::Text(name) = key else {
                    return Err(fault(format!(
                        "Cannot delete {} field of object",
                        key.kind()
                    )));
                };
                if fields.contains_key(name.as_str()) {
                    Rc::make_mut(&mut fields).shift_remove(name.as_str());
                }
            }
            Ok(JqValue::Object(fields))
        }
        JqValue::Null => Ok(JqValue::Null),
        other => Err(fault(format!("Cannot delete fields from {}", other.kind()))),
    }
}
