//! From bytes to text by the encoding that is declared, never by a guess. Must not know formats.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

use super::ExtractError;

/// Decodes `bytes` by their byte order mark, else as declared, else as UTF-8. A text that is not in
/// the encoding that it claims is refused: replaced letters would be found by nobody.
pub(super) fn decode(bytes: &[u8], declared: Option<&str>) -> Result<String, ExtractError> {
    let marked = Encoding::for_bom(bytes);
    let (encoding, bytes) = match (marked, declared) {
        (Some((encoding, length)), _) => (encoding, &bytes[length..]),
        (None, Some(label)) => {
            let unknown = || ExtractError::UnknownCharset(label.chars().take(40).collect());
            let found = Encoding::for_label(label.trim().as_bytes()).ok_or_else(unknown)?;
            (found, bytes)
        }
        (None, None) => (UTF_8, bytes),
    };
    let text = encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .map(Cow::into_owned)
        .ok_or_else(|| {
            let at = valid_up_to(encoding, bytes);
            match (marked, declared) {
                (None, None) => ExtractError::NoCharset { at },
                (Some(_), _) | (None, Some(_)) => ExtractError::WrongCharset {
                    charset: encoding.name().to_owned(),
                    at,
                },
            }
        })?;
    match text.find('\0') {
        Some(at) => Err(ExtractError::Binary { at }),
        None => Ok(text),
    }
}

fn valid_up_to(encoding: &'static Encoding, bytes: &[u8]) -> usize {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let capacity = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut decoded = String::with_capacity(capacity.unwrap_or(bytes.len()));
    let (_, read) = decoder.decode_to_string_without_replacement(bytes, &mut decoded, true);
    read.saturating_sub(1)
}
