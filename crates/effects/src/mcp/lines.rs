//! Checks the size of messages on a server's standard output before the SDK parses them.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use charter_contract::charset::bytes_without_mark;
use charter_contract::json::{JsonLimitExceeded, Line, Lines, Profile, decode_beside_numbers};
use rmcp::model::RequestId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};

use super::http;

/// Size of the read buffer.
const PIECE_BYTES: usize = 8 << 10;

/// Passes on a server's messages line by line. A message that exceeds a limit ends the connection, so that its request
/// fails at once. A response whose numbers would be rounded is replaced by an error response; other such messages are
/// dropped.
pub(super) struct Bounded<R> {
    inner: R,
    lines: Lines,
    /// Complete lines; the first `given` bytes were passed on.
    ready: Vec<u8>,
    given: usize,
    fault: Arc<OnceLock<String>>,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R, fault: Arc<OnceLock<String>>) -> Self {
        Self {
            inner,
            lines: Lines::new(Profile::MCP_MESSAGE),
            ready: Vec::new(),
            given: 0,
            fault,
        }
    }

    /// Adds bytes, and completes lines.
    fn take_in(&mut self, read: &[u8]) -> Result<(), JsonLimitExceeded> {
        let (ready, mut first) = (&mut self.ready, None);
        self.lines.feed(read, |line| match passable(line) {
            Ok(mut bytes) => ready.append(&mut bytes),
            Err(much) => {
                first.get_or_insert(much);
            }
        });
        first.map_or(Ok(()), Err)
    }

    /// Passes complete lines on; returns whether there were any.
    fn give(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let left = self.ready.get(self.given..).unwrap_or_default();
        let (now, later) = left.split_at(left.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.given += now.len();
        let (gave, all) = (!now.is_empty(), later.is_empty());
        if all {
            self.ready.clear();
            self.given = 0;
        }
        gave
    }

    fn broken_off(&self, much: &JsonLimitExceeded) -> io::Error {
        let said = match much {
            JsonLimitExceeded::Bytes { limit, .. } => {
                format!("it sent a message of more than {limit} bytes")
            }
            JsonLimitExceeded::Levels { .. }
            | JsonLimitExceeded::Memory { .. }
            | JsonLimitExceeded::Number { .. } => {
                format!("it sent a message that {much}")
            }
        };
        let error = io::Error::new(io::ErrorKind::FileTooLarge, said.clone());
        // Only the first fault is kept.
        drop(self.fault.set(said));
        error
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if buffer.remaining() == 0 || this.give(buffer) {
                return Poll::Ready(Ok(()));
            }
            let mut piece = [0_u8; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut piece))?;
            if piece.filled().is_empty() {
                // At the end, the rest is an incomplete line.
                this.ready.append(&mut this.lines.rest());
                this.give(buffer);
                return Poll::Ready(Ok(()));
            }
            if let Err(much) = this.take_in(piece.filled()) {
                return Poll::Ready(Err(this.broken_off(&much)));
            }
        }
    }
}

/// The fields that show whether a message is a response.
#[derive(Deserialize)]
struct MessageHead {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

/// Returns the line, or its replacement.
fn passable(line: Line) -> Result<Vec<u8>, JsonLimitExceeded> {
    let much = match line.refused {
        Some(much @ JsonLimitExceeded::Number { .. }) if !http::is_of_listing(&much) => much,
        Some(JsonLimitExceeded::Number { .. }) | None => {
            return Ok(bytes_without_mark(&line.bytes).to_vec());
        }
        Some(much) => return Err(much),
    };
    let said = format!("its answer {much}");
    tracing::warn!(said, "ignoring a message of an MCP server");
    let head = decode_beside_numbers::<MessageHead>(&line.bytes, Profile::MCP_MESSAGE).ok();
    let response = head.filter(|message| message.method.is_none());
    let failure = response.and_then(|message| message.id).and_then(|id| {
        let failure = http::failure_of(id, &said);
        serde_json::to_vec(&failure).ok()
    });
    Ok(failure.map_or_else(Vec::new, |mut failure| {
        failure.push(b'\n');
        failure
    }))
}

#[cfg(test)]
mod tests {
    use charter_contract::bounds::JSON_BYTES;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn the_bound_applies_to_each_message_separately() {
        let line = [vec![b'x'; JSON_BYTES], vec![b'\n']].concat();
        let deep = "[".repeat(80) + &"]".repeat(80) + "\n";
        let heavy = "{\"\":0},".repeat(45_000);
        for (sent, reason) in [
            ([line.clone(), line.clone()].concat(), None),
            (deep.repeat(3).into_bytes(), None),
            (format!("{heavy}\n{heavy}\n").into_bytes(), None),
            (
                [vec![b'y'], line].concat(),
                Some("it sent a message of more than 16777216 bytes"),
            ),
            (
                format!("{deep}[{deep}").into_bytes(),
                Some("it sent a message that nests more than 80 levels deep; flatten it"),
            ),
            (
                format!("[{heavy}{heavy}\n").into_bytes(),
                Some(
                    "it sent a message that has so many values that it takes more than 19922944 bytes of memory; \
                     send fewer",
                ),
            ),
        ] {
            let fault = Arc::<OnceLock<String>>::default();
            let mut bounded = Bounded::new(sent.as_slice(), Arc::clone(&fault));
            let read = bounded.read_to_end(&mut Vec::new()).await;
            assert_eq!(read.is_ok(), reason.is_none());
            assert_eq!(fault.get().map(String::as_str), reason);
        }
    }

    /// Servers whose runtime writes byte order marks begin a line, often the first, with one.
    #[tokio::test]
    async fn a_byte_order_mark_is_not_part_of_a_message() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let sent = format!("\u{feff}{message}\n{message}\n\u{feff}{message}\n");
        let mut bounded = Bounded::new(sent.as_bytes(), Arc::default());
        let mut read = String::new();
        bounded.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, format!("{message}\n").repeat(3));
    }

    /// One request fails, and the connection continues.
    #[tokio::test]
    async fn an_answer_with_a_rounded_number_fails_its_request() {
        let long = "123456789012345678901";
        let answer = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"structuredContent":{{"n":{long}}}}}}}"#
            )
        };
        let good = r#"{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"n":1e3}}}"#;
        let listed = format!(
            r#"{{"jsonrpc":"2.0","id":3,"result":{{"tools":[{{"inputSchema":{{"maximum":{long}}}}}]}}}}"#
        );
        let asks = format!(r#"{{"jsonrpc":"2.0","id":4,"method":"ping","params":{{"n":{long}}}}}"#);
        let (first, last) = (answer("1"), answer("\"x\""));
        let sent = [&*first, good, &*listed, &*asks, &*last, "{\"cut"].join("\n");
        let fault = Arc::<OnceLock<String>>::default();
        let mut bounded = Bounded::new(sent.as_bytes(), Arc::clone(&fault));
        let mut read = String::new();
        bounded.read_to_string(&mut read).await.unwrap();
        let lines: Vec<&str> = read.lines().collect();
        let failure = |id: serde_json::Value| {
            let message = format!(
                "its answer has the number {long} at `/result/structuredContent/n`, which would be rounded: an \
                 integer has at most 64 bits, any other number is at most 1.8e308; send it as text"
            );
            serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32_090, "message": message}})
        };
        let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        assert_eq!(value(lines[0]), failure(1.into()));
        assert_eq!(lines[1..3], [good, listed.as_str()]);
        assert_eq!(value(lines[3]), failure("x".into()));
        assert_eq!(lines[4..], ["{\"cut"]);
        assert_eq!(fault.get(), None);
    }
}
