//! Parses YAML: converts parser events to a value, with a position for every pointer.

use charter_contract::bounds::{YAML_KEY_BYTES, YAML_LEVELS};
use charter_contract::lines;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Value};

use super::allowance::Meter;
use super::metered::Metered;
use super::places::{Parts, name_of};
use super::refusal::{limit, refusal};
use super::{Located, Places, Position, START, SourceError, escape, json, scalar};

/// Parses a YAML text. JSON is a subset of YAML.
///
/// # Errors
/// The first syntax error or exceeded limit; more than one document; an anchor, alias or tag; a key that is not text or
/// occurs twice in its mapping; a cancellation.
pub(super) fn read(text: &str, meter: &Meter<'_>) -> Result<Located, SourceError> {
    let mut reader = Reader {
        text,
        events: Parser::new(Metered::new(text, meter)),
        meter,
        depth: 0,
    };
    let (at, Part { value, parts }) = reader.document()?;
    Ok(Located {
        value,
        places: Places::new(at, parts),
    })
}

/// The end of the scanner's message for an invalid escape. Its position is that of the quoted text.
const BAD_ESCAPE: &str = "found invalid Unicode character escape code";

/// A value with the positions of its parts.
struct Part {
    value: Value,
    parts: Parts,
}

impl From<Value> for Part {
    fn from(value: Value) -> Self {
        Self {
            value,
            parts: Parts::None,
        }
    }
}

struct Reader<'t, 'm> {
    text: &'t str,
    events: Parser<'t, Metered<'t, 'm>>,
    meter: &'m Meter<'m>,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    fn next(&mut self) -> Result<(Event<'t>, Span), SourceError> {
        let event = self.events.next_event();
        if let Some(over) = self.meter.over() {
            return Err(over.refusal(match &event {
                Some(Ok((_, span))) => position(span),
                Some(Err(error)) => marked(error.marker(), 1),
                None => START,
            }));
        }
        match event {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(scan_error(self.text, &error)),
            None => Err(refusal(START, "unexpected end of the text", None)),
        }
    }

    fn document(&mut self) -> Result<(Position, Part), SourceError> {
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
                    document = Some((position(&span), self.value(content, span)?));
                }
            }
        }
        document.ok_or_else(|| refusal(START, "the text has no document", None))
    }

    fn value(&mut self, event: Event<'t>, span: Span) -> Result<Part, SourceError> {
        let at = position(&span);
        self.meter.value();
        if let Some(over) = self.meter.over() {
            return Err(over.refusal(at));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_reference(at, anchor != 0, tag.is_some())?;
                Ok(Part::from(if style == ScalarStyle::Plain {
                    scalar::plain(&text).or_else(|scalar::TooLong(rounded)| {
                        let rounded = rounded.filter(|_| self.meter.rounds_integers());
                        rounded.map(Value::Number).ok_or_else(|| too_long(at))
                    })?
                } else {
                    Value::String(shrunk(text.into_owned()))
                }))
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
                Ok(Part::from(Value::Null))
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
        read: fn(&mut Self) -> Result<Part, SourceError>,
    ) -> Result<Part, SourceError> {
        self.depth += 1;
        if self.depth > YAML_LEVELS {
            let message = format!("nesting is deeper than {YAML_LEVELS} levels (YAML_LEVELS)");
            return Err(limit(at, &message));
        }
        let part = read(self)?;
        self.depth -= 1;
        Ok(part)
    }

    fn sequence(&mut self) -> Result<Part, SourceError> {
        let mut items = Vec::new();
        let mut places = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                items.shrink_to_fit();
                return Ok(Part {
                    value: Value::Array(items),
                    parts: Parts::Items(places.into()),
                });
            }
            let at = position(&span);
            let Part { value, parts } = self.value(event, span)?;
            items.push(value);
            places.push(Places::new(at, parts));
        }
    }

    fn mapping(&mut self) -> Result<Part, SourceError> {
        let mut fields = Map::new();
        let mut places = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let at = position(&span);
            let key = match event {
                Event::MappingEnd => {
                    return Ok(Part {
                        value: Value::Object(fields),
                        parts: Parts::fields(places),
                    });
                }
                Event::Scalar(text, _, anchor, tag) => {
                    refuse_reference(at, anchor != 0, tag.is_some())?;
                    shrunk(text.into_owned())
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
            if key.len() > YAML_KEY_BYTES {
                let message =
                    format!("a key is longer than {YAML_KEY_BYTES} bytes (YAML_KEY_BYTES)");
                return Err(limit(at, &message));
            }
            if fields.contains_key(&key) {
                return Err(refusal(at, &format!("the key `{key}` is duplicated"), None));
            }
            let (event, span) = self.next()?;
            let Part { value, parts } = self.value(event, span)?;
            places.push((name_of(&key), Places::new(at, parts)));
            fields.insert(key, value);
        }
    }
}

fn too_long(at: Position) -> SourceError {
    let message = "the integer has more than 64 bits, so it would be rounded";
    refusal(at, message, Some("write it as text, in quotes"))
}

/// The parser reserves at least 128 bytes for each scalar.
fn shrunk(mut text: String) -> String {
    text.shrink_to_fit();
    text
}

fn refuse_reference(at: Position, anchored: bool, tagged: bool) -> Result<(), SourceError> {
    if anchored {
        let advice = "write the value at each place where it is used";
        return Err(refusal(
            at,
            "anchors and aliases are not supported",
            Some(advice),
        ));
    }
    if tagged {
        return Err(refusal(at, "tags such as `!!str` are not supported", None));
    }
    Ok(())
}

fn scan_error(text: &str, error: &ScanError) -> SourceError {
    let at = marked(error.marker(), 1);
    if error.info().ends_with(BAD_ESCAPE) {
        let before = lines::with_ends(text).take(at.line.saturating_sub(1));
        let line: usize = before.map(str::len).sum();
        if let Some(lone) = escape::lone(&text[line..]) {
            return json::half(text, line + lone);
        }
    }
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
