//! Adds the streams of events to the operations that can answer with one, from the types that they write.
//!
//! OpenAPI 3.1 cannot describe a stream: the schema under `text/event-stream` is that of one event, as `itemSchema` is
//! in OpenAPI 3.2, with the fields of an event source. `data` is the text that is sent, and `contentSchema` describes
//! its content.

use serde_json::{Map, Value, json};

use super::COMPONENTS;
use crate::routes::{JOURNAL, STATE, STATUS};

const MEDIA_TYPE: &str = "text/event-stream";

/// The component of one event of each operation's stream.
const STREAMS: [(&str, &str); 5] = [
    ("list_events", "event_stream"),
    ("list_run_events", "run_stream"),
    ("list_mission_events", "mission_stream"),
    ("create_request", "answer_stream"),
    ("get_request", "request_stream"),
];

/// Adds the streams to their operations, and their events to the components.
pub(super) fn describe(document: &mut Value) {
    let announced = document["components"]["schemas"]["announced_event"].take();
    let announced = announced["oneOf"].as_array().cloned().unwrap_or_default();
    let events = announced.iter().map(event_schema).collect();
    let journal = |moves, of: &str| vec![event(&[moves, JOURNAL], Id::Sent, &component(of))];
    let answered = || {
        vec![
            event(&["response"], Id::None, &component("agent_response")),
            event(&["error"], Id::None, &component("agent_error")),
        ]
    };
    let mut answer = vec![event(&["progress"], Id::None, &component("progress_event"))];
    answer.extend(answered());
    let mut recorded = answered();
    recorded.push(event(&["result"], Id::None, &component("agent_response")));
    let made = [
        ("event_stream", events),
        ("run_stream", journal(STATUS, "run_event")),
        ("mission_stream", journal(STATE, "mission_event")),
        ("answer_stream", answer),
        ("request_stream", recorded),
    ];
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.remove("announced_event");
        let made = made.into_iter();
        schemas.extend(made.map(|(name, forms)| (name.to_owned(), one_of(forms))));
    }
    for operation in super::operations(document) {
        let id = operation["operationId"].as_str();
        if let Some((_, stream)) = STREAMS.iter().find(|(of, _)| Some(*of) == id) {
            let sent = json!({"schema": component(stream)});
            operation["responses"]["200"]["content"][MEDIA_TYPE] = sent;
        }
    }
}

/// A choice of several forms; a single form stays as it is.
fn one_of(mut forms: Vec<Value>) -> Value {
    match forms.pop() {
        Some(only) if forms.is_empty() => only,
        last => json!({"oneOf": forms.into_iter().chain(last).collect::<Vec<_>>()}),
    }
}

fn component(name: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{name}")})
}

/// Whether a reader can resume after an event.
#[derive(Clone, Copy)]
enum Id {
    Sent,
    None,
}

/// The schema of an event with one of these names, and of its data.
fn event(names: &[&str], id: Id, data: &Value) -> Value {
    let mut properties = Map::new();
    properties.insert("event".to_owned(), json!({"type": "string", "enum": names}));
    let data =
        json!({"type": "string", "contentMediaType": "application/json", "contentSchema": data});
    properties.insert("data".to_owned(), data);
    let mut required = vec!["event", "data"];
    if matches!(id, Id::Sent) {
        let said = "The position to resume from, by `Last-Event-ID`.";
        let id = json!({"type": "string", "pattern": "^[0-9]+$", "description": said});
        properties.insert("id".to_owned(), id);
        required.push("id");
    }
    json!({"type": "object", "required": required, "properties": properties})
}

/// The schema of a tenant's event: its topic is the event's name.
fn event_schema(announced: &Value) -> Value {
    let topic = announced["properties"]["topic"]["const"].as_str();
    let at = json!({"type": "string", "format": "date-time", "description": "When."});
    let data = json!({
        "type": "object",
        "required": ["at", "data"],
        "properties": {"at": at, "data": announced["properties"]["data"]},
    });
    let mut event = event(&[topic.unwrap_or_default()], Id::Sent, &data);
    event["description"] = announced["description"].clone();
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::document;

    #[test]
    fn every_stream_is_described_by_its_event_data() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let streamed = paths
            .values()
            .flat_map(|path| path.as_object().unwrap().values());
        let streamed = streamed.filter_map(|operation| {
            let schema = &operation["responses"]["200"]["content"][MEDIA_TYPE]["schema"];
            let of = schema["$ref"].as_str()?.strip_prefix(COMPONENTS)?;
            Some((operation["operationId"].as_str().unwrap(), of))
        });
        let mut streamed: Vec<_> = streamed.collect();
        streamed.sort_unstable();
        let mut expected = STREAMS;
        expected.sort_unstable();
        assert_eq!(streamed, expected);
        let events = &document["components"]["schemas"]["event_stream"]["oneOf"];
        let topics = events.as_array().unwrap().iter();
        let topics = topics.map(|event| event["properties"]["event"]["enum"][0].as_str().unwrap());
        let topics: Vec<_> = topics.collect();
        assert!(topics.contains(&"catalogue.changed") && topics.contains(&"key.revoked"));
        assert_eq!(topics.len(), 27);
    }
}
