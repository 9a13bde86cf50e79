//! Bytes as hexadecimal digits.

const DIGITS: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];

/// Two lower-case digits for each byte.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.extend([byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(encode(&[0, 10, 255]), "000aff");
    }
}
