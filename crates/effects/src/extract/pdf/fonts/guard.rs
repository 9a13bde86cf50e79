//! Checks a font's size before hayro reads it: hayro stores a width for each code of a range, and unpacks
//! the font's streams whole.

use charter_contract::bounds::PDF_FONT_WIDTHS;
use hayro_font::hayro_syntax::object::{Array, Dict, Name, Object, Stream};

use super::super::UnreadReason;
use super::super::streams::Unpacking;

/// Streams of a font's dictionary and of its descriptor, with the memory of their readers as a multiple of their size.
const STREAMS: [(&str, usize); 6] = [
    ("ToUnicode", 16),
    ("Encoding", 16),
    ("CIDToGIDMap", 4),
    ("FontFile", 1),
    ("FontFile2", 1),
    ("FontFile3", 1),
];
/// Bytes that a predefined encoding takes in memory, at most.
const PREDEFINED: usize = 4 << 20;

/// Whether the font is within the limits.
pub(super) fn check(dict: &Dict<'_>, unpacking: &mut Unpacking) -> Result<(), UnreadReason> {
    check_dict(dict, unpacking)?;
    let descendants = dict.get::<Array<'_>>("DescendantFonts");
    let descendant = descendants.and_then(|fonts| fonts.iter::<Dict<'_>>().next());
    let Some(descendant) = descendant else {
        return Ok(());
    };
    check_dict(&descendant, unpacking)?;
    let encoding = dict.get::<Name<'_>>("Encoding");
    if encoding.is_some_and(|name| !name.as_ref().starts_with(b"Identity-")) {
        unpacking.take(PREDEFINED)?;
    }
    let widths = ranges(&descendant, "W", 1).saturating_add(ranges(&descendant, "W2", 3));
    if widths > PDF_FONT_WIDTHS {
        return Err(UnreadReason::Font);
    }
    Ok(())
}

fn check_dict(dict: &Dict<'_>, unpacking: &mut Unpacking) -> Result<(), UnreadReason> {
    let first = dict.get::<Object<'_>>("FirstChar");
    let first = first
        .and_then(Object::into_number)
        .map(|code| code.as_i64());
    if first
        .and_then(|first| usize::try_from(first).ok())
        .is_some_and(|first| first > PDF_FONT_WIDTHS)
    {
        return Err(UnreadReason::Font);
    }
    let descriptor = dict.get::<Dict<'_>>("FontDescriptor");
    for dict in [Some(dict), descriptor.as_ref()].into_iter().flatten() {
        for (key, times) in STREAMS {
            if let Some(stream) = dict.get::<Stream<'_>>(key) {
                match unpacking.unpack(&stream) {
                    Ok(data) => unpacking.take(data.len().saturating_mul(times - 1))?,
                    // The reader ignores a damaged stream.
                    Err(UnreadReason::Stream) => {}
                    Err(reason) => return Err(reason),
                }
            }
        }
    }
    Ok(())
}

/// Returns the number of codes for which the array has widths: `first [w …]`, or `first last w` with `values` widths.
fn ranges(dict: &Dict<'_>, key: &str, values: usize) -> usize {
    let Some(array) = dict.get::<Array<'_>>(key) else {
        return 0;
    };
    let mut items = array.iter::<Object<'_>>();
    let mut total: usize = 0;
    while let Some(first) = items.next() {
        match items.next() {
            Some(Object::Array(widths)) => {
                total = total.saturating_add(widths.iter::<Object<'_>>().count());
            }
            Some(last) => {
                let code =
                    |object: Object<'_>| object.into_number().map_or(0, |code| code.as_i64());
                let span = code(last).saturating_sub(code(first)).saturating_add(1);
                total = total.saturating_add(usize::try_from(span).unwrap_or(0));
                for _ in 0..values {
                    items.next();
                }
            }
            None => break,
        }
    }
    total
}
