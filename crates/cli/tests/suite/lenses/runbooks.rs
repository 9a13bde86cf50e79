//! Plain questions to the runbooks of `crates/cli/tests/runbooks`, Markdown and PDF: answered with citations by
//! `charter ask`, without a flag.

use serde_json::{Value, json};

use crate::home::{Home, project};
use crate::packages::backups;

/// A question, the file with the answer, the position in it, and words of the passage.
const QUESTIONS: [(&str, &str, &str, &str); 4] = [
    (
        "When do I have to call the database vendor?",
        "on-call/restore-orders.md",
        "Restore the orders database › When to call for help",
        "Call the database vendor when the replay stands still for more than 20 minutes",
    ),
    (
        "Who decides that a certificate is revoked?",
        "on-call/certificates.md",
        "TLS certificates of the public sites › Revoke a certificate",
        "The security officer on duty decides on it",
    ),
    (
        "How do I renew a certificate?",
        "on-call/certificates.md",
        "TLS certificates of the public sites › Renew a certificate by hand",
        "Ask the authority for a new certificate",
    ),
    (
        "Which logs of finished builds should be removed when a disk is full?",
        "on-call/disk-full.pdf",
        "page 2",
        "remove the logs of finished builds that are older than a week",
    ),
];

/// The position of a passage's quoted sentence: its headings, or its page.
fn place(passage: &Value) -> String {
    let section = &passage["section"];
    let headings = section["headings"].as_array().unwrap();
    if headings.is_empty() {
        return format!("page {}", section["page"]);
    }
    let headings = headings.iter().map(|heading| heading.as_str().unwrap());
    headings.collect::<Vec<_>>().join(" › ")
}

/// Although a skill is registered too, questions about rules are answered by the runbooks only, with the passage, its
/// file and its heading or page.
#[test]
fn b000_16_plain_questions_are_answered_by_runbooks_with_citations() {
    let home = Home::new();
    let runbooks = project().join("crates/cli/tests/runbooks");
    let skills = backups().write(&home.path("backups"));
    for folder in [runbooks.to_str().unwrap(), skills.as_str()] {
        let registered = home.run(&["package", "register", folder]);
        assert_eq!(registered.code, Some(0), "{registered:?}");
    }
    for (question, file, at, words) in QUESTIONS {
        let answer = home.run(&["ask", question, "--output", "json"]).json(0);
        let metadata = &answer["metadata"];
        let (flow, intent) = (&metadata["flow"], &metadata["verdict"]["intent"]);
        assert_eq!(
            (flow, intent),
            (&json!("rag_search"), &json!("knowledge")),
            "{question}: {answer:#}"
        );
        assert_eq!(metadata.get("run_ids"), None, "{question}");
        let passage = &metadata["passages"][0];
        let found = (&passage["position"]["file"], place(passage));
        assert_eq!(found, (&json!(file), at.to_owned()), "{question}");
        let text = passage["section"]["text"].as_str().unwrap();
        assert!(
            text.replace('\n', " ").contains(words),
            "{question}: {text}"
        );
        let sentence = passage["sentence"].as_str().unwrap();
        assert!(!at.ends_with(sentence), "{question}: a heading is quoted");
        // The section is quoted under its title, position and file.
        let content = answer["content"].as_str().unwrap();
        let separator = if at.starts_with("page") {
            ", "
        } else {
            " › "
        };
        let cited = format!("[1] On call{separator}{at} ({file})");
        assert!(content.contains(&cited), "{question}: {content}");
        assert!(content.contains(text), "{question}: {content}");
        assert_eq!(answer["actions"][0]["action_type"], "search");
    }
}
