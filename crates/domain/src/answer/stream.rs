//! Picks the sentences of a draft out of its text while the text still comes in, piece by piece. Must not know what is
//! done with them: a draft is read again as a whole when it is complete.

use charter_contract::json::{Profile, decode_text};

use super::draft::DraftedSentence;

/// The field of a draft that holds its sentences.
const FIELD: &str = "sentences";

/// A draft that is being written.
#[derive(Debug, Default)]
pub struct SentenceStream {
    text: String,
    /// Bytes that were looked at.
    seen: usize,
    /// Objects and lists that are open.
    depth: usize,
    /// Where the string began that is open.
    string: Option<usize>,
    escaped: bool,
    /// The last string of the outermost object: the name of the field that follows.
    name: String,
    /// Whether the list of sentences is open.
    listing: bool,
    /// Where the sentence began that is open.
    sentence: Option<usize>,
}

impl SentenceStream {
    /// Takes the next piece of the text; gives the sentences that it completes.
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

    /// Forgets the text: another attempt begins.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    fn take(&mut self, at: usize, byte: u8) -> Option<DraftedSentence> {
        if self.string.is_some() {
            self.within_string(at, byte);
            return None;
        }
        match byte {
            // Before the outermost object there may be a fence.
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
        // What stands before the outermost object is no JSON.
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
