//! The reader itself: parser events to a value, with a position for every pointer.

use std::collections::BTreeMap;

use charter_contract::violation::pointer_segment;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::{Map, Value};

use super::{Located, Position, START, SourceError, scalar};

/// Deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;

/// Most values in one text.
pub const MAX_NODES: usize = 200_000;

/// Reads exactly one document.
///
/// # Errors
/// The first thing that is not YAML, or not within [`MAX_DEPTH`] and [`MAX_NODES`]; more than one
/// document; an anchor, alias or tag; a key that is not text or stands twice in its mapping.
pub fn read(text: &str) -> Result<Located, SourceError> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        positions: BTreeMap::new(),
        pointer: String::new(),
        depth: 0,
        nodes: 0,
    };
    let value = reader.document()?;
    Ok(Located {
        value,
        positions: reader.positions,
    })
}

struct Reader<'t> {
    events: Parser<'t, StrInput<'t>>,
    positions: BTreeMap<String, Position>,
    pointer: String,
    depth: usize,
    nodes: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), SourceError> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(scan_error(&error)),
            None => Err(refusal(START, "the text ends too early", None)),
        }
    }

    fn document(&mut self) -> Result<Value, SourceError> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Nothing => {}
                content @ (Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd) => {
                    if document.is_some() {
                        return Err(refusal(
                            position(&span),
                            "a second document starts here",
                            Some("put each document in a file of its own, or write a list"),
                        ));
                    }
                    document = Some(self.value(content, span)?);
                }
            }
        }
        document.ok_or_else(|| refusal(START, "the text holds no document", None))
    }

    fn value(&mut self, event: Event<'t>, span: Span) -> Result<Value, SourceError> {
        let at = position(&span);
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(refusal(at, "the text holds more than 200000 values", None));
        }
        self.positions.entry(self.pointer.clone()).or_insert(at);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_reference(at, anchor != 0, tag.is_some())?;
                Ok(if style == ScalarStyle::Plain {
                    scalar::plain(&text)
                } else {
                    Value::String(text.into_owned())
                })
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_reference(at, anchor != 0, tag.is_some())?;
                self.nested(at, Self::sequence)
            }
            Event::MappingStart(anchor, tag) => {
                refuse_reference(at, anchor != 0, tag.is_some())?;
                self.nested(at, Self::mapping)
            }
            Event::Alias(_) => {
                refuse_reference(at, true, false)?;
                Ok(Value::Null)
            }
            Event::SequenceEnd
            | Event::MappingEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::StreamStart
            | Event::StreamEnd
            | Event::Nothing => Err(refusal(at, "a value is missing here", None)),
        }
    }

    fn nested(
        &mut self,
        at: Position,
        read: fn(&mut Self) -> Result<Value, SourceError>,
    ) -> Result<Value, SourceError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(refusal(at, "nesting is deeper than 64 levels", None));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn sequence(&mut self) -> Result<Value, SourceError> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Value::Array(items));
            }
            let outer = self.enter(&items.len().to_string());
            items.push(self.value(event, span)?);
            self.pointer.truncate(outer);
        }
    }

    fn mapping(&mut self) -> Result<Value, SourceError> {
        let mut fields = Map::new();
        loop {
            let (event, span) = self.next()?;
            let at = position(&span);
            let key = match event {
                Event::MappingEnd => return Ok(Value::Object(fields)),
                Event::Scalar(text, _, anchor, tag) => {
                    refuse_reference(at, anchor != 0, tag.is_some())?;
                    text.into_owned()
                }
                Event::Alias(_)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::StreamStart
                | Event::StreamEnd
                | Event::Nothing => return Err(refusal(at, "a key must be text", None)),
            };
            if fields.contains_key(&key) {
                return Err(refusal(at, &format!("the key `{key}` stands twice"), None));
            }
            let outer = self.enter(&pointer_segment(&key));
            self.positions.insert(self.pointer.clone(), at);
            let (event, span) = self.next()?;
            let value = self.value(event, span)?;
            self.pointer.truncate(outer);
            fields.insert(key, value);
        }
    }

    /// Extends the pointer; returns the length to cut it back to.
    fn enter(&mut self, token: &str) -> usize {
        let outer = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(token);
        outer
    }
}

fn refuse_reference(at: Position, anchored: bool, tagged: bool) -> Result<(), SourceError> {
    if anchored {
        let advice = "write the value out at each place where it is meant";
        return Err(refusal(
            at,
            "anchors and aliases are not accepted",
            Some(advice),
        ));
    }
    if tagged {
        return Err(refusal(at, "tags such as `!!str` are not accepted", None));
    }
    Ok(())
}

fn refusal(position: Position, message: &str, suggestion: Option<&str>) -> SourceError {
    SourceError {
        position,
        message: message.to_owned(),
        suggestion: suggestion.map(str::to_owned),
    }
}

fn scan_error(error: &ScanError) -> SourceError {
    let at = marked(error.marker(), 1);
    refusal(at, error.info(), None)
}

fn position(span: &Span) -> Position {
    let width = if span.start.line() == span.end.line() {
        span.end.col().saturating_sub(span.start.col())
    } else {
        1
    };
    marked(&span.start, width)
}

fn marked(marker: &Marker, width: usize) -> Position {
    Position {
        line: marker.line(),
        column: marker.col() + 1,
        width: width.max(1),
    }
}
