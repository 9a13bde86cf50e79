//! Filters, alone and in sequence.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use weezl::BitOrder;
use weezl::encode::Encoder;

use super::{pages, parts, show, stream, text};

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn hex(data: &[u8]) -> Vec<u8> {
    let digits: String = data.iter().map(|byte| format!("{byte:02x} ")).collect();
    (digits + ">").into_bytes()
}

fn base_85(data: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for group in data.chunks(4) {
        let mut bytes = [0; 4];
        bytes[..group.len()].copy_from_slice(group);
        let mut value = u32::from_be_bytes(bytes);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = u8::try_from(value % 85).unwrap() + b'!';
            value /= 85;
        }
        text.extend_from_slice(&digits[..=group.len()]);
    }
    text.extend(b"~>");
    text
}

/// Encodes runs of up to 128 literal bytes.
fn runs(data: &[u8]) -> Vec<u8> {
    let mut runs = Vec::new();
    for part in data.chunks(128) {
        runs.push(u8::try_from(part.len() - 1).unwrap());
        runs.extend(part);
    }
    runs.push(128);
    runs
}

#[test]
fn b000_16_every_filter_is_decoded() {
    let content = show(72.0, 700.0, "Rotate the keys of every service").into_bytes();
    let lzw = Encoder::with_tiff_size_switch(BitOrder::Msb, 8)
        .encode(&content)
        .unwrap();
    for (filters, data) in [
        ("/FlateDecode", zlib(&content)),
        ("/LZWDecode", lzw),
        ("/ASCIIHexDecode", hex(&content)),
        ("/ASCII85Decode", base_85(&content)),
        ("/RunLengthDecode", runs(&content)),
        ("[/ASCII85Decode /FlateDecode]", base_85(&zlib(&content))),
    ] {
        let file = pages(&[stream(&format!("/Filter {filters}"), data)], "", &[]);
        assert_eq!(text(&file), "Rotate the keys of every service", "{filters}");
    }
}

/// Rows of five bytes, each preceded by the filter "none".
#[test]
fn predicted_rows_are_reconstructed() {
    let content = show(72.0, 700.0, "Predicted rows");
    let mut padded = content.into_bytes();
    padded.resize(padded.len().next_multiple_of(5), b' ');
    let rows: Vec<u8> = padded
        .chunks(5)
        .flat_map(|row| [&[0], row].concat())
        .collect();
    let entries = "/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 5 >>";
    let file = pages(&[stream(entries, zlib(&rows))], "", &[]);
    assert_eq!(text(&file), "Predicted rows");
}

/// A truncated stream yields the text before the truncation.
#[test]
fn b000_16_a_truncated_stream_is_read_to_its_end() {
    let lines: String = (0..200)
        .map(|line| show(72.0, 700.0 - 3.0 * f64::from(line), &format!("line {line}")))
        .collect();
    let packed = zlib(lines.as_bytes());
    let file = pages(
        &[stream("/Filter /FlateDecode", &packed[..packed.len() / 2])],
        "",
        &[],
    );
    let (text, _) = parts(&file);
    assert!(text.starts_with("line 0\n"), "{text}");
}
