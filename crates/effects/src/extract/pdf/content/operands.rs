//! The operands of an instruction.

use hayro_font::hayro_syntax::content::Instruction;
use hayro_font::hayro_syntax::object::{Dict, Name, Object, String as PdfString};
use hayro_font::hayro_syntax::page::Resources;
use hayro_font::kurbo::Affine;

use super::shown;

/// Longest replacement text of a mark, in bytes.
const ACTUAL_TEXT_BYTES: usize = 4 << 10;

/// Returns its numbers.
pub(super) fn numbers(instruction: &Instruction<'_, '_>) -> Vec<f64> {
    let operands = instruction.operands();
    let numbers = operands.filter_map(|operand| match operand {
        Object::Number(number) => Some(number.as_f64()),
        _ => None,
    });
    numbers.filter(|number| number.is_finite()).collect()
}

/// Returns its last six numbers, as a matrix.
pub(super) fn matrix(instruction: &Instruction<'_, '_>) -> Option<Affine> {
    let numbers = numbers(instruction);
    let last = numbers.last_chunk::<6>()?;
    Some(Affine::new(*last))
}

/// Returns the first name among its operands.
pub(super) fn name<'b, 'c>(instruction: &Instruction<'b, 'c>) -> Option<&'b Name<'c>> {
    instruction.operands().find_map(|operand| match operand {
        Object::Name(name) => Some(name),
        _ => None,
    })
}

/// Returns the properties of a mark: from the content, or from the resources.
pub(super) fn properties<'c, 'r: 'c>(
    instruction: &Instruction<'_, 'c>,
    resources: &Resources<'r>,
) -> Option<Dict<'c>> {
    match instruction.operands().last()? {
        Object::Dict(properties) => Some(properties.clone()),
        Object::Name(name) => resources.properties.get::<Dict<'r>>(name),
        _ => None,
    }
}

/// Returns the replacement text of a mark.
pub(super) fn actual_text(properties: &Dict<'_>) -> Option<String> {
    let text = properties.get::<PdfString<'_>>("ActualText")?;
    let text = text.as_bytes();
    (text.len() <= ACTUAL_TEXT_BYTES).then(|| shown::decode(text))
}
