//! Formats such as `@csv` and `@uri`, of a value or of the interpolations in a text.

use jaq_core::native::{bome, unary, v};

use super::Plain;
use crate::jq::value::{JqValue, Outcome, fault, unfit};

/// The names of all formats.
pub(in crate::jq) const FORMATS: [&str; 12] = [
    "@base32", "@base32d", "@base64", "@base64d", "@csv", "@html", "@json", "@sh", "@text", "@tsv",
    "@uri", "@urid",
];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

pub(super) fn filters() -> Box<[Plain]> {
    Box::new([
        ("@base32", v(0), |cv| bome(formatted(&cv.1, "base32"))),
        ("@base32d", v(0), |cv| bome(formatted(&cv.1, "base32d"))),
        ("@base64", v(0), |cv| bome(formatted(&cv.1, "base64"))),
        ("@base64d", v(0), |cv| bome(formatted(&cv.1, "base64d"))),
        ("@csv", v(0), |cv| bome(formatted(&cv.1, "csv"))),
        ("@html", v(0), |cv| bome(formatted(&cv.1, "html"))),
        ("@json", v(0), |cv| bome(formatted(&cv.1, "json"))),
        ("@sh", v(0), |cv| bome(formatted(&cv.1, "sh"))),
        ("@text", v(0), |cv| bome(formatted(&cv.1, "text"))),
        ("@tsv", v(0), |cv| bome(formatted(&cv.1, "tsv"))),
        ("@uri", v(0), |cv| bome(formatted(&cv.1, "uri"))),
        ("@urid", v(0), |cv| bome(formatted(&cv.1, "urid"))),
        ("format", v(1), |cv| {
            unary(cv, |value, format| match &format {
                JqValue::Text(format) => formatted(&value, format),
                other => Err(unfit(other, "is not a valid format")),
            })
        }),
    ])
}

fn formatted(value: &JqValue, format: &str) -> Outcome {
    let text = || match value {
        JqValue::Text(text) => text.as_str().to_owned(),
        other => other.to_string(),
    };
    Ok(JqValue::text(match format {
        "base32" => encoded(text().as_bytes(), BASE32, 5, 8),
        "base32d" => decoded(value, &text(), BASE32, 5)?,
        "base64" => encoded(text().as_bytes(), BASE64, 6, 4),
        "base64d" => decoded(value, &text(), BASE64, 6)?,
        "csv" => row(value, ",", "csv", |text| {
            format!("\"{}\"", text.replace('"', "\"\""))
        })?,
        "html" => text().chars().map(html).collect(),
        "json" => value.to_string(),
        "sh" => shell(value)?,
        "text" => text(),
        "tsv" => row(value, "\t", "tsv", |text| {
            text.chars().map(tabbed).collect()
        })?,
        "uri" => text().bytes().map(percent).collect(),
        "urid" => unescaped(value, &text())?,
        other => return Err(fault(format!("{other} is not a valid format"))),
    }))
}

/// Formats the elements of a list as a row.
fn row(
    value: &JqValue,
    separator: &str,
    format: &str,
    quote: fn(&str) -> String,
) -> Outcome<String> {
    let JqValue::List(items) = value else {
        let message = format!("cannot be {format}-formatted, only array");
        return Err(unfit(value, &message));
    };
    let cell = |item: &JqValue| match item {
        JqValue::Null => Ok(String::new()),
        JqValue::Number(number) if number.is_nan() => Ok(String::new()),
        JqValue::Bool(_) | JqValue::Number(_) => Ok(item.to_string()),
        JqValue::Text(text) => Ok(quote(text)),
        JqValue::List(_) | JqValue::Object(_) => Err(unfit(item, "is not valid in a csv row")),
    };
    let cells = items.iter().map(cell).collect::<Outcome<Vec<String>>>()?;
    Ok(cells.join(separator))
}

fn tabbed(c: char) -> String {
    match c {
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        '\n' => "\\n".to_owned(),
        '\\' => "\\\\".to_owned(),
        other => other.to_string(),
    }
}

fn html(c: char) -> String {
    match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '\'' => "&apos;".to_owned(),
        '"' => "&quot;".to_owned(),
        other => other.to_string(),
    }
}

/// Quotes words for a shell.
fn shell(value: &JqValue) -> Outcome<String> {
    let word = |item: &JqValue| match item {
        JqValue::Text(text) => Ok(format!("'{}'", text.replace('\'', "'\\''"))),
        JqValue::Null | JqValue::Bool(_) | JqValue::Number(_) => Ok(item.to_string()),
        JqValue::List(_) | JqValue::Object(_) => Err(unfit(item, "can not be escaped for shell")),
    };
    match value {
        JqValue::List(items) => {
            let words = items.iter().map(word).collect::<Outcome<Vec<String>>>()?;
            Ok(words.join(" "))
        }
        other => word(other),
    }
}

fn percent(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    }
}

fn unescaped(value: &JqValue, text: &str) -> Outcome<String> {
    let fault = || unfit(value, "is not a valid uri encoding");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escaped)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let (digits, after) = escaped.split_at_checked(2).ok_or_else(fault)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(fault());
        }
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| fault())?);
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|_| fault())
}

/// Encodes bytes with `bits` bits per character, padded to whole blocks.
fn encoded(bytes: &[u8], alphabet: &[u8], bits: u32, block: usize) -> String {
    let mut text = String::new();
    let (mut held, mut count) = (0_u32, 0);
    let write = |text: &mut String, index: u32| {
        let index = index & ((1 << bits) - 1);
        let character = alphabet.get(index as usize).copied().unwrap_or_default();
        text.push(char::from(character));
    };
    for byte in bytes {
        held = (held << 8) | u32::from(*byte);
        count += 8;
        while count >= bits {
            count -= bits;
            write(&mut text, held >> count);
        }
        held &= (1 << count) - 1;
    }
    if count > 0 {
        write(&mut text, held << (bits - count));
    }
    while !text.len().is_multiple_of(block) {
        text.push('=');
    }
    text
}

fn decoded(value: &JqValue, text: &str, alphabet: &[u8], bits: u32) -> Outcome<String> {
    let mut bytes = Vec::new();
    let (mut held, mut count, mut read) = (0_u32, 0, 0_usize);
    for byte in text.bytes().take_while(|byte| *byte != b'=') {
        let index = alphabet.iter().position(|known| *known == byte);
        let index = index.and_then(|index| u32::try_from(index).ok());
        let index = index.ok_or_else(|| match bits {
            6 => unfit(value, "is not valid base64 data"),
            _ => unfit(value, "is not valid base32 data"),
        })?;
        held = (held << bits) | index;
        count += bits;
        read += 1;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((held >> count) & 0xff).unwrap_or_default());
        }
        held &= (1 << count) - 1;
    }
    if bits == 6 && read % 4 == 1 {
        return Err(unfit(value, "trailing base64 byte found"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
