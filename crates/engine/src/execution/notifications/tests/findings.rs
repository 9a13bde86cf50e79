//! Messages about findings.

use super::*;

#[tokio::test]
async fn severe_findings_of_an_hour_are_one_message() {
    let hourly = NotificationRule {
        digest: Some(Duration::from_secs(3_600)),
        ..rule()
    };
    let rig = Rig::new(channel(), hourly).await;
    let found = [
        ("f1", Severity::High),
        ("f2", Severity::Low),
        ("f3", Severity::Critical),
    ];
    rig.announce(&found).await;
    rig.work_after(1_800).await;
    // The same event again.
    rig.announce(&found[..1]).await;
    rig.announce(&[("f4", Severity::High)]).await;
    rig.work_after(1_799).await;
    assert!(rig.sent().is_empty());
    rig.work_after(1).await;
    let sent = rig.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].content.title, "6 new findings");
    let ids = |content: &Value| -> Vec<String> {
        let all = content["findings"].as_array().unwrap().iter();
        let mut all: Vec<String> = all
            .map(|found| found["occurrence"].as_str().unwrap().to_owned())
            .collect();
        all.sort();
        all
    };
    assert_eq!(ids(&sent[0].content.data), ["f1", "f3", "f4"]);
}

/// The others are in the report, whose address the message has. Its link leads to the request that found them.
#[tokio::test]
async fn a_message_names_the_most_severe_findings_and_counts_the_others() {
    let rig = Rig::new(channel(), rule()).await;
    let report = compare("acme/nightly/manual/f1", &findings(12), None);
    rig.record("manual/f1", &report).await;
    rig.announce_changes("finding.new", "manual/f1", 12).await;
    rig.work().await;
    let sent = rig.sent();
    let [message] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    let content = &message.content;
    assert_eq!(content.title, "12 new findings");
    assert_eq!(content.paragraphs[0], "critical open_door: door door-12");
    assert_eq!(content.paragraphs[1], "high open_door: door door-1");
    assert_eq!(
        content.paragraphs[10],
        "2 more findings are not listed here."
    );
    assert_eq!(content.data["items"].as_array().unwrap().len(), 10);
    assert_eq!(content.data["omitted"], 2);
    let link = format!("https://charter.example.com/console/requests/{REQUEST}");
    assert_eq!(content.link.as_ref(), Some(&link));
    let report = "https://charter.example.com/v1/schedules/nightly/occurrences/manual%2Ff1/report";
    assert_eq!(content.facts, [("Report", report.to_owned())]);
}

/// They are another message than the new ones of the same hour.
#[tokio::test]
async fn resolved_findings_are_announced() {
    let hourly = NotificationRule {
        digest: Some(Duration::from_secs(3_600)),
        ..rule()
    };
    let rig = Rig::new(channel(), hourly).await;
    let first = compare("acme/nightly/f1", &findings(1), None);
    rig.record("f1", &first).await;
    rig.announce_changes("finding.new", "f1", 1).await;
    let second = compare("acme/nightly/f2", &[], Some(&first));
    rig.record("f2", &second).await;
    rig.announce_changes("finding.resolved", "f2", 1).await;
    rig.work_after(3_600).await;
    let mut sent = rig.sent();
    sent.sort_by(|one, other| one.content.title.cmp(&other.content.title));
    let seen = sent.iter().map(|message| {
        let content = &message.content;
        let item = content.data["items"][0]["resource_id"].as_str();
        (content.topic.as_str(), content.title.as_str(), item)
    });
    let door = Some("door-1");
    let expected = [
        ("finding.new", "1 new finding", door),
        ("finding.resolved", "1 resolved finding", door),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}
