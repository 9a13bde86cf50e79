//! Compressed data that decompresses to 150 times its size: DEFLATE with its fixed codes (RFC 1951), written by hand,
//! so that a bomb of any size is built immediately.

/// Length of the longest match, in bytes.
const MATCH: usize = 258;

/// Bits of a match: eight for its length, five for its distance.
const MATCH_BITS: usize = 13;

/// A bit buffer, filled from the lowest bit of each byte.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    /// Adds the lowest `count` bits of a code, highest bit first, as Huffman codes are written.
    fn code(&mut self, code: u16, count: u32) {
        for at in (0..count).rev() {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut()
                && (code >> at) & 1 == 1
            {
                *last |= 1 << (self.count % 8);
            }
            self.count += 1;
        }
    }
}

/// Compresses one byte below 144, followed by `matches` times [`MATCH`] copies of it.
fn deflated(byte: u8, matches: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // The final block, with fixed codes.
    bits.code(0b1, 1);
    bits.code(0b10, 2);
    bits.code(0x30 + u16::from(byte), 8);
    for _ in 0..matches {
        // Length 258 and distance 1.
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    // End of the block.
    bits.code(0, 7);
    bits.bytes
}

/// Returns a gzip stream of zeros in about `bytes` bytes. It has no checksum: a decoder that reaches it has
/// decompressed everything.
#[must_use]
pub fn gzip_bomb(bytes: usize) -> Vec<u8> {
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    [header.to_vec(), deflated(0, bytes * 8 / MATCH_BITS)].concat()
}

/// Returns a zlib stream that decompresses to at least `inflated` spaces.
#[must_use]
pub fn zlib_bomb(inflated: usize) -> Vec<u8> {
    const SPACE: u8 = b' ';
    const MODULUS: u64 = 65_521;
    let matches = inflated.div_ceil(MATCH);
    // Adler-32 of `count` equal bytes.
    let count = (1 + matches * MATCH) as u64 % (2 * MODULUS);
    let sum = (1 + count * u64::from(SPACE)) % MODULUS;
    let sums = (count + count * (count + 1) / 2 % MODULUS * u64::from(SPACE)) % MODULUS;
    let checksum = [sums.to_be_bytes(), sum.to_be_bytes()].map(|half| [half[6], half[7]]);
    [
        vec![0x78, 0x9c],
        deflated(SPACE, matches),
        checksum.concat(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::{GzDecoder, ZlibDecoder};

    use super::*;

    #[test]
    fn a_bomb_inflates_to_many_times_its_length() {
        let bomb = gzip_bomb(10_000);
        assert!((9_900..10_100).contains(&bomb.len()), "{}", bomb.len());
        let mut inflated = Vec::new();
        // The missing checksum would follow all decompressed data.
        assert!(
            GzDecoder::new(bomb.as_slice())
                .read_to_end(&mut inflated)
                .is_err()
        );
        assert!(inflated.len() > 100 * bomb.len(), "{}", inflated.len());
        assert!(inflated.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_zlib_bomb_has_its_checksum() {
        for spaces in [1, 1_000, 1_000_000] {
            let mut inflated = String::new();
            let bomb = zlib_bomb(spaces);
            ZlibDecoder::new(bomb.as_slice())
                .read_to_string(&mut inflated)
                .unwrap();
            assert!((spaces..spaces + 2 * MATCH).contains(&inflated.len()));
            assert!(inflated.bytes().all(|byte| byte == b' '));
        }
    }
}
