//! The blocks of a message (Block Kit). Slack refuses longer texts than those here.

use serde_json::{Value, json};

use super::super::MessageContent;
use super::super::text::slack;
use super::interaction::{APPROVE, ApprovalButton, DECISION, REJECT};

/// Most characters of the text of a section; escapes may make it longer.
const SECTION: usize = 2_900;
/// Most sections of paragraphs.
const SECTIONS: usize = 20;

/// Returns the blocks of a message.
pub(super) fn of(content: &MessageContent, has_buttons: bool) -> Value {
    let mut blocks = vec![json!({
        "type": "header", "text": {"type": "plain_text", "text": content.one_line(), "emoji": false},
    })];
    let paragraphs: Vec<String> = content
        .bounded_paragraphs()
        .map(|text| slack(&text))
        .collect();
    let sections = joined(&paragraphs).into_iter().take(SECTIONS);
    blocks.extend(sections.map(|text| section(&text)));
    let facts: Vec<Value> = content
        .bounded_facts()
        .map(|(name, value)| {
            let text = format!("*{name}*\n{}", slack(&value));
            // Verbatim: Slack makes no links of addresses and names in foreign text.
            json!({"type": "mrkdwn", "text": cut(&text, 1_900), "verbatim": true})
        })
        .collect();
    if !facts.is_empty() {
        blocks.push(json!({"type": "section", "fields": facts}));
    }
    let mut is_whole = content.shows_whole_call();
    if let Some(call) = content.bounded_call() {
        // A fence in the call would end the block of code.
        let call = slack(&call.replace("```", "'''"));
        let shown = cut(&call, SECTION - 6);
        is_whole &= shown == call;
        blocks.push(section(&format!("```{shown}```")));
    }
    // A call that a message cannot show as a whole is decided in the console.
    let decision = content.decision.as_ref();
    let decision = decision.filter(|_| has_buttons && is_whole);
    let elements = elements(content, decision);
    if !elements.is_empty() {
        blocks.push(json!({"type": "actions", "block_id": DECISION, "elements": elements}));
    }
    Value::Array(blocks)
}

fn elements(content: &MessageContent, decision: Option<&ApprovalButton>) -> Vec<Value> {
    let mut elements = Vec::new();
    if let Some(button) = decision {
        let value = button.value();
        for (action, word, style) in [
            (APPROVE, "Approve", "primary"),
            (REJECT, "Reject", "danger"),
        ] {
            elements.push(json!({
                "type": "button", "action_id": action, "style": style, "value": value,
                "text": {"type": "plain_text", "text": word},
            }));
        }
    }
    if let Some(link) = &content.link {
        elements.push(json!({
            "type": "button", "action_id": "open", "url": link,
            "text": {"type": "plain_text", "text": "Open in Charter"},
        }));
    }
    elements
}

fn section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": true}})
}

/// Joins paragraphs to texts that fit a section.
fn joined(paragraphs: &[String]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for paragraph in paragraphs {
        let paragraph = cut(paragraph, SECTION);
        match texts.last_mut() {
            Some(last) if last.chars().count() + paragraph.chars().count() < SECTION => {
                last.push('\n');
                last.push_str(&paragraph);
            }
            Some(_) | None => texts.push(paragraph),
        }
    }
    texts
}

/// Cuts a text, not within an escape.
fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let kept = &text[..end];
    let open = kept.rfind('&').filter(|at| !kept[*at..].contains(';'));
    let kept = open.map_or(kept, |at| &kept[..at]);
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{ApprovalId, Label};
    use charter_contract::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn content() -> MessageContent {
        MessageContent {
            topic: "approval.requested".to_owned(),
            at: Timestamp::parse("2026-04-14T12:00:00Z").unwrap(),
            title: "Approve `sg.revoke`?".to_owned(),
            paragraphs: vec!["Asked by <@U1>".to_owned(), "y".repeat(9_000)],
            facts: vec![("Tool", "sg.revoke".to_owned())],
            call: Some(format!(
                "{{\"x\": \"``` <!channel> {}\"}}",
                "&".repeat(9_000)
            )),
            link: Some("https://charter.example.com/console/approvals/apr-1".to_owned()),
            decision: Some(ApprovalButton {
                channel: Label::parse("ops").unwrap(),
                approval: ApprovalId::from_uuid(Uuid::from_u128(1)),
                digest: "sha256:1".to_owned(),
            }),
            data: Value::Null,
        }
    }

    #[test]
    fn a_message_has_buttons_only_with_a_signing_secret_and_the_whole_call() {
        let actions = |blocks: &Value| -> Vec<String> {
            let last = blocks.as_array().unwrap().last().unwrap();
            let all = last["elements"].as_array().unwrap().iter();
            all.map(|button| button["action_id"].as_str().unwrap().to_owned())
                .collect()
        };
        let mut short = content();
        short.call = Some("sg.revoke {\"id\": \"sg-1\"}".to_owned());
        assert_eq!(actions(&of(&short, true)), ["approve", "reject", "open"]);
        assert_eq!(actions(&of(&short, false)), ["open"]);
        for partly in [
            "x".repeat(2_501),
            "&".repeat(2_400),
            "a\u{202e}b".to_owned(),
            "```".to_owned(),
        ] {
            short.call = Some(partly);
            assert_eq!(actions(&of(&short, true)), ["open"]);
        }
    }

    /// Slack answers `invalid_blocks` beyond these lengths.
    #[test]
    fn every_text_fits_and_makes_no_markup() {
        let blocks = of(&content(), true);
        let all = blocks.as_array().unwrap();
        assert!(all.len() <= 50);
        let header = all[0]["text"]["text"].as_str().unwrap();
        assert!(header.chars().count() <= 150);
        for block in all {
            let Some(text) = block["text"]["text"].as_str() else {
                continue;
            };
            assert!(text.chars().count() <= 3_000, "{}", text.chars().count());
            assert!(
                !text.contains("<@U1>") && !text.contains("<!channel>"),
                "{text}"
            );
        }
        let texts = all.iter().flat_map(|block| {
            let fields = block["fields"].as_array().into_iter().flatten();
            fields.chain(block.get("text"))
        });
        let mut markup = texts.filter(|text| text["type"] == "mrkdwn");
        assert!(markup.all(|text| text["verbatim"] == true), "{blocks}");
        let call = all[all.len() - 2]["text"]["text"].as_str().unwrap();
        assert_eq!(call.matches("```").count(), 2, "{call}");
        assert!(
            call.ends_with("…```") && !call.ends_with("&am…```"),
            "{call}"
        );
    }
}
