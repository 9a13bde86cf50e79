//! JSON responses.

use std::io::{self, Write};

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use charter_engine::apart;
use serde::Serialize;
use serde::ser::Error;

/// Longest answer that is serialized on a thread of the runtime, in bytes; a longer one is serialized [`apart`].
const SHORT: usize = 64 << 10;

/// An answer in JSON.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match to_text(self.0) {
            Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
            Err(error) => {
                tracing::error!(%error, "writing an answer failed");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// Serializes an answer. A long one is serialized [`apart`].
pub(crate) fn to_text<T: Serialize>(answer: T) -> serde_json::Result<String> {
    let mut short = ShortText::default();
    match serde_json::to_writer(&mut short, &answer) {
        Err(_) if short.is_exceeded => apart(move || serde_json::to_string(&answer)),
        Err(error) => Err(error),
        Ok(()) => String::from_utf8(short.text).map_err(Error::custom),
    }
}

/// A text of at most [`SHORT`] bytes.
#[derive(Debug, Default)]
struct ShortText {
    text: Vec<u8>,
    is_exceeded: bool,
}

impl Write for ShortText {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.text.len() + part.len() > SHORT {
            self.is_exceeded = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use serde::Serializer;
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn short_and_long_answers_are_serialised_completely() {
        for length in [0, SHORT - 2, SHORT - 1, 4 * SHORT] {
            let answer = json!("x".repeat(length));
            let text = to_text(&answer).unwrap();
            assert_eq!(text.len(), length + 2);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), answer);
        }
    }

    /// A long answer whose second serialization waits for another task.
    struct DeferredAnswer {
        times_written: Cell<usize>,
        other_task: Receiver<()>,
    }

    impl Serialize for DeferredAnswer {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            if self.times_written.replace(1) == 1 {
                let waited = self.other_task.recv_timeout(Duration::from_secs(60));
                waited.map_err(S::Error::custom)?;
            }
            to.serialize_str(&"x".repeat(SHORT))
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_continue_while_a_long_answer_is_written() {
        let (continues, other_task) = channel();
        let times_written = Cell::new(0);
        let writing = tokio::spawn(async move {
            to_text(DeferredAnswer {
                times_written,
                other_task,
            })
        });
        tokio::spawn(async move { continues.send(()) });
        let text = writing.await.unwrap().unwrap();
        assert_eq!(text.len(), SHORT + 2);
    }
}
