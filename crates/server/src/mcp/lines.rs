//! A client whose messages are lines of a stream, such as standard input. Each is measured before it is read; where one
//! is refused, its sender is told, and the connection goes on. Must not know what a message asks for.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;

use charter_contract::error_code::ErrorCode;
use charter_contract::json::{
    JsonFault, Line, Lines, Profile, TooMuch, decode, decode_beside_numbers,
};
use charter_engine::EngineError;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Empty, empty};

use super::failure::protocol_error;

/// How much is read at a time.
const PIECE_BYTES: usize = 8 << 10;

/// What a text may begin with, which is no part of it (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A message that is written.
type Sending = Pin<Box<dyn Future<Output = Result<(), io::Error>> + Send>>;

/// The server's end of a connection whose messages are lines.
pub struct LineTransport<R, W: AsyncWrite> {
    input: R,
    piece: Vec<u8>,
    lines: Lines,
    /// Lines that are not read yet.
    waiting: VecDeque<Line>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    /// The answer to a message that is refused.
    refusing: Option<Sending>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Before the first message.
    #[must_use]
    pub fn new(input: R, output: W) -> Self {
        Self {
            input,
            piece: vec![0; PIECE_BYTES],
            lines: Lines::new(Profile::MESSAGE),
            waiting: VecDeque::new(),
            output: AsyncRwTransport::new(empty(), output),
            refusing: None,
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.output.send(message)
    }

    // It may be dropped at any `await`: whatever was taken in is in `self` then.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let refused = refusing.await;
                self.refusing = None;
                refused.ok()?;
            }
            while let Some(line) = self.waiting.pop_front() {
                match read(&line) {
                    Read::Message(message) => return Some(*message),
                    Read::Nothing => {}
                    Read::Refused(answer) => {
                        self.refusing = Some(Box::pin(self.output.send(*answer)));
                        break;
                    }
                }
            }
            if self.refusing.is_some() {
                continue;
            }
            let taken = self.input.read(&mut self.piece).await;
            let taken =
                taken.inspect_err(|error| tracing::error!(%error, "reading from the client"));
            let piece = self.piece.get(..taken.ok()?).unwrap_or_default();
            if piece.is_empty() {
                return None;
            }
            self.lines.feed(piece, |line| self.waiting.push_back(line));
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.output.close().await
    }
}

/// What a line comes to.
enum Read {
    Message(Box<ClientJsonRpcMessage>),
    /// Its sender is told why it is not read.
    Refused(Box<ServerJsonRpcMessage>),
    /// It is empty or no JSON, or a notification that is not known or not read.
    Nothing,
}

fn read(line: &Line) -> Read {
    let text = line.bytes.as_slice();
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Some(much) = &line.refused {
        return match Refusal::of(text, much) {
            Refusal::Answer(answer) => Read::Refused(answer),
            Refusal::Instead(failure) => Read::Message(failure),
            Refusal::Silent => Read::Nothing,
            Refusal::Unknown => Read::Refused(refused(much, None)),
        };
    }
    match decode(text, Profile::MESSAGE) {
        Ok(message) => Read::Message(Box::new(message)),
        Err(JsonFault::Form(error)) if error.is_data() => {
            let asking = decode::<Asking>(text, Profile::MESSAGE).ok();
            let asking = asking.filter(|message| message.method.is_some());
            if asking.as_ref().is_some_and(|message| message.id.is_none()) {
                return Read::Nothing;
            }
            let message = format!("the line is no message of the protocol: {error}");
            let error = ErrorData::invalid_request(message, None);
            let id = asking.and_then(|message| message.id);
            Read::Refused(Box::new(ServerJsonRpcMessage::error(error, id)))
        }
        // A client that takes an answer for its own message would send it back, and so on.
        Err(error) => {
            tracing::debug!(%error, "a line of the client is no message");
            Read::Nothing
        }
    }
}

/// What of a message is read where the rest of it is refused.
#[derive(Deserialize)]
struct Asking {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

/// What is done about a message that is refused.
pub(super) enum Refusal {
    /// It is a request, which is answered.
    Answer(Box<ServerJsonRpcMessage>),
    /// It is an answer that is waited for: this comes in its place.
    Instead(Box<ClientJsonRpcMessage>),
    /// It is a notification.
    Silent,
    /// It is too large for anything of it to be read, or no message.
    Unknown,
}

impl Refusal {
    /// What is done about a message that is refused for `much`.
    pub(super) fn of(message: &[u8], much: &TooMuch) -> Self {
        match decode_beside_numbers::<Asking>(message, Profile::MESSAGE) {
            Ok(Asking {
                id: Some(id),
                method: Some(_),
            }) => Self::Answer(refused(much, Some(id))),
            Ok(Asking {
                id: Some(id),
                method: None,
            }) => {
                let failure = ClientJsonRpcMessage::error(fault(much), Some(id));
                Self::Instead(Box::new(failure))
            }
            Ok(Asking {
                id: None,
                method: Some(_),
            }) => Self::Silent,
            Ok(Asking {
                id: None,
                method: None,
            })
            | Err(_) => Self::Unknown,
        }
    }
}

fn refused(much: &TooMuch, id: Option<RequestId>) -> Box<ServerJsonRpcMessage> {
    Box::new(ServerJsonRpcMessage::error(fault(much), id))
}

fn fault(much: &TooMuch) -> ErrorData {
    let message = format!("the message {much}");
    protocol_error(&EngineError::new(ErrorCode::InvalidRequest, message))
}

#[cfg(test)]
mod tests;
