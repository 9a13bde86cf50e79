//! Extracts the sentences of a draft incrementally while its text arrives. Must not know how they are used: a complete
//! draft is parsed again as a whole.

use charter_contract::json::{Profile, decode_text};

use super::draft::DraftedSentence;

/// The field of a draft that holds its sentences.
const FIELD: &str = "sentences";

/// A draft that is still being received.
#[derive(Debug, Default)]
pub struct SentenceStream {
    text: String,
    /// The number of bytes that were scanned.
    seen: usize,
    /// The number of open objects and lists.
    depth: usize,
    /// The start of the open string, if any.
    string: Option<usize>,
    escaped: bool,
    /// The last string of the outermost object: the name of the next field.
    name: String,
    /// Whether the list of sentences is open.
    listing: bool,
    /// The start of the open sentence, if any.
    sentence: Option<usize>,
}

impl SentenceStream {
    /// Appends the next piece of text and returns the sentences that it completes.
    pub fn push(&mut self, piece: &str) -> Vec<DraftedSentence> {
        self.text.push_str(piece);
        let mut complete = Vec::new();
        while let Some(byte) = self.text.as_bytes().get(self.seen).copied() {
            let at = self.seen;
            self.seen += 1;
            if let Some(sentence) = self.take(at, byte) {
                complete.push(sentence);
            }
        }
        complete
    }

    /// Discards the text, because another attempt begins.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    fn take(&mut self, at: usize, byte: u8) -> Option<DraftedSentence> {
        if self.string.is_some() {
            self.within_string(at, byte);
            return None;
        }
        match byte {
            // A code fence may precede the outermost object.
            b'"' if self.depth > 0 => self.string = Some(at + 1),
            b'{' | b'[' => self.open(at, byte),
            b'}' | b']' => return self.close(at, byte),
            _ => {}
        }
        None
    }

    fn within_string(&mut self, at: usize, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => {
                let began = self.string.take().unwrap_or(at);
                if self.depth == 1 {
                    self.name = self.text.get(began..at).unwrap_or_default().to_owned();
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, at: usize, byte: u8) {
        // Text before the outermost object is not JSON.
        if self.depth == 0 && byte == b'[' {
            return;
        }
        if self.depth == 1 && byte == b'[' && self.name == FIELD {
            self.listing = true;
        }
        if self.depth == 2 && byte == b'{' && self.listing {
            self.sentence = Some(at);
        }
        self.depth += 1;
    }

    fn close(&mut self, at: usize, byte: u8) -> Option<DraftedSentence> {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 1 && byte == b']' {
            self.listing = false;
        }
        if self.depth != 2 || byte != b'}' {
            return None;
        }
        let began = self.sentence.take()?;
        decode_text(self.text.get(began..=at)?, Profile::DRAFT).ok()
    }
}
