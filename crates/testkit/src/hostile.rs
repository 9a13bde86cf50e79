//! Hostile documents: ten shapes, each of any length, and larger ones from a description ([`expand()`]). The fuzz
//! targets and the end-to-end suite use these shapes. Knows no parser and no interface.

mod bomb;
mod expand;

pub use bomb::{gzip_bomb, zlib_bomb};
pub use expand::{BadShape, expand};

/// A shape of a hostile document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hostile {
    /// Nested lists.
    Deep,
    /// A list of many small values.
    Many,
    /// A JSON Schema in which each part refers to the next one twice.
    References,
    /// Unpaired surrogate escapes.
    Surrogates,
    /// A few bytes that decompress to many.
    Bomb,
    /// One long string.
    Text,
    /// One field, repeated many times.
    Duplicates,
    /// Numbers with many digits, and with huge exponents.
    Numbers,
    /// An object with many fields.
    Wide,
    /// Bytes that are not UTF-8; as a body, XML with expanding entities.
    Foreign,
}

/// Numbers with a long, huge or tiny value.
const NUMBERS: [&str; 6] = [
    "1e400",
    "-1E+999999999",
    "1e-999999999",
    "-0.0",
    "340282366920938463463374607431768211456",
    "0.1000000000000000055511151231257827021181583404541015625",
];

/// Entities that expand to each other.
const ENTITIES: &str = "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\">\
     <!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;\">]>\n<a>";

impl Hostile {
    /// All shapes.
    pub const ALL: [Self; 10] = [
        Self::Deep,
        Self::Many,
        Self::References,
        Self::Surrogates,
        Self::Bomb,
        Self::Text,
        Self::Duplicates,
        Self::Numbers,
        Self::Wide,
        Self::Foreign,
    ];

    /// Returns the shape as a JSON value of about `bytes` bytes and not much more. Some shapes make the whole document
    /// unreadable, for example bytes that are not UTF-8.
    #[must_use]
    pub fn value(self, bytes: usize) -> Vec<u8> {
        match self {
            Self::Deep => {
                let levels = bytes / 2;
                ("[".repeat(levels) + &"]".repeat(levels)).into_bytes()
            }
            Self::Many => repeated(bytes, "[", "0", "]"),
            Self::References => references(bytes),
            Self::Surrogates => repeated(bytes, "[", r#""\ud800\udbff\udc00x\ud83d""#, "]"),
            Self::Bomb => {
                let bomb = gzip_bomb(bytes / 6);
                let escaped: String = bomb.iter().map(|byte| format!("\\u{byte:04x}")).collect();
                format!("\"{escaped}\"").into_bytes()
            }
            Self::Text => format!("\"{}\"", "a".repeat(bytes)).into_bytes(),
            Self::Duplicates => repeated(bytes, "{", "\"id\":{}", "}"),
            Self::Numbers => listed(bytes, "[", "]", number),
            Self::Wide => listed(bytes, "{", "}", |at| format!("\"f{at}\":0")),
            Self::Foreign => [b"\"".to_vec(), vec![0xff; bytes], b"\"".to_vec()].concat(),
        }
    }

    /// Returns the shape as a whole body of about `bytes` bytes; [`Self::media`] describes it.
    #[must_use]
    pub fn body(self, bytes: usize) -> Vec<u8> {
        match self {
            Self::Bomb => gzip_bomb(bytes),
            Self::Foreign => {
                let text = ENTITIES.to_owned() + &"&d;".repeat(bytes / 6);
                text.encode_utf16().flat_map(u16::to_le_bytes).collect()
            }
            Self::Deep
            | Self::Many
            | Self::References
            | Self::Surrogates
            | Self::Text
            | Self::Duplicates
            | Self::Numbers
            | Self::Wide => self.value(bytes),
        }
    }

    /// Returns the media type of the body, and its content encoding, if it has one.
    #[must_use]
    pub fn media(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Bomb => ("application/json", Some("gzip")),
            Self::Foreign => ("application/xml; charset=utf-16", None),
            Self::Deep
            | Self::Many
            | Self::References
            | Self::Surrogates
            | Self::Text
            | Self::Duplicates
            | Self::Numbers
            | Self::Wide => ("application/json", None),
        }
    }
}

/// Repeats one item, separated by commas.
fn repeated(bytes: usize, open: &str, item: &str, close: &str) -> Vec<u8> {
    let more = bytes.saturating_sub(item.len() + 2) / (item.len() + 1);
    let items = format!("{item},").repeat(more);
    format!("{open}{items}{item}{close}").into_bytes()
}

/// Joins items with commas.
fn listed(bytes: usize, open: &str, close: &str, item: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = open.to_owned() + &item(0);
    let mut at = 1;
    while text.len() < bytes {
        text.push(',');
        text.push_str(&item(at));
        at += 1;
    }
    (text + close).into_bytes()
}

fn number(at: usize) -> String {
    match NUMBERS.get(at % (NUMBERS.len() + 1)) {
        Some(number) => (*number).to_owned(),
        None => "9".repeat(400),
    }
}

fn references(bytes: usize) -> Vec<u8> {
    let part = |at: usize| {
        let next = at + 1;
        format!(
            "\"d{at}\":{{\"allOf\":[{{\"$ref\":\"#/$defs/d{next}\"}},{{\"$ref\":\"#/$defs/d{next}\"}}]}}"
        )
    };
    let open = "{\"type\":\"object\",\"$ref\":\"#/$defs/d0\",\"$defs\":{";
    let mut text = open.to_owned() + &part(0);
    let mut at = 1;
    while text.len() < bytes {
        text.push(',');
        text.push_str(&part(at));
        at += 1;
    }
    (text + &format!(",\"d{at}\":{{}}}}}}")).into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_shape_has_about_the_requested_length() {
        for shape in Hostile::ALL {
            for bytes in [1_000, 100_000] {
                for made in [shape.value(bytes), shape.body(bytes)] {
                    assert!(
                        (bytes * 9 / 10..bytes + 1_000).contains(&made.len()),
                        "{shape:?}: {}",
                        made.len()
                    );
                }
            }
        }
    }

    /// A parser without limits accepts the shapes that are valid JSON.
    #[test]
    fn short_shapes_match_their_names() {
        let read = |shape: Hostile| serde_json::from_slice::<Value>(&shape.value(200));
        for (shape, is_json) in [
            (Hostile::Deep, true),
            (Hostile::Many, true),
            (Hostile::References, true),
            (Hostile::Surrogates, false),
            (Hostile::Bomb, true),
            (Hostile::Text, true),
            (Hostile::Duplicates, true),
            (Hostile::Numbers, false),
            (Hostile::Wide, true),
            (Hostile::Foreign, false),
        ] {
            assert_eq!(read(shape).is_ok(), is_json, "{shape:?}");
        }
        let references = read(Hostile::References).unwrap();
        let parts = references["$defs"].as_object().unwrap();
        let last = format!("d{}", parts.len() - 1);
        assert_eq!(parts[&last], serde_json::json!({}));
    }
}
