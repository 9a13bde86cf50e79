//! Looks for one parameter's values in a sentence, by the form that they have.

use super::flags;
use super::form::Form;
use super::lists::list;
use super::maps;
use super::reader::Reader;
use super::search::single;
use super::seen::ParameterReading;

/// The values of a sentence for a parameter.
pub(super) fn find(
    form: &Form,
    reader: Reader<'_, '_>,
    truths: &[(String, bool)],
) -> ParameterReading {
    match form {
        Form::Truth => flags::find(reader, truths),
        Form::List(element) => list(element, reader),
        Form::Map => maps::find(reader),
        Form::Choice(_)
        | Form::Pattern(..)
        | Form::Date(_)
        | Form::Period(_)
        | Form::Shaped(_)
        | Form::Free(_)
        | Form::Measure(_) => single(form, reader),
    }
}
