//! Manipulated exports of a log with records, an attachment and a removal.

use charter_contract::catalogue::evidence::Attachment;
use charter_contract::ids::{BundleId, Label, TenantId};
use charter_contract::time::Timestamp;
use serde_json::json;

use super::super::bundle::SaltedPayload;
use super::super::entry::SealedRecord;
use super::super::note::{KeyName, Signer};
use super::super::proof::TreeHead;
use super::super::tree;
use super::*;

struct Export {
    header: Header,
    lines: Vec<ExportedLeaf>,
}

fn signer() -> Signer {
    Signer::new(KeyName::parse("test/evidence/acme").unwrap(), &[3; 32])
}

fn id(n: usize) -> EvidenceId {
    EvidenceId::parse(&format!("ev_{n}")).unwrap()
}

fn sealed(n: usize) -> SealedRecord {
    let record = serde_json::from_value(json!({
        "id": id(n), "schema_version": 1, "type": "api_call",
        "captured_at": "2026-05-13T09:14:22Z",
        "source": {"system": "aws.ec2", "native_id": "x"},
        "console_links": [{"label": "View", "href": "https://console.example/"}],
        "payload": {"n": n}, "summary": "It was so.", "tenant_id": "acme", "redaction_class": "restricted",
    }));
    SealedRecord::seal(&record.unwrap(), [u8::try_from(n).unwrap(); 32]).unwrap()
}

/// Exports records 1 to 3; then record 1 is attached to a bundle and loses its payload.
fn export(coverage: Coverage) -> Export {
    let at = Timestamp::from_micros(0).unwrap();
    let mut lines: Vec<ExportedLeaf> = (1..=3)
        .map(|n| {
            let sealed = sealed(n);
            line(&sealed.entry(id(n)), Some(sealed))
        })
        .collect();
    let attached_to = Attachment {
        bundle_id: Some(BundleId::parse("b").unwrap()),
        ..Attachment::default()
    };
    lines.push(line(
        &LogEntry::Attachment {
            evidence_id: id(1),
            attached_to,
            at,
        },
        None,
    ));
    lines.push(line(
        &LogEntry::PayloadRemoved {
            evidence_id: id(1),
            at,
        },
        None,
    ));
    lines[0].payload = None;
    prove(lines, coverage)
}

fn line(entry: &LogEntry, sealed: Option<SealedRecord>) -> ExportedLeaf {
    let payload = sealed.as_ref().map(|sealed| SaltedPayload {
        salt: Hash(sealed.salt),
        text: sealed.payload.clone(),
    });
    ExportedLeaf {
        index: 0,
        leaf: entry.to_leaf().unwrap(),
        proof: Vec::new(),
        record: sealed.map(|sealed| sealed.record),
        payload,
        withheld: None,
    }
}

/// Renumbers the lines as a separate log, with proofs and a checkpoint.
fn prove(mut lines: Vec<ExportedLeaf>, coverage: Coverage) -> Export {
    let mut nodes = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        let leaf = Hash::leaf(line.leaf.as_bytes());
        nodes.extend(tree::append(index as u64, leaf, |id| Ok::<_, ()>(nodes[&id])).unwrap());
    }
    let size = lines.len() as u64;
    for (index, line) in lines.iter_mut().enumerate() {
        line.index = index as u64;
        let plan = tree::inclusion(line.index, size).unwrap();
        line.proof = plan
            .iter()
            .map(|cover| cover.fold(&nodes).unwrap())
            .collect();
    }
    let head = TreeHead {
        size,
        root: tree::head(size).fold(&nodes).unwrap(),
    };
    let origin = KeyName::parse("test/evidence/acme").unwrap();
    let header = Header {
        format: FORMAT.to_owned(),
        tenant_id: TenantId::parse("acme").unwrap(),
        coverage,
        key: signer().verifier().to_string(),
        checkpoint: Checkpoint { origin, head }.sign(&signer()).unwrap(),
    };
    Export { header, lines }
}

fn checked(export: &Export, since: Option<&str>) -> Verdict {
    of_text(&text_of(export), since, export.header.coverage)
}

/// Returns the text of an export file.
fn text_of(export: &Export) -> String {
    let mut text = serde_json::to_string(&export.header).unwrap() + "\n";
    for line in &export.lines {
        text.push_str(&serde_json::to_string(line).unwrap());
        text.push('\n');
    }
    text
}

fn of_text(text: &str, since: Option<&str>, accepted: Coverage) -> Verdict {
    let mut lines = text.split_inclusive('\n');
    let header = lines.next().unwrap();
    let signer = signer();
    let opened = Verifier::open(header, Some(signer.verifier()), since, accepted);
    let mut verifier = opened.unwrap();
    for (number, line) in (2..).zip(lines) {
        verifier.line(number, line);
    }
    verifier.finish()
}

fn faults(export: &Export) -> Vec<String> {
    checked(export, None)
        .faults
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn b000_19_a_sound_export_is_good() {
    let verdict = checked(&export(Coverage::Complete), None);
    assert_eq!(verdict.faults, []);
    let counted = (
        verdict.size,
        verdict.leaves,
        verdict.records,
        verdict.payloads,
        verdict.removed,
    );
    assert_eq!(counted, (5, 5, 3, 2, 1));
}

/// The name of a manipulation, the manipulation, and the expected faults.
type Case = (&'static str, fn(&mut Export), &'static [&'static str]);

fn named(cases: &[Case]) {
    for (what, bend, expected) in cases {
        let mut export = export(Coverage::Complete);
        bend(&mut export);
        assert_eq!(faults(&export), *expected, "{what}");
    }
}

/// A change of any byte in the header or in a line is detected, even of its last bit or of a letter's case.
#[test]
fn b000_19_every_changed_byte_is_found() {
    let text = text_of(&export(Coverage::Complete));
    let signer = signer();
    let is_found = |text: &str| {
        let mut lines = text.split_inclusive('\n');
        let header = lines.next().unwrap();
        match Verifier::open(header, Some(signer.verifier()), None, Coverage::Complete) {
            Err(_) => true,
            Ok(mut verifier) => {
                (2..)
                    .zip(lines)
                    .for_each(|(number, line)| verifier.line(number, line));
                !verifier.finish().faults.is_empty()
            }
        }
    };
    assert!(!is_found(&text));
    for (at, bit) in (0..text.len()).flat_map(|at| [(at, 0x01), (at, 0x20)]) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= bit;
        // Bytes that are not UTF-8 are rejected before verification.
        let Ok(changed) = String::from_utf8(bytes) else {
            continue;
        };
        assert!(is_found(&changed), "byte {at}: {changed}");
    }
}

/// Additions around the values of an export are detected too, including those that parsers ignore.
#[test]
fn b000_19_what_was_added_around_an_export_is_found() {
    let text = text_of(&export(Coverage::Complete));
    let (header, rest) = text.split_once('\n').unwrap();
    let (line, after) = rest.split_once('\n').unwrap();
    let twice = format!("{text}{text}");
    let record = "\"record\":\"{}\",";
    let cases = [
        ("a blank line", format!("{header}\n\n{rest}")),
        ("a blank line at the end", format!("{text}\n")),
        ("a NUL", format!("{header}\n{line}\0\n{after}")),
        ("a space", format!("{header}\n {line}\n{after}")),
        (
            "a mark in a line",
            format!("{header}\n\u{feff}{line}\n{after}"),
        ),
        ("the export twice", twice),
        (
            "a doubled field",
            format!("{header}\n{{{record}{}\n{after}", &line[1..]),
        ),
    ];
    for (what, changed) in cases {
        let verdict = of_text(&changed, None, Coverage::Complete);
        assert!(!verdict.faults.is_empty(), "{what}");
    }
}

#[test]
fn b000_19_what_was_changed_is_named() {
    named(&[
        (
            "a word of a record",
            |e| edit(&mut e.lines[1].record, "It was so", "It was not"),
            &["line 3: ev_2: the record was changed: it does not match its leaf"],
        ),
        (
            "a payload",
            |e| e.lines[1].payload.as_mut().unwrap().text = "{\"n\":9}".to_owned(),
            &["line 3: ev_2: the payload was changed: it does not match its leaf"],
        ),
        (
            "a salt",
            |e| e.lines[1].payload.as_mut().unwrap().salt = Hash([9; 32]),
            &["line 3: ev_2: the payload was changed: it does not match its leaf"],
        ),
        (
            "record and leaf are made to fit",
            |e| {
                let record = sealed(2).record.replace("It was so", "It was not");
                let forged = SealedRecord {
                    record,
                    ..sealed(2)
                };
                let index = e.lines[1].index;
                let proof = std::mem::take(&mut e.lines[1].proof);
                e.lines[1] = ExportedLeaf {
                    index,
                    proof,
                    ..line(&forged.entry(id(2)), Some(forged))
                };
            },
            &["line 3: ev_2: leaf 1 is not in the log: its proof fails"],
        ),
        (
            "an attachment is bent",
            |e| edit_text(&mut e.lines[3].leaf, "\"b\"", "\"c\""),
            &["line 5: ev_1: leaf 3 is not in the log: its proof fails"],
        ),
        (
            "a class is made up",
            |e| {
                e.lines[1].payload = None;
                e.lines[1].withheld = Some(Label::parse("secret").unwrap());
            },
            &[
                "line 3: ev_2: the payload is withheld as `secret`, which is not its redaction class",
            ],
        ),
    ]);
}

#[test]
fn b000_19_what_was_removed_is_named() {
    named(&[
        (
            "a payload",
            |e| e.lines[1].payload = None,
            &["line 3: ev_2: the payload is missing, and no leaf records its removal"],
        ),
        (
            "a record",
            |e| e.lines[1].record = None,
            &["line 3: ev_2: the record was removed; its leaf is still there"],
        ),
        (
            "a line",
            |e| drop(e.lines.remove(1)),
            &["line 3: leaf 1 was removed after ev_1 before ev_3"],
        ),
        (
            "the first line",
            |e| drop(e.lines.remove(0)),
            &[
                "line 2: leaf 0 was removed before ev_2",
                "line 4: ev_1: its record does not precede it",
                "line 5: ev_1: its record does not precede it",
            ],
        ),
        (
            "the end",
            |e| e.lines.truncate(3),
            &[
                "leaves 3 to 4 were removed after ev_3",
                "line 2: ev_1: the payload is missing, and no leaf records its removal",
            ],
        ),
        (
            "everything",
            |e| e.lines.clear(),
            &["leaves 0 to 4 were removed"],
        ),
    ]);
}

#[test]
fn b000_19_what_was_moved_is_named() {
    named(&[
        (
            "two lines change places",
            |e| e.lines.swap(1, 2),
            &[
                "line 3: leaf 1 was removed after ev_1 before ev_3",
                "line 4: ev_2: leaf 1 is out of order: leaf 3 or a later one belongs here",
            ],
        ),
        (
            "two lines change places and numbers",
            |e| {
                e.lines.swap(1, 2);
                e.lines[1].index = 1;
                e.lines[2].index = 2;
            },
            &[
                "line 3: ev_3: leaf 1 is not in the log: its proof fails",
                "line 4: ev_2: leaf 2 is not in the log: its proof fails",
            ],
        ),
        (
            "a line is there twice",
            |e| e.lines.insert(2, e.lines[1].clone()),
            &[
                "line 4: ev_2: leaf 1 is out of order: leaf 2 or a later one belongs here",
                "line 4: ev_2: it is duplicated",
            ],
        ),
    ]);
}

fn edit(text: &mut Option<String>, from: &str, to: &str) {
    edit_text(text.as_mut().unwrap(), from, to);
}

fn edit_text(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "{text}");
    *text = text.replace(from, to);
}

/// A payload may be withheld for its class; a selection may omit records.
#[test]
fn b000_19_what_may_be_left_out() {
    let mut withheld = export(Coverage::Complete);
    withheld.lines[1].payload = None;
    withheld.lines[1].withheld = Some(Label::parse("restricted").unwrap());
    let verdict = checked(&withheld, None);
    assert_eq!((verdict.faults, verdict.withheld), (vec![], 1));
    let mut selection = export(Coverage::Selection);
    selection.lines.drain(1..3);
    assert_eq!(faults(&selection), Vec::<String>::new());
}

/// A file that claims to be a selection hides removed lines, so a selection is rejected unless the caller accepts one.
#[test]
fn b000_19_a_selection_is_good_only_where_one_is_accepted() {
    let mut claimed = export(Coverage::Selection);
    claimed.lines.remove(1);
    let text = text_of(&claimed);
    assert_eq!(of_text(&text, None, Coverage::Selection).faults, []);
    let expected = "line 1: the export is a selection, but the whole log is expected: omitted records cannot be \
                    verified";
    let verdict = of_text(&text, None, Coverage::Complete);
    let said: Vec<String> = verdict.faults.iter().map(ToString::to_string).collect();
    assert_eq!(said, [expected]);
    let whole = text_of(&export(Coverage::Complete));
    assert_eq!(of_text(&whole, None, Coverage::Selection).faults, []);
}

/// A line with equal values in other characters is not the exported line.
#[test]
fn b000_19_a_line_that_was_rewritten_is_named() {
    type Rewrite = fn(&str) -> String;
    let rewrites: [(&str, Rewrite); 5] = [
        ("line ends", |text| text.replace('\n', "\r\n")),
        ("blanks", |text| text.replace(",\"leaf\":", ", \"leaf\": ")),
        ("escapes", |text| {
            text.replace("It was so", "\\u0049t was so")
        }),
        ("fields in another order", |text| {
            text.replace("{\"index\":1,", "{")
                .replace("\"withheld\":", "\"index\":1,\"withheld\":")
        }),
        ("no end", |text| text.trim_end().to_owned()),
    ];
    let mut good = export(Coverage::Complete);
    good.lines[1].payload = None;
    good.lines[1].withheld = Some(Label::parse("restricted").unwrap());
    let good = text_of(&good);
    assert_eq!(of_text(&good, None, Coverage::Complete).faults, []);
    for (what, rewrite) in rewrites {
        let text = rewrite(&good);
        assert_ne!(text, good, "{what}");
        let faults = of_text(&text, None, Coverage::Complete).faults;
        assert!(!faults.is_empty(), "{what}");
        for fault in faults {
            assert_eq!(fault.problem, REWRITTEN, "{what}");
        }
    }
}

#[test]
fn b000_19_an_older_checkpoint_is_a_beginning_or_not() {
    let now = export(Coverage::Complete);
    let beginning = |count: usize| {
        prove(
            export(Coverage::Complete).lines[..count].to_vec(),
            Coverage::Complete,
        )
    };
    for count in 0..=5 {
        let older = beginning(count).header.checkpoint;
        assert_eq!(checked(&now, Some(&older)).faults, [], "{count}");
    }
    let mut others = export(Coverage::Complete).lines;
    others.swap(0, 1);
    let rewritten = prove(others[..3].to_vec(), Coverage::Complete)
        .header
        .checkpoint;
    let say = |verdict: Verdict| {
        verdict
            .faults
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        say(checked(&now, Some(&rewritten))),
        ["the log was rewritten: its first 3 leaves differ from those of the older checkpoint"]
    );
    assert_eq!(
        say(checked(&beginning(3), Some(&now.header.checkpoint)))[0],
        "the log has shrunk: it had 5 leaves and has 3"
    );
}

#[test]
fn b000_19_an_unsound_header_is_refused() {
    let good = export(Coverage::Complete).header;
    let refused = |header: &Header, pinned: &VerifierKey| {
        let header = serde_json::to_string(header).unwrap();
        Verifier::open(&header, Some(pinned), None, Coverage::Complete)
            .unwrap_err()
            .to_string()
    };
    let own = signer();
    let other = Signer::new(KeyName::parse("test/evidence/acme").unwrap(), &[4; 32]);
    assert!(
        refused(&good, other.verifier()).starts_with("line 1: it is signed by test/evidence/acme+")
    );
    let mut bent = good.clone();
    bent.checkpoint = bent.checkpoint.replacen("\n5\n", "\n4\n", 1);
    assert!(refused(&bent, own.verifier()).contains("the signature by the key"));
    let mut foreign = good.clone();
    foreign.tenant_id = TenantId::parse("other").unwrap();
    assert_eq!(
        refused(&foreign, own.verifier()),
        "line 1: the log `test/evidence/acme` does not belong to the tenant `other`"
    );
    let newer = Header {
        format: "charter-evidence/2".to_owned(),
        ..good
    };
    assert!(refused(&newer, own.verifier()).contains("charter-evidence/1"));
    assert!(Verifier::open("{}", None, None, Coverage::Complete).is_err());
}
