use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use uuid::Uuid;

use super::*;
use crate::secret::SecretSource;

fn secret(value: &str) -> Secret {
    Secret::new(value, SecretSource::Variable("SLACK".to_owned()))
}

fn form(payload: &Value) -> String {
    let payload = payload.to_string();
    format!(
        "payload={}",
        utf8_percent_encode(&payload, NON_ALPHANUMERIC)
    )
}

fn read(body: &str) -> Result<SlackInteraction, SlackInteractionError> {
    let request = SlackRequest {
        timestamp: "1",
        signature: "",
        body: body.as_bytes(),
    };
    request.interaction()
}

fn click(action: &str, value: &str) -> Value {
    json!({
        "type": "block_actions", "team": {"id": "T1", "domain": "acme"}, "user": {"id": "U1", "name": "bob"},
        "response_url": "https://hooks.slack.com/actions/1", "trigger_id": "9.9", "message": {"ts": "1.2"},
        "actions": [{"action_id": action, "block_id": "decision", "type": "button", "value": value}],
    })
}

/// The example of Slack's documentation, "Verifying requests from Slack".
#[test]
fn a_signature_matches_the_documentation() {
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V\
                &channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=\
                &response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F\
                96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    let signed = |secret_text: &str, timestamp: &str, signature: &str, body: &str| {
        let request = SlackRequest {
            timestamp,
            signature,
            body: body.as_bytes(),
        };
        request.is_signed_with(&secret(secret_text))
    };
    let key = "8f742231b10e8888abcd99yyyzzz85a5";
    assert!(signed(key, "1531420618", signature, body));
    assert!(!signed(key, "1531420619", signature, body));
    assert!(!signed(
        key,
        "1531420618",
        signature,
        &format!("{body}&x=1")
    ));
    assert!(!signed(
        "another-signing-secret",
        "1531420618",
        signature,
        body
    ));
    for malformed in [
        "",
        "v0=",
        "v0=a",
        "v0=zz",
        &signature[3..],
        &signature[..65],
    ] {
        assert!(!signed(key, "1531420618", malformed, body), "{malformed}");
    }
}

/// Both spellings are valid, so a repeat is recognised by the decoded digits.
#[test]
fn a_signature_has_one_mac_in_either_letter_case() {
    let mac = |signature: &str| {
        let request = SlackRequest {
            timestamp: "1",
            signature,
            body: b"",
        };
        request.mac()
    };
    assert_eq!(mac("v0=A2fF").as_deref(), Some("a2ff"));
    assert_eq!(mac("v0=a2Ff"), mac("v0=A2FF"));
    for malformed in ["", "a2ff", "V0=a2ff", "v0=a2f", "v0=a2fg"] {
        assert_eq!(mac(malformed), None, "{malformed}");
    }
}

#[test]
fn a_button_is_read_back_as_it_was_sent() {
    let button = ApprovalButton {
        channel: Label::parse("ops").unwrap(),
        approval: ApprovalId::from_uuid(Uuid::from_u128(7)),
        digest: "sha256:1".to_owned(),
    };
    for (action, approves) in [(APPROVE, true), (REJECT, false)] {
        let expected = SlackInteraction::Decided {
            team: "T1".to_owned(),
            user: "U1".to_owned(),
            button: button.clone(),
            approves,
            response_url: Some("https://hooks.slack.com/actions/1".to_owned()),
        };
        assert_eq!(read(&form(&click(action, &button.value()))), Ok(expected));
    }
    assert_eq!(
        read(&form(&click("open", ""))),
        Ok(SlackInteraction::Opened)
    );
}

#[test]
fn another_body_is_no_decision() {
    use SlackInteractionError::{Form, OtherAction, Payload};
    let mut two = click(APPROVE, "{}");
    let again = two["actions"][0].clone();
    two["actions"].as_array_mut().unwrap().push(again);
    let mut view = click(APPROVE, "{}");
    view["type"] = json!("view_submission");
    for (body, expected) in [
        (String::new(), Form),
        ("{\"payload\": 1}".to_owned(), Form),
        ("payload=%ff".to_owned(), Form),
        ("payload=%7B".to_owned(), Payload),
        ("payload=%7B%7D".to_owned(), Payload),
        (form(&click(APPROVE, "{\"approval\": \"apr-1\"}")), Payload),
        (form(&click(APPROVE, "")), Payload),
        (form(&click("delete", "{}")), OtherAction),
        (form(&two), OtherAction),
        (form(&view), OtherAction),
    ] {
        assert_eq!(read(&body), Err(expected), "{body}");
    }
}
