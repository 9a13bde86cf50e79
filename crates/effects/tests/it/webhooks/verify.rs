//! Verifies signatures as a receiver does, in another language: none of the sender's code is used.

use std::io::Write;
use std::process::{Command, Stdio};

use charter_testkit::http_stub::Request;
use serde_json::json;

const RECEIVER: &str = r#"
import base64, hashlib, hmac, json, sys
seen = json.load(sys.stdin)
key = base64.b64decode(seen["secret"].removeprefix("whsec_"), validate=True)
signed = f'{seen["id"]}.{seen["timestamp"]}.'.encode() + bytes(seen["body"])
expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
json.dump([one == expected for one in seen["signature"].split(" ")], sys.stdout)
"#;

/// Returns, for each of a message's signatures, whether this secret made it.
pub(super) fn signed_by(seen: &Request, secret: &str) -> Vec<bool> {
    let given = json!({
        "secret": secret, "body": seen.bytes, "id": seen.headers["webhook-id"],
        "timestamp": seen.headers["webhook-timestamp"],
        "signature": seen.headers["webhook-signature"],
    });
    let mut receiver = Command::new("python3");
    receiver.args(["-c", RECEIVER]);
    receiver.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut receiver = receiver.spawn().unwrap();
    let mut input = receiver.stdin.take().unwrap();
    input.write_all(given.to_string().as_bytes()).unwrap();
    drop(input);
    let output = receiver.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
