//! The letters of a composite font without its own table: from the Adobe character collection that its codes belong to.

use hayro_font::hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_font::hayro_syntax::object::{Array, Dict, Name, Object, String as PdfString};

/// Maps a code to a letter, through the collection's number for it.
pub(super) struct CidLetters {
    numbers: CMap,
    letters: Option<CMap>,
}

impl CidLetters {
    /// Reads a composite font; `None` for other fonts.
    pub(super) fn from_font(dict: &Dict<'_>) -> Option<Self> {
        let kind = dict.get::<Name<'_>>("Subtype")?;
        if kind.as_ref() != b"Type0" {
            return None;
        }
        let numbers = numbers(dict).unwrap_or_else(CMap::identity_h);
        let named = numbers.metadata().character_collection.as_ref();
        let family = named
            .map(|collection| collection.family.clone())
            .filter(|family| *family != CidFamily::AdobeIdentity)
            .or_else(|| declared(dict));
        let letters = family
            .and_then(|family| family.ucs2_cmap())
            .and_then(embedded);
        Some(Self { numbers, letters })
    }

    /// Returns the letters of a code.
    pub(super) fn letter(&self, code: u32) -> Option<String> {
        let letters = self.letters.as_ref()?;
        let number = (1..=4).find_map(|length| self.numbers.lookup_cid_code(code, length))?;
        match letters.lookup_bf_string(number)? {
            BfString::Char(letter) => Some(letter.to_string()),
            BfString::String(letters) => Some(letters),
        }
    }
}

fn numbers(dict: &Dict<'_>) -> Option<CMap> {
    match dict.get::<Object<'_>>("Encoding")? {
        Object::Name(name) => match CMapName::from_bytes(name.as_ref()) {
            CMapName::IdentityH | CMapName::IdentityV => None,
            name => embedded(name),
        },
        Object::Stream(stream) => CMap::parse(&stream.decoded_data().ok()?, load_embedded),
        _ => None,
    }
}

fn embedded(name: CMapName<'_>) -> Option<CMap> {
    CMap::parse(load_embedded(name)?, load_embedded)
}

fn declared(dict: &Dict<'_>) -> Option<CidFamily> {
    let descendants = dict.get::<Array<'_>>("DescendantFonts")?;
    let descendant = descendants.iter::<Dict<'_>>().next()?;
    let info = descendant.get::<Dict<'_>>("CIDSystemInfo")?;
    let registry = info.get::<PdfString<'_>>("Registry")?;
    let ordering = info.get::<PdfString<'_>>("Ordering")?;
    Some(CidFamily::from_registry_ordering(
        registry.as_bytes(),
        ordering.as_bytes(),
    ))
}
