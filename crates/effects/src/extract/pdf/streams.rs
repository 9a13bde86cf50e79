//! Unpacks the streams of a PDF within limits. A truncated or damaged stream yields the data before the damage.
//!
//! Must not know the purpose of a stream.

use std::borrow::Cow;
use std::io::Read;

use charter_contract::bounds::{PDF_STREAM_BYTES, PDF_UNPACKED_BYTES};
use hayro_font::hayro_syntax::Filter;
use hayro_font::hayro_syntax::object::{Array, Dict, Stream};
use weezl::decode::Decoder;
use weezl::{BitOrder, LzwStatus};

use super::UnreadReason;

/// The bytes that the document may still unpack.
#[derive(Debug)]
pub(super) struct Unpacking {
    remaining: usize,
}

impl Default for Unpacking {
    fn default() -> Self {
        Self {
            remaining: PDF_UNPACKED_BYTES,
        }
    }
}

impl Unpacking {
    /// Unpacks the data of a stream.
    pub(super) fn unpack<'a>(
        &mut self,
        stream: &Stream<'a>,
    ) -> Result<Cow<'a, [u8]>, UnreadReason> {
        let mut data = stream.raw_data();
        for filter in stream.filters() {
            if let Some(unpacked) = self.apply(filter, &data)? {
                data = Cow::Owned(unpacked);
            }
        }
        if data.len() > PDF_STREAM_BYTES {
            return Err(UnreadReason::StreamTooLarge);
        }
        self.take(data.len())?;
        if has_predictor(stream) {
            // The size is already known to be within the limits.
            return stream.decoded_data().map_err(|_| UnreadReason::Stream);
        }
        Ok(data)
    }

    fn apply(&mut self, filter: Filter, data: &[u8]) -> Result<Option<Vec<u8>>, UnreadReason> {
        let most = PDF_STREAM_BYTES.min(self.remaining);
        let unpacked = match filter {
            Filter::Crypt => return Ok(None),
            Filter::FlateDecode => inflate(data, most),
            Filter::LzwDecode => lzw(data, most),
            Filter::AsciiHexDecode => hex(data),
            Filter::Ascii85Decode => base_85(data, most),
            Filter::RunLengthDecode => runs(data, most),
            Filter::CcittFaxDecode
            | Filter::Jbig2Decode
            | Filter::DctDecode
            | Filter::JpxDecode => return Err(UnreadReason::Stream),
        };
        if unpacked.len() > most {
            // Each page that shows it would unpack it again, which takes time.
            self.remaining -= most;
            return Err(if most == PDF_STREAM_BYTES {
                UnreadReason::StreamTooLarge
            } else {
                UnreadReason::DocumentTooLarge
            });
        }
        if unpacked.is_empty() && !data.trim_ascii().is_empty() {
            return Err(UnreadReason::Stream);
        }
        Ok(Some(unpacked))
    }

    /// Counts bytes that a reader holds in another form.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), UnreadReason> {
        self.remaining = self
            .remaining
            .checked_sub(bytes)
            .ok_or(UnreadReason::DocumentTooLarge)?;
        Ok(())
    }
}

fn has_predictor(stream: &Stream<'_>) -> bool {
    let predicts = |parameters: &Dict<'_>| parameters.get::<i32>("Predictor").unwrap_or(1) > 1;
    ["DecodeParms", "DP"].into_iter().any(|key| {
        let dict = stream.dict();
        dict.get::<Dict<'_>>(key).is_some_and(|one| predicts(&one))
            || dict
                .get::<Array<'_>>(key)
                .is_some_and(|many| many.iter::<Dict<'_>>().any(|one| predicts(&one)))
    })
}

/// Reads at most `most` + 1 bytes; an error ends the result, and keeps the data before it.
fn read_up_to(reader: impl Read, most: usize) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    match reader
        .take(most.saturating_add(1))
        .read_to_end(&mut unpacked)
    {
        Ok(_) | Err(_) => unpacked,
    }
}

fn inflate(data: &[u8], most: usize) -> Vec<u8> {
    // Some writers put a line end before the data.
    let data = match data {
        [b'\r', b'\n', rest @ ..] => rest,
        all => all,
    };
    let unpacked = read_up_to(flate2::read::ZlibDecoder::new(data), most);
    if !unpacked.is_empty() {
        return unpacked;
    }
    let bare = read_up_to(flate2::read::DeflateDecoder::new(data), most);
    if bare.is_empty() && data.len() > 2 {
        // The zlib header, of two bytes, is damaged.
        return read_up_to(flate2::read::DeflateDecoder::new(&data[2..]), most);
    }
    bare
}

fn lzw(data: &[u8], most: usize) -> Vec<u8> {
    let mut decoder = Decoder::with_tiff_size_switch(BitOrder::Msb, 8);
    let mut unpacked = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    let mut rest = data;
    while unpacked.len() <= most {
        let step = decoder.decode_bytes(rest, &mut buffer);
        unpacked.extend_from_slice(&buffer[..step.consumed_out]);
        rest = &rest[step.consumed_in..];
        match step.status {
            Ok(LzwStatus::Ok) if step.consumed_in + step.consumed_out > 0 => {}
            Ok(LzwStatus::Ok | LzwStatus::Done | LzwStatus::NoProgress) | Err(_) => break,
        }
    }
    unpacked
}

fn hex(data: &[u8]) -> Vec<u8> {
    let digits = data.iter().take_while(|byte| **byte != b'>');
    let digits: Vec<u8> = digits
        .filter_map(|byte| char::from(*byte).to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4) | pair.get(1).copied().unwrap_or(0))
        .collect()
}

fn base_85(data: &[u8], most: usize) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let mut group = [0_u8; 5];
    let mut held = 0;
    let start = if data.trim_ascii_start().starts_with(b"<~") {
        data.len() - data.trim_ascii_start().len() + 2
    } else {
        0
    };
    for byte in &data[start..] {
        match byte {
            b'z' if held == 0 => unpacked.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => {
                group[held] = byte - b'!';
                held += 1;
                if held == 5 {
                    unpacked.extend_from_slice(&group_bytes(group));
                    held = 0;
                }
            }
            b'~' => break,
            _ => {}
        }
        if unpacked.len() > most {
            return unpacked;
        }
    }
    if held > 1 {
        group[held..].fill(84);
        unpacked.extend_from_slice(&group_bytes(group)[..held - 1]);
    }
    unpacked
}

fn group_bytes(group: [u8; 5]) -> [u8; 4] {
    let value = group.iter().fold(0_u32, |value, digit| {
        value.wrapping_mul(85).wrapping_add(u32::from(*digit))
    });
    value.to_be_bytes()
}

fn runs(data: &[u8], most: usize) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let mut rest = data;
    while let [length, after @ ..] = rest {
        match (*length, after) {
            (128, _) | (_, []) => break,
            (copied @ 0..128, _) => {
                let end = after.len().min(usize::from(copied) + 1);
                unpacked.extend_from_slice(&after[..end]);
                rest = &after[end..];
            }
            (repeated, [byte, after @ ..]) => {
                unpacked.extend(std::iter::repeat_n(*byte, 257 - usize::from(repeated)));
                rest = after;
            }
        }
        if unpacked.len() > most {
            break;
        }
    }
    unpacked
}
