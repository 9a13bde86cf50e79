//! The texts of messages, bounded and escaped for their readers. Foreign text stays text: it makes no markup, no
//! mention and no header.

use charter_contract::visible::clean;

use super::MessageContent;

/// Most characters of a title.
const TITLE: usize = 140;
/// Most characters of a paragraph or a value.
const PARAGRAPH: usize = 1_500;
/// Most characters of a call.
const CALL: usize = 2_500;
/// Most facts.
const FACTS: usize = 10;
/// Most paragraphs.
const PARAGRAPHS: usize = 100;

impl MessageContent {
    /// Returns the title as one line.
    pub(super) fn one_line(&self) -> String {
        let line = clean(&self.title, TITLE);
        line.replace(['\n', '\t'], " ")
    }

    pub(super) fn bounded_paragraphs(&self) -> impl Iterator<Item = String> {
        let paragraphs = self.paragraphs.iter().take(PARAGRAPHS);
        paragraphs.map(|text| clean(text, PARAGRAPH))
    }

    pub(super) fn bounded_facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let facts = self.facts.iter().take(FACTS);
        facts.map(|(name, value)| (*name, clean(value, PARAGRAPH)))
    }

    pub(super) fn bounded_call(&self) -> Option<String> {
        self.call.as_deref().map(|call| clean(call, CALL))
    }

    /// Whether readers see the whole call: a decision needs that.
    pub(super) fn shows_whole_call(&self) -> bool {
        let call = self.call.as_deref();
        call.is_none_or(|call| clean(call, CALL) == call.trim() && !call.contains("```"))
    }

    /// Returns the message as plain text.
    pub(super) fn plain(&self) -> String {
        let mut text = self.one_line();
        text.push_str("\n\n");
        for paragraph in self.bounded_paragraphs() {
            text.push_str(&format!("{paragraph}\n"));
        }
        for (name, value) in self.bounded_facts() {
            text.push_str(&format!("{name}: {value}\n"));
        }
        if let Some(call) = self.bounded_call() {
            text.push_str(&format!("\n{call}\n"));
        }
        if let Some(link) = &self.link {
            text.push_str(&format!("\n{link}\n"));
        }
        text
    }

    /// Returns the message as an HTML page without scripts, images and remote resources.
    pub(super) fn html(&self) -> String {
        let mut body = format!("<h2>{}</h2>\n", html(&self.one_line()));
        for paragraph in self.bounded_paragraphs() {
            body.push_str(&format!("<p>{}</p>\n", html(&paragraph)));
        }
        let facts = self.bounded_facts().map(|(name, value)| {
            let value = html(&value);
            format!("<tr><th align=\"left\">{name}</th><td>{value}</td></tr>\n")
        });
        let facts: String = facts.collect();
        if !facts.is_empty() {
            body.push_str(&format!("<table>\n{facts}</table>\n"));
        }
        if let Some(call) = self.bounded_call() {
            body.push_str(&format!("<pre>{}</pre>\n", html(&call)));
        }
        if let Some(link) = &self.link {
            let link = html(link);
            body.push_str(&format!("<p><a href=\"{link}\">{link}</a></p>\n"));
        }
        format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><body>\n{body}</body></html>\n"
        )
    }
}

fn html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Escapes a text for Slack's markup, in which `<…>` makes links and mentions.
pub(super) fn slack(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use charter_contract::time::Timestamp;
    use serde_json::Value;

    use super::*;

    fn content() -> MessageContent {
        MessageContent {
            topic: "run.failed".to_owned(),
            at: Timestamp::parse("2026-04-14T12:00:00Z").unwrap(),
            title: "Run\r\nBcc: eve@example.com".to_owned(),
            paragraphs: vec!["<script>alert(1)</script> & \"more\"".to_owned()],
            facts: vec![("Tool", "a<b".to_owned())],
            call: Some("{\"x\": \"<!channel>\"}".to_owned()),
            link: Some("https://charter.example.com/console/runs/run-1?a=1&b=2".to_owned()),
            decision: None,
            data: Value::Null,
        }
    }

    #[test]
    fn foreign_text_makes_no_markup_and_no_second_line_of_a_title() {
        let content = content();
        assert_eq!(content.one_line(), "Run Bcc: eve@example.com");
        let html = content.html();
        assert!(!html.contains("<script>"), "{html}");
        assert!(
            html.contains("<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot;</p>")
        );
        assert!(html.contains("<td>a&lt;b</td>"), "{html}");
        assert!(html.contains("a=1&amp;b=2\">"), "{html}");
        assert_eq!(
            slack("<!channel> & <@U1>"),
            "&lt;!channel&gt; &amp; &lt;@U1&gt;"
        );
    }

    #[test]
    fn the_plain_text_has_everything() {
        let expected = "Run Bcc: eve@example.com\n\n<script>alert(1)</script> & \"more\"\nTool: a<b\n\n\
                        {\"x\": \"<!channel>\"}\n\nhttps://charter.example.com/console/runs/run-1?a=1&b=2\n";
        assert_eq!(content().plain(), expected);
    }
}
