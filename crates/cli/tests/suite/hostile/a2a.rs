//! Methods of A2A by its JSON-RPC binding; the operations of the other binding are in the OpenAPI document.

use charter_testkit::hostile::Hostile;
use serde_json::{Value, json};

use super::{Body, Hostility, PLACE, endures, long, short};
use crate::isolation::a2a::METHODS;

fn request(what: &str, body: Body) -> Hostility {
    Hostility::new(what, ["POST", "/a2a"], &[("a2a-version", "1.0")], body)
}

/// A call with a shape in each placeholder of its parameters.
fn call(method: &str, params: &Value, shape: Hostile, bytes: usize) -> Hostility {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let what = format!("{method}: {shape:?} of {bytes} bytes in {params}");
    request(&what, Body::Filled(body, shape, bytes))
}

/// A message with parts.
fn message(parts: &Value) -> Value {
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": parts}})
}

#[test]
fn every_method_of_a2a_endures_hostile_shapes() {
    let fields =
        json!({"id": PLACE, "taskId": PLACE, "contextId": PLACE, "message": PLACE, "url": PLACE});
    let parts = [json!({"text": PLACE}), json!({"data": PLACE}), json!(PLACE)];
    let parameters = message(&json!([{"data": {"parameters": PLACE}}, {"text": "look"}]));
    let mut all = Vec::new();
    for shape in Hostile::ALL {
        for method in METHODS {
            for params in [&json!(PLACE), &fields] {
                all.push(call(method, params, shape, short(shape)));
            }
        }
        for part in &parts {
            let params = message(&json!([part]));
            all.push(call("SendMessage", &params, shape, short(shape)));
        }
        all.push(call("SendMessage", &parameters, shape, long(shape)));
        let whole = Body::Whole(shape, short(shape));
        all.push(request(&format!("{shape:?} as the body"), whole));
    }
    assert!(all.len() > 250, "{}", all.len());
    endures(&all);
}
