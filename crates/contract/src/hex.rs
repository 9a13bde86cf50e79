//! Bytes as hexadecimal digits.

/// Two lower-case digits for each byte.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(encode(&[0, 10, 255]), "000aff");
    }
}
