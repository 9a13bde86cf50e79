//! The transport for clients that send one message per line, such as on standard input. Each message is measured before it
//! is parsed. A refused message gets an error response, and the connection continues.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;

use charter_contract::charset::bytes_without_mark;
use charter_contract::error_code::ErrorCode;
use charter_contract::json::{
    JsonFault, JsonLimitExceeded, Line, Lines, Profile, decode, decode_beside_numbers,
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

/// Size of the read buffer.
const PIECE_BYTES: usize = 8 << 10;

/// The write of an error response.
type PendingWrite = Pin<Box<dyn Future<Output = Result<(), io::Error>> + Send>>;

/// The server's end of a connection with one message per line.
pub struct LineTransport<R, W: AsyncWrite> {
    input: R,
    piece: Vec<u8>,
    lines: Lines,
    /// Lines that are not parsed yet.
    waiting: VecDeque<Line>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    /// The error response for a refused message.
    refusing: Option<PendingWrite>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// A connection over two streams.
    #[must_use]
    pub fn new(input: R, output: W) -> Self {
        Self {
            input,
            piece: vec![0; PIECE_BYTES],
            lines: Lines::new(Profile::MCP_MESSAGE),
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

    // Cancel-safe: all state between two `await`s is in `self`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let refused = refusing.await;
                self.refusing = None;
                refused.ok()?;
            }
            while let Some(line) = self.waiting.pop_front() {
                match parse(&line) {
                    ParsedLine::Message(message) => return Some(*message),
                    ParsedLine::Nothing => {}
                    ParsedLine::Refused(answer) => {
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

/// The result of parsing a line.
enum ParsedLine {
    Message(Box<ClientJsonRpcMessage>),
    /// The error response for the line.
    Refused(Box<ServerJsonRpcMessage>),
    /// The line is empty, not JSON, or an invalid notification.
    Nothing,
}

fn parse(line: &Line) -> ParsedLine {
    let text = line.bytes.as_slice();
    let text = bytes_without_mark(text);
    if let Some(much) = &line.refused {
        return match Refusal::for_message(text, much) {
            Refusal::Answer(answer) => ParsedLine::Refused(answer),
            Refusal::Instead(failure) => ParsedLine::Message(failure),
            Refusal::Silent => ParsedLine::Nothing,
            Refusal::Unknown => ParsedLine::Refused(over_limit_error(much, None)),
        };
    }
    match decode(text, Profile::MCP_MESSAGE) {
        Ok(message) => ParsedLine::Message(Box::new(message)),
        Err(JsonFault::Form(error)) if error.is_data() => {
            let head = decode::<MessageHead>(text, Profile::MCP_MESSAGE).ok();
            let head = head.filter(|message| message.method.is_some());
            if head.as_ref().is_some_and(|message| message.id.is_none()) {
                return ParsedLine::Nothing;
            }
            let message = format!("the line is not a message of the protocol: {error}");
            let error = ErrorData::invalid_request(message, None);
            let id = head.and_then(|message| message.id);
            ParsedLine::Refused(Box::new(ServerJsonRpcMessage::error(error, id)))
        }
        // An error response without an id could be echoed by the client, endlessly.
        Err(error) => {
            tracing::debug!(%error, "a line of the client is not a message");
            ParsedLine::Nothing
        }
    }
}

/// The fields of a message that identify it.
#[derive(Deserialize)]
struct MessageHead {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

/// The handling of a refused message.
pub(super) enum Refusal {
    /// A request: this error response is sent.
    Answer(Box<ServerJsonRpcMessage>),
    /// A response: this error takes its place, so that the server's request ends.
    Instead(Box<ClientJsonRpcMessage>),
    /// A notification: it is dropped.
    Silent,
    /// Its id cannot be read.
    Unknown,
}

impl Refusal {
    /// The handling of a message that is refused because of `much`.
    pub(super) fn for_message(message: &[u8], much: &JsonLimitExceeded) -> Self {
        // The fields that are left out take no memory.
        match decode_beside_numbers::<MessageHead>(message, Profile::MESSAGE) {
            Ok(MessageHead {
                id: Some(id),
                method: Some(_),
            }) => Self::Answer(over_limit_error(much, Some(id))),
            Ok(MessageHead {
                id: Some(id),
                method: None,
            }) => {
                let failure = ClientJsonRpcMessage::error(fault(much), Some(id));
                Self::Instead(Box::new(failure))
            }
            Ok(MessageHead {
                id: None,
                method: Some(_),
            }) => Self::Silent,
            Ok(MessageHead {
                id: None,
                method: None,
            })
            | Err(_) => Self::Unknown,
        }
    }
}

fn over_limit_error(much: &JsonLimitExceeded, id: Option<RequestId>) -> Box<ServerJsonRpcMessage> {
    Box::new(ServerJsonRpcMessage::error(fault(much), id))
}

fn fault(much: &JsonLimitExceeded) -> ErrorData {
    let message = format!("the message {much}");
    protocol_error(&EngineError::new(ErrorCode::InvalidRequest, message))
}

#[cfg(test)]
mod tests;
