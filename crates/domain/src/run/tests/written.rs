//! The stored format of orders for another process, which may be of an earlier or a later build.

use super::*;

#[test]
fn an_order_is_written_as_it_always_was_and_read_again() {
    let by = user("ann");
    let give = |by, makers: &[&str]| RunOrder::Give {
        by,
        makers: makers.iter().map(|maker| user(maker)).collect(),
        to: Map::new(),
        parameters: Map::from_iter([("a".to_owned(), json!(1))]),
        missing: vec![Label::parse("b").unwrap()],
        sources: BTreeMap::new(),
    };
    let confirm = |typed: Option<&str>| RunOrder::Confirm {
        by: by.clone(),
        makers: BTreeSet::new(),
        digest: Digest::claimed("sha256:00"),
        typed: typed.map(str::to_owned),
        approves: false,
    };
    let abort = RunOrder::Abort {
        by: by.clone(),
        reason: "enough".to_owned(),
        roll_back: true,
    };
    let written = [
        (
            give(None, &[]),
            json!({"order": "give", "to": {}, "parameters": {"a": 1}, "missing": ["b"]}),
        ),
        (
            give(Some(by.clone()), &["root"]),
            json!({
                "order": "give", "by": "ann", "makers": ["root"],
                "to": {}, "parameters": {"a": 1}, "missing": ["b"],
            }),
        ),
        (
            confirm(Some("yes")),
            json!({"order": "confirm", "by": "ann", "digest": "sha256:00", "typed": "yes"}),
        ),
        (
            confirm(None),
            json!({"order": "confirm", "by": "ann", "digest": "sha256:00", "typed": null}),
        ),
        (
            RunOrder::Pause { by: by.clone() },
            json!({"order": "pause", "by": "ann"}),
        ),
        (
            RunOrder::Resume { by: by.clone() },
            json!({"order": "resume", "by": "ann"}),
        ),
        (
            abort,
            json!({"order": "abort", "by": "ann", "reason": "enough", "roll_back": true}),
        ),
    ];
    for (order, written) in written {
        assert_eq!(serde_json::to_value(&order).unwrap(), written);
        let read: RunOrder = serde_json::from_value(written).unwrap();
        assert_eq!(read, order);
    }
}
