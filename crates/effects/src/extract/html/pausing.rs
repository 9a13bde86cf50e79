//! A reader that bounds the stack of the tokenizer.
//!
//! From an attribute in double quotes to the next one the tokenizer calls itself, so that a tag with many of them
//! overflows the stack. An error of the reader ends these calls, and the tokenizer continues in the state that it
//! reached. The reader returns one at the beginning of each value, where the state is complete and nothing has been
//! read.

use html5gum::{Readable, Reader, StringReader};

/// The characters that the tokenizer looks for in a value in double quotes, and only there.
const END_OF_VALUE: &[u8] = b"\"&";

/// A pause of the tokenizer.
#[derive(Debug, thiserror::Error)]
#[error("the tokenizer pauses")]
pub(super) struct Pause;

/// A page that is read with a pause in each attribute value in double quotes.
pub(super) struct PausingReader<'p> {
    page: StringReader<'p>,
    /// Whether there was a pause in the current value.
    has_paused: bool,
}

impl<'p> PausingReader<'p> {
    pub(super) fn new(page: &'p str) -> Self {
        Self {
            page: page.to_reader(),
            has_paused: false,
        }
    }
}

impl Reader for PausingReader<'_> {
    type Error = Pause;

    fn read_byte(&mut self) -> Result<Option<u8>, Pause> {
        self.page.read_byte().map_err(|never| match never {})
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Pause> {
        let read = self.page.try_read_string(text, case_sensitive);
        read.map_err(|never| match never {})
    }

    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        char_buf: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Pause> {
        let is_in_value = needle.starts_with(END_OF_VALUE);
        if is_in_value && !self.has_paused {
            self.has_paused = true;
            return Err(Pause);
        }
        self.has_paused = is_in_value;
        let read = self.page.read_until(needle, char_buf);
        read.map_err(|never| match never {})
    }
}
