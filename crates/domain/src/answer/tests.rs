//! Tests of sentences and citations, by examples and by random inputs.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, FindingId};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::facts::Facts;
use super::*;

const EVIDENCE: &str = "ev_0001";
const FIRST: &str = "fnd_aa";
const SECOND: &str = "fnd_bb";

fn evidence() -> EvidenceId {
    EvidenceId::parse(EVIDENCE).unwrap()
}

fn finding_id(id: &str) -> FindingId {
    FindingId::parse(id).unwrap()
}

/// One tool result, two findings in it, and their totals.
fn citable() -> CitableSources {
    let source =
        |alias: &str, cited, shown: Value| CitedSource::new(alias.to_owned(), cited, &shown);
    let of =
        |id: &str| CitationTarget::Finding(finding_id(id), vec![CitedResult::Evidence(evidence())]);
    let sources = vec![
        source(
            "e1",
            CitationTarget::Result(CitedResult::Evidence(evidence())),
            json!({"count": 14, "output": [{"Gate": "g-7", "Owner": "Rosa", "Port": 8443}, {"Gate": "g-8"}]}),
        ),
        source(
            "f1",
            of(FIRST),
            json!({"severity": "high", "resource_id": "g-7", "cidr": "0.0.0.0/0"}),
        ),
        source(
            "f2",
            of(SECOND),
            json!({"severity": "low", "resource_id": "g-8"}),
        ),
        source(
            "t1",
            CitationTarget::Totals(vec![CitedResult::Evidence(evidence())]),
            json!({"findings": 2, "by_severity": {"high": 1, "low": 1}}),
        ),
    ];
    let vocabulary =
        Vocabulary::from_texts(["Detects gates that are open to the internet, by the TCP port."]);
    let wanted = BTreeSet::from(["impact".to_owned()]);
    CitableSources::new(
        sources,
        vocabulary,
        BTreeMap::from([(finding_id(FIRST), wanted)]),
    )
}

fn drafted(text: &str, cites: &[&str]) -> DraftedSentence {
    DraftedSentence {
        text: text.to_owned(),
        cites: cites.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn check(text: &str, cites: &[&str]) -> Result<CitedSentence, Unfit> {
    citable().sentence(&drafted(text, cites))
}

#[test]
fn a_sentence_is_supported_by_its_citations() {
    for (text, cites) in [
        ("Gate g-7 is open to 0.0.0.0/0.", vec!["f1"]),
        ("Two gates are open.", vec!["f1", "f2"]),
        ("2 findings: 1 high, 1 low.", vec!["t1"]),
        ("Rosa owns `g-7`, which listens on 8443.", vec!["e1"]),
        ("14 gates were looked at.", vec![EVIDENCE]),
        ("Close the TCP port.", vec![FIRST]),
    ] {
        let kept = check(text, &cites);
        assert!(kept.is_ok(), "{text}: {kept:?}");
    }
}

#[test]
fn a_sentence_names_its_evidence_and_findings_by_their_ids() {
    let kept = check("Two  gates are\nopen.", &["f1", "f2", "f1", "e1"]).unwrap();
    assert_eq!(
        kept,
        CitedSentence {
            text: "Two gates are open.".to_owned(),
            evidence_ids: vec![evidence()],
            finding_ids: vec![finding_id(FIRST), finding_id(SECOND)],
            outputs: Vec::new(),
            passages: Vec::new(),
        }
    );
}

#[test]
fn unsupported_sentences_are_dropped() {
    let unsupported = |what: &str| Unfit::Unsupported(what.to_owned());
    let unresolved = |what: &str| Unfit::Unresolved(what.to_owned());
    for (text, cites, why) in [
        ("Gate g-7 is open.", vec![], Unfit::Uncited),
        ("Gate g-7 is open.", vec!["f9"], unresolved("f9")),
        (
            "Gate g-7 is open.",
            vec!["f1", "fnd_cc"],
            unresolved("fnd_cc"),
        ),
        ("Seven gates are open.", vec!["f1"], unsupported("7")),
        ("Two gates are open.", vec!["f1", "e1"], unsupported("2")),
        ("Gate g-8 is open.", vec!["f1"], unsupported("g-8")),
        ("Payroll is open.", vec!["f1"], unsupported("payroll")),
        ("It belongs to Rosa.", vec!["f1"], unsupported("rosa")),
        (
            "It is called “the vault”.",
            vec!["e1"],
            unsupported("the vault"),
        ),
        ("It is open to 0.0.0.0.", vec!["f2"], unsupported("0.0.0.0")),
        ("它是开放的", vec!["f1"], unsupported("它是开放的")),
    ] {
        assert_eq!(check(text, &cites), Err(why), "{text}");
    }
}

#[test]
fn a_sentence_is_plain_text() {
    for text in [
        "See [this](https://h.example).",
        "It is <b>open</b>.",
        "It is o\u{200b}pen.",
        "It is \u{202e}nepo.",
        "",
        &"open ".repeat(400),
    ] {
        let found = check(text, &["f1"]);
        assert!(
            matches!(found, Err(Unfit::Unreadable(_))),
            "{text}: {found:?}"
        );
    }
}

/// Emphasis, code and list marks are removed; the marked text is checked and kept.
#[test]
fn a_sentence_is_shown_without_marks() {
    for (text, shown) in [
        ("**Gate** `g-7` is open.", "Gate g-7 is open."),
        ("- Gate g-7 is **open**.", "Gate g-7 is open."),
        ("## Gate g-7", "Gate g-7"),
        (
            "Gate g-7 is open to 0.0.0.0/0.",
            "Gate g-7 is open to 0.0.0.0/0.",
        ),
        ("Gate g-7 * open", "Gate g-7 * open"),
        ("Gate g-7 has a ` open", "Gate g-7 has a ` open"),
    ] {
        let kept = check(text, &["f1"]);
        assert_eq!(kept.map(|kept| kept.text), Ok(shown.to_owned()), "{text}");
    }
    assert!(matches!(check("****", &["f1"]), Err(Unfit::Unreadable(_))));
    assert_eq!(
        check("**Seven** gates are open.", &["f1"]),
        Err(Unfit::Unsupported("7".to_owned()))
    );
}

/// A result without evidence is cited by its location. An answer does not open with a reference text.
#[test]
fn an_answer_opens_with_what_the_results_show() {
    let source =
        |alias: &str, cited, shown: Value| CitedSource::new(alias.to_owned(), cited, &shown);
    let output = || CitedResult::Output("run-1/look".to_owned());
    let sources = vec![
        source(
            "o1",
            CitationTarget::Result(output()),
            json!({"output": [{"host": "web-1"}, {"host": "web-2"}], "count": 2}),
        ),
        source(
            "p1",
            CitationTarget::Passage("Runbooks (ops.runbooks, passage 1)".to_owned()),
            json!({"text": "Every host is patched within 30 days."}),
        ),
    ];
    let citable = CitableSources::new(sources, Vocabulary::default(), BTreeMap::new());
    assert!(citable.has_results());
    let rule = ("Every host is patched within 30 days.", ["p1"]);
    let found = ("The list has 2 hosts.", ["o1"]);
    let kept = |sentences: &[(&str, [&str; 1])]| {
        let sentences = sentences
            .iter()
            .map(|(text, cites)| json!({"text": text, "cites": cites}));
        let draft = json!({"sentences": sentences.collect::<Vec<_>>()});
        let (kept, _) = citable.accepted(&serde_json::from_value(draft).unwrap(), None);
        let texts = kept.sentences.iter().map(|one| one.text.clone());
        (texts.collect::<Vec<_>>(), kept.dropped.uncited)
    };
    assert_eq!(kept(&[rule]), (Vec::new(), 1));
    assert_eq!(kept(&[rule, found]), (vec![found.0.to_owned()], 1));
    let both = vec![found.0.to_owned(), rule.0.to_owned()];
    assert_eq!(kept(&[found, rule]), (both, 0));
    // By alias and by location.
    for name in ["o1", "run-1/look"] {
        let sentence = citable
            .sentence(&drafted("web-1 is there.", &[name]))
            .unwrap();
        assert_eq!(sentence.outputs, ["run-1/look"]);
        assert_eq!(sentence.evidence_ids, []);
    }
    let passage = CitationTarget::Passage("Runbooks".to_owned());
    let passage = vec![source("p1", passage, json!({"text": "Patch."}))];
    let alone = CitableSources::new(passage, Vocabulary::default(), BTreeMap::new());
    assert!(!alone.has_results());
}

#[test]
fn a_draft_is_kept_in_parts_and_the_rest_is_counted() {
    let draft = json!({
        "sentences": [
            {"text": "Gate g-7 is open.", "cites": ["f1"]},
            {"text": "All is well."},
            {"text": "Gate g-7 is open.", "cites": ["f3"]},
            {"text": "Ninety gates are open.", "cites": ["t1"]},
        ],
        "values": [
            {"finding": "f1", "name": "impact", "value": "Anyone reaches g-7."},
            {"finding": "f1", "name": "title", "value": "Another title"},
            {"finding": "f2", "name": "impact", "value": "Anyone reaches g-8."},
        ],
        "ranking": ["f2", "f7", "f1", "f2"],
        "findings": [{"severity": "critical", "resource_type": "gate", "resource_id": "g-7", "cites": ["e1"]}],
    });
    let (kept, wrong) = citable().accepted(&serde_json::from_value(draft).unwrap(), None);
    assert_eq!(kept.sentences.len(), 1);
    let values = BTreeMap::from([("impact".to_owned(), "Anyone reaches g-7.".to_owned())]);
    assert_eq!(kept.values, BTreeMap::from([(finding_id(FIRST), values)]));
    assert_eq!(kept.ranking, [finding_id(SECOND), finding_id(FIRST)]);
    assert_eq!(kept.findings, []);
    let dropped = DroppedCounts {
        uncited: 1,
        unresolved: 4,
        unsupported: 1,
        unreadable: 1,
    };
    assert_eq!(kept.dropped, dropped);
    assert_eq!(wrong.len(), 7, "{wrong:#?}");
}

fn skill() -> Skill {
    serde_json::from_value(json!({
        "skill_id": "port.gates", "name": "gates", "domain": "security", "display_name": "Gates",
        "description": "Gates.", "purpose": "gates", "output_type": "finding",
        "execution_plan": {"steps": [{"step_id": "look", "type": "read", "tool_id": "port.list_gates"}]},
    }))
    .unwrap()
}

/// A skill without rules has only the model's findings. Their resource and words must occur in the cited results.
#[test]
fn a_stated_finding_is_about_what_its_evidence_shows() {
    let stated = |resource: &str, owner: &str, cites: &[&str]| {
        let draft = json!({"findings": [{
            "severity": "high", "resource_type": "gate", "resource_id": resource,
            "values": {"owner": owner}, "cites": cites,
        }]});
        let draft = serde_json::from_value(draft).unwrap();
        citable().accepted(&draft, Some(&skill())).0
    };
    let kept = stated("g-7", "Rosa", &["e1"]);
    let [finding] = &kept.findings[..] else {
        panic!("{kept:?}");
    };
    assert_eq!(finding.rule_id.as_str(), crate::analysis::STATED);
    assert_eq!(finding.severity, Severity::High);
    assert_eq!(finding.evidence_ids, [evidence()]);
    assert_eq!(json!(finding.fields), json!({"owner": "Rosa"}));
    for (resource, owner, cites) in [
        ("g-9", "Rosa", vec!["e1"]),
        ("g-7", "Ben", vec!["e1"]),
        ("g-7", "Rosa", vec![]),
        ("g-7", "Rosa", vec!["f1"]),
    ] {
        let kept = stated(resource, owner, &cites);
        assert_eq!(kept.findings, [], "{resource} {owner} {cites:?}");
        assert_eq!(kept.dropped.total(), 1);
    }
}

fn found(skill: &str, rule: &str, resource: &str, severity: &str, fields: &Value) -> Finding {
    let said: String = fields
        .to_string()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let id = format!("fnd_{skill}_{rule}_{resource}_{said}");
    serde_json::from_value(json!({
        "finding_id": id, "rule_id": rule, "skill_id": skill, "severity": severity,
        "resource_type": "gate", "resource_id": resource, "fields": fields,
        "evidence_ids": [format!("ev_{skill}")],
    }))
    .unwrap()
}

#[test]
fn findings_of_several_skills_become_one_list() {
    let a = vec![
        found("a", "open", "g-1", "low", &json!({"port": 1})),
        found("a", "open", "g-1", "high", &json!({"port": 2})),
    ];
    let b = vec![
        found("b", "open", "g-1", "critical", &json!({"port": 1})),
        found("b", "old", "g-1", "medium", &json!({"port": 2})),
    ];
    let ids = [a[0].finding_id.clone(), b[0].finding_id.clone()];
    let merged = merged(vec![a, b]);
    let [replaced, kept] = ids;
    assert_eq!(merged.replaced, BTreeMap::from([(replaced, kept)]));
    let shown: Vec<(&str, &str, usize)> = merged
        .findings
        .iter()
        .map(|one| {
            (
                one.severity.as_str(),
                one.skill_id.as_str(),
                one.evidence_ids.len(),
            )
        })
        .collect();
    // Two skills found the same with the same rule: the more severe finding is kept, with the evidence of both.
    assert_eq!(
        shown,
        [("critical", "b", 2), ("high", "a", 1), ("medium", "b", 1)]
    );
}

/// A ranking orders only findings of equal severity, and moves none behind those that are only counted.
#[test]
fn a_ranking_hides_nothing() {
    let mut findings: Vec<Finding> = ["high", "high", "high", "high", "low"]
        .iter()
        .zip(1..)
        .map(|(severity, at)| found("a", "open", &format!("g-{at}"), severity, &json!({})))
        .collect();
    let ranking: Vec<FindingId> = [4, 3, 2, 0]
        .map(|at: usize| findings[at].finding_id.clone())
        .into();
    ranked(&mut findings, &ranking, 3);
    let order: Vec<&str> = findings
        .iter()
        .map(|one| one.resource_id.as_str())
        .collect();
    assert_eq!(order, ["g-3", "g-1", "g-2", "g-4", "g-5"]);
}

/// Builds the text of a draft, with its keys in an order that a model may choose.
fn draft_text(sentences: &[DraftedSentence]) -> String {
    let others = json!({"sentences": [{"text": "not one", "cites": []}]});
    json!({
        "note": "\"sentences\": [{\"text\": \"}]", "values": [others], "sentences": sentences, "ranking": ["f1"],
    })
    .to_string()
}

#[test]
fn sentences_are_seen_as_they_come() {
    let first = drafted("It is \"open\" {[\\", &["f1"]);
    let text = draft_text(std::slice::from_ref(&first));
    let mut stream = SentenceStream::default();
    let (before, after) = text.split_at(text.find("\"ranking\"").unwrap());
    assert_eq!(stream.push("```json\n"), []);
    assert_eq!(stream.push(before), std::slice::from_ref(&first));
    assert_eq!(stream.push(after), []);
    stream.restart();
    assert_eq!(stream.push(&text), [first]);
}

/// Generates texts as models and tools write them: words, numbers, ids and punctuation.
fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[a-z]{1,8}",
        1 => "[A-Z][a-z]{1,8}('s)?",
        1 => "[0-9]{1,4}([.,][0-9]{1,3})?[%a-z]{0,3}",
        1 => "[a-z]{1,4}[-_/.:@][a-zA-Z0-9]{1,6}",
        1 => "(one|two|twenty-one|a hundred|both|dozen) ?",
        1 => "[`\"“”(),.;!?*-]{1,3}",
        1 => "\\PC{1,4}",
    ];
    proptest::collection::vec(word, 1..14).prop_map(|words| words.join(" "))
}

proptest! {
    /// Every claim of a text occurs in the text itself, so a sentence that repeats its source is never dropped.
    #[test]
    fn a_text_supports_itself(text in words()) {
        let source = CitedSource::new("s".to_owned(), CitationTarget::Result(CitedResult::Evidence(evidence())), &json!({"text": text}));
        let citable = CitableSources::new(vec![source], Vocabulary::default(), BTreeMap::new());
        let kept = citable.sentence(&drafted(&text, &["s"]));
        prop_assert!(!matches!(kept, Err(Unfit::Unsupported(_))), "{:?}", kept);
    }

    /// A sentence with a number that its source lacks is dropped, regardless of its other contents.
    #[test]
    fn a_number_that_is_not_there_is_dropped(there in 10_u32..1_000, said in 10_u32..1_000, before in "[a-z ]{0,20}") {
        let source = CitedSource::new("s".to_owned(), CitationTarget::Result(CitedResult::Evidence(evidence())), &json!({"count": there}));
        let citable = CitableSources::new(vec![source], Vocabulary::default(), BTreeMap::new());
        let kept = citable.sentence(&drafted(&format!("x{before} {said} gates"), &["s"]));
        // The words before the number may be numerals too.
        prop_assert!(kept.is_err() || there == said, "{:?}", kept);
    }

    /// Nothing is accepted without a source, and no text causes a failure other than being dropped.
    #[test]
    fn nothing_stands_on_nothing(text in any::<String>(), name in "[a-z0-9_]{0,6}") {
        prop_assert!(citable().sentence(&drafted(&text, &[])).is_err());
        let known = ["e1", "f1", "f2", "t1"].contains(&name.as_str());
        prop_assert!(known || citable().sentence(&drafted(&text, &[&name])).is_err());
        let _ = Facts::from_value(&json!({text.as_str(): [text.as_str()]}));
    }

    /// A draft yields the same sentences in the same order, however it is split into pieces.
    #[test]
    fn pieces_make_no_difference(
        texts in proptest::collection::vec(any::<String>(), 0..5),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let sentences: Vec<DraftedSentence> = texts.iter().map(|text| drafted(text, &["f1"])).collect();
        let text = draft_text(&sentences);
        let mut places: Vec<usize> = cuts
            .iter()
            .map(|cut| text.floor_char_boundary(cut.index(text.len())))
            .collect();
        places.push(text.len());
        places.sort_unstable();
        let (mut stream, mut seen, mut from) = (SentenceStream::default(), Vec::new(), 0);
        for place in places {
            seen.extend(stream.push(&text[from..place]));
            from = place;
        }
        prop_assert_eq!(seen, sentences);
    }

    /// Merging loses no resource, and merging twice equals merging once.
    #[test]
    fn merging_keeps_every_resource(
        rows in proptest::collection::btree_map((0_usize..3, 0_usize..3, 0_usize..4), 0_usize..3, 0..24),
    ) {
        let mut of_skills: Vec<Vec<Finding>> = vec![Vec::new(); 3];
        for ((skill, rule, resource), severity) in rows {
            let severity = ["critical", "medium", "info"][severity];
            let one = found(&format!("s{skill}"), &format!("r{rule}"), &format!("g-{resource}"), severity, &json!({}));
            of_skills[skill].push(one);
        }
        let resources = |findings: &[Finding]| -> BTreeSet<String> {
            findings.iter().map(|one| format!("{} {}", one.resource_id, one.rule_id)).collect()
        };
        let all: Vec<Finding> = of_skills.iter().flatten().cloned().collect();
        let merging = merged(of_skills);
        let once = merging.findings;
        prop_assert_eq!(resources(&once), resources(&all));
        prop_assert!(once.is_sorted_by_key(|one| one.severity));
        // Every finding is present, or the finding that replaced it.
        for one in &all {
            let kept = merging.replaced.get(&one.finding_id).unwrap_or(&one.finding_id);
            prop_assert!(once.iter().any(|found| found.finding_id == *kept));
        }
        let twice = merged(vec![once.clone(), Vec::new()]);
        prop_assert_eq!(once, twice.findings);
    }
}
