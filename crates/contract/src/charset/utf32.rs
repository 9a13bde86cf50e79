//! UTF-32, which the WHATWG Encoding Standard omits.

/// Byte order of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endian {
    Big,
    Little,
}

/// Bytes per character.
const UNIT: usize = 4;

impl Endian {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Big => "UTF-32BE",
            Self::Little => "UTF-32LE",
        }
    }

    /// Decodes the text, or returns the offset of the first byte that does not fit.
    pub(super) fn strict(self, bytes: &[u8]) -> Result<String, usize> {
        let units = bytes.chunks(UNIT).enumerate();
        let characters = units.map(|(index, unit)| self.character(unit).ok_or(index * UNIT));
        characters.collect()
    }

    /// Decodes the text, with U+FFFD in place of bytes that do not fit.
    pub(super) fn lossy(self, bytes: &[u8]) -> String {
        let characters = bytes.chunks(UNIT).map(|unit| self.character(unit));
        characters
            .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    }

    fn character(self, unit: &[u8]) -> Option<char> {
        let unit: [u8; UNIT] = unit.try_into().ok()?;
        char::from_u32(match self {
            Self::Big => u32::from_be_bytes(unit),
            Self::Little => u32::from_le_bytes(unit),
        })
    }
}
