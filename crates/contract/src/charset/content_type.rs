//! The `charset` parameter of a `Content-Type` (RFC 9110, section 8.3.1), as found in practice.

/// Returns the `charset` label of a `Content-Type`; `None` if the parameter has no value.
#[must_use]
pub fn charset_of(content_type: &str) -> Option<&str> {
    let (_, mut rest) = content_type.split_once(';')?;
    loop {
        let end = end_of_parameter(rest);
        let parameter = rest.get(..end)?;
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("charset")
            && let Some(label) = unquoted(value.trim())
        {
            return Some(label);
        }
        rest = rest.get(end + 1..)?;
    }
}

/// Returns the index of the next `;` outside quotes, or the length of the text.
fn end_of_parameter(text: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' if !quoted => return at,
            _ => {}
        }
    }
    text.len()
}

/// Removes the quotes around a value, including invalid ones; `None` if nothing remains.
fn unquoted(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inside = match quote {
        None => value,
        Some(quote) => {
            let rest = &value[1..];
            rest.split(quote).next().unwrap_or(rest)
        }
    };
    let label = inside.trim();
    (!label.is_empty()).then_some(label)
}
