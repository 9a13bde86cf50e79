//! The test vectors that the verifiers in Rust, TypeScript and Python share: `testdata/evidence-log`.

use std::collections::BTreeMap;
use std::convert::Infallible;

use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::ids::EvidenceId;
use serde::Deserialize;

use super::entry::{payload_digest, record_digest};
use super::note::NoteError;
use super::proof::{TreeHead, extends, includes};
use super::*;

macro_rules! vectors {
    ($file:literal) => {{
        let text = include_str!(concat!("../../../../testdata/evidence-log/", $file));
        serde_json::from_str(text).unwrap()
    }};
}

#[derive(Deserialize)]
struct TreeVectors {
    empty: Hash,
    nodes: Vec<NodeVector>,
    logs: BTreeMap<String, LogVector>,
    inclusion: Vec<InclusionVector>,
    consistency: Vec<ConsistencyVector>,
}

#[derive(Deserialize)]
struct NodeVector {
    left: Hash,
    right: Hash,
    hash: Hash,
}

#[derive(Deserialize)]
struct LogVector {
    leaves: Vec<LeafVector>,
    heads: Vec<Hash>,
}

#[derive(Deserialize)]
struct LeafVector {
    data: String,
    hash: Hash,
}

#[derive(Deserialize)]
struct InclusionVector {
    name: String,
    log: Option<String>,
    index: u64,
    size: u64,
    leaf: Hash,
    proof: Vec<Hash>,
    root: Hash,
    valid: bool,
}

#[derive(Deserialize)]
struct ConsistencyVector {
    name: String,
    log: Option<String>,
    old: HeadVector,
    new: HeadVector,
    proof: Vec<Hash>,
    valid: bool,
}

#[derive(Deserialize)]
struct HeadVector {
    size: u64,
    root: Hash,
}

impl HeadVector {
    fn head(&self) -> TreeHead {
        TreeHead {
            size: self.size,
            root: self.root,
        }
    }
}

#[derive(Deserialize)]
struct NoteVectors {
    keys: Vec<KeyVector>,
    refused_keys: Vec<KeyVector>,
    signed: Vec<SignedVector>,
    opened: Vec<OpenedVector>,
    refused: Vec<RefusedNoteVector>,
    checkpoints: Vec<CheckpointVector>,
    refused_checkpoints: Vec<RefusedCheckpointVector>,
}

#[derive(Deserialize)]
struct KeyVector {
    key: String,
    name: String,
    id: Option<String>,
}

#[derive(Deserialize)]
struct SignedVector {
    seed: Hash,
    key: String,
    text: String,
    note: String,
}

#[derive(Deserialize)]
struct OpenedVector {
    name: String,
    key: String,
    text: String,
    note: String,
}

#[derive(Deserialize)]
struct RefusedNoteVector {
    name: String,
    kind: String,
    key: String,
    note: String,
}

#[derive(Deserialize)]
struct CheckpointVector {
    seed: Hash,
    key: String,
    note: String,
    origin: String,
    size: u64,
    root: Hash,
}

#[derive(Deserialize)]
struct RefusedCheckpointVector {
    name: String,
    key: String,
    note: String,
}

#[derive(Deserialize)]
struct LeafVectors {
    records: Vec<RecordVector>,
    others: Vec<EntryVector>,
    refused: Vec<RefusedLeafVector>,
}

#[derive(Deserialize)]
struct RecordVector {
    evidence: EvidenceRecord,
    salt: Hash,
    record: String,
    record_sha256: Hash,
    payload: String,
    payload_sha256: Hash,
    leaf: String,
    leaf_hash: Hash,
}

#[derive(Deserialize)]
struct EntryVector {
    entry: LogEntry,
    leaf: String,
    leaf_hash: Hash,
}

#[derive(Deserialize)]
struct RefusedLeafVector {
    name: String,
    leaf: String,
}

#[derive(Deserialize)]
struct ExportVectors {
    bases: BTreeMap<String, Vec<String>>,
    cases: Vec<ExportCase>,
}

#[derive(Deserialize)]
struct ExportCase {
    name: String,
    base: String,
    accepts: Coverage,
    lines: Vec<LineVector>,
    faults: Vec<FaultVector>,
    pinned: Option<String>,
    since: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LineVector {
    OfBase(usize),
    Changed(String),
}

#[derive(Debug, PartialEq, Deserialize)]
struct FaultVector {
    line: Option<u64>,
    evidence_id: Option<EvidenceId>,
}

impl From<ExportFault> for FaultVector {
    fn from(fault: ExportFault) -> Self {
        Self {
            line: fault.line,
            evidence_id: fault.evidence_id,
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2).map(|at| &hex[at..at + 2]);
    digits
        .map(|digits| u8::from_str_radix(digits, 16).unwrap())
        .collect()
}

fn key_of(text: &str) -> VerifierKey {
    text.parse().unwrap()
}

fn signer_of(seed: Hash, key: &VerifierKey) -> Signer {
    Signer::new(key.name().clone(), &seed.0)
}

/// Returns every perfect subtree of a log, as created by appending its leaves.
fn nodes_of(log: &LogVector) -> BTreeMap<NodeId, Hash> {
    let mut nodes = BTreeMap::new();
    for (index, leaf) in (0..).zip(&log.leaves) {
        let made = tree::append(index, leaf.hash, |id| Ok::<_, Infallible>(nodes[&id]));
        nodes.extend(made.unwrap());
    }
    nodes
}

fn proof_of(plan: Option<Vec<Cover>>, log: &LogVector) -> Vec<Hash> {
    let nodes = nodes_of(log);
    let plan = plan.unwrap();
    plan.iter()
        .map(|cover| cover.fold(&nodes).unwrap())
        .collect()
}

#[test]
fn b000_19_hashes_and_heads_are_those_of_the_vectors() {
    let vectors: TreeVectors = vectors!("tree.json");
    assert_eq!(Hash::empty(), vectors.empty);
    for NodeVector { left, right, hash } in vectors.nodes {
        assert_eq!(Hash::node(left, right), hash);
    }
    for (name, log) in &vectors.logs {
        for leaf in &log.leaves {
            assert_eq!(Hash::leaf(&bytes_of(&leaf.data)), leaf.hash, "{name}");
        }
        let nodes = nodes_of(log);
        for (size, head) in (0..).zip(&log.heads) {
            assert_eq!(tree::head(size).fold(&nodes), Ok(*head), "{name}: {size}");
        }
    }
}

#[test]
fn b000_19_inclusion_proofs_are_those_of_the_vectors() {
    let vectors: TreeVectors = vectors!("tree.json");
    for case in vectors.inclusion {
        let found = includes(case.index, case.size, case.leaf, &case.proof, case.root);
        assert_eq!(found, case.valid, "{}", case.name);
        if let Some(log) = case.log {
            let made = proof_of(tree::inclusion(case.index, case.size), &vectors.logs[&log]);
            assert_eq!(made, case.proof, "{}", case.name);
        }
    }
}

#[test]
fn b000_19_consistency_proofs_are_those_of_the_vectors() {
    let vectors: TreeVectors = vectors!("tree.json");
    for case in vectors.consistency {
        let found = extends(case.old.head(), case.new.head(), &case.proof);
        assert_eq!(found, case.valid, "{}", case.name);
        if let Some(log) = case.log {
            let plan = tree::consistency(case.old.size, case.new.size);
            let made = proof_of(plan, &vectors.logs[&log]);
            assert_eq!(made, case.proof, "{}", case.name);
        }
    }
}

#[test]
fn b000_19_a_verifier_key_is_read_strictly() {
    let vectors: NoteVectors = vectors!("notes.json");
    for vector in vectors.keys {
        let key = key_of(&vector.key);
        assert_eq!(
            (key.to_string(), key.name().to_string(), Some(key.id())),
            (vector.key, vector.name, vector.id)
        );
    }
    for vector in vectors.refused_keys {
        let key = vector.key.parse::<VerifierKey>();
        assert!(key.is_err(), "{}", vector.name);
    }
}

#[test]
fn b000_19_notes_are_those_of_the_vectors() {
    let vectors: NoteVectors = vectors!("notes.json");
    for vector in vectors.signed {
        let key = key_of(&vector.key);
        let signer = signer_of(vector.seed, &key);
        assert_eq!(signer.verifier(), &key);
        assert_eq!(signer.sign(&vector.text), Ok(vector.note.clone()));
        assert_eq!(key.open(&vector.note), Ok(vector.text.as_str()));
    }
    for vector in vectors.opened {
        let key = key_of(&vector.key);
        let opened = key.open(&vector.note);
        assert_eq!(opened, Ok(vector.text.as_str()), "{}", vector.name);
    }
}

#[test]
fn b000_19_a_changed_note_is_refused() {
    let vectors: NoteVectors = vectors!("notes.json");
    for vector in vectors.refused {
        let kind = match key_of(&vector.key).open(&vector.note) {
            Ok(_) => "opened",
            Err(NoteError::Malformed(_)) => "malformed",
            Err(NoteError::Unsigned(_)) => "unsigned",
            Err(NoteError::Forged(_)) => "forged",
            Err(NoteError::Key(_) | NoteError::Name) => "of a bad key",
        };
        assert_eq!(kind, vector.kind, "{}", vector.name);
    }
}

#[test]
fn b000_19_checkpoints_are_those_of_the_vectors() {
    let vectors: NoteVectors = vectors!("notes.json");
    for vector in vectors.checkpoints {
        let key = key_of(&vector.key);
        let checkpoint = Checkpoint {
            origin: KeyName::parse(&vector.origin).unwrap(),
            head: TreeHead {
                size: vector.size,
                root: vector.root,
            },
        };
        let signed = checkpoint.sign(&signer_of(vector.seed, &key));
        assert_eq!(signed, Ok(vector.note.clone()));
        assert_eq!(Checkpoint::open(&vector.note, &key), Ok(checkpoint));
    }
    for vector in vectors.refused_checkpoints {
        let opened = Checkpoint::open(&vector.note, &key_of(&vector.key));
        assert!(opened.is_err(), "{}: {opened:?}", vector.name);
    }
}

#[test]
fn b000_19_leaves_are_those_of_the_vectors() {
    let vectors: LeafVectors = vectors!("leaves.json");
    for vector in vectors.records {
        let sealed = SealedRecord::seal(&vector.evidence, vector.salt.0).unwrap();
        assert_eq!(record_digest(&sealed.record), vector.record_sha256);
        assert_eq!(
            payload_digest(&sealed.salt, &sealed.payload),
            vector.payload_sha256
        );
        let entry = sealed.entry(vector.evidence.id);
        assert_eq!(
            (sealed.record, sealed.payload),
            (vector.record, vector.payload)
        );
        check_leaf(&entry, &vector.leaf, vector.leaf_hash);
    }
    for vector in vectors.others {
        check_leaf(&vector.entry, &vector.leaf, vector.leaf_hash);
    }
    for vector in vectors.refused {
        assert!(
            LogEntry::from_leaf(&vector.leaf).is_err(),
            "{}",
            vector.name
        );
    }
}

fn check_leaf(entry: &LogEntry, leaf: &str, hash: Hash) {
    assert_eq!(entry.to_leaf().unwrap(), leaf);
    assert_eq!(&LogEntry::from_leaf(leaf).unwrap(), entry);
    assert_eq!(Hash::leaf(leaf.as_bytes()), hash, "{leaf}");
}

#[test]
fn b000_19_exports_have_the_faults_of_the_vectors() {
    let vectors: ExportVectors = vectors!("exports.json");
    for case in vectors.cases {
        let base = &vectors.bases[&case.base];
        let lines = case.lines.iter().map(|line| match line {
            LineVector::OfBase(number) => base[number - 1].as_str(),
            LineVector::Changed(text) => text.as_str(),
        });
        let found = faults_of(&lines.collect::<Vec<_>>(), &case);
        assert_eq!(found, case.faults, "{}: {}", case.base, case.name);
    }
}

fn faults_of(lines: &[&str], case: &ExportCase) -> Vec<FaultVector> {
    let pinned = case.pinned.as_deref().map(key_of);
    let since = case.since.as_deref();
    let mut verifier = match Verifier::open(lines[0], pinned.as_ref(), since, case.accepts) {
        Ok(verifier) => verifier,
        Err(fault) => return vec![fault.into()],
    };
    for (number, line) in (2..).zip(&lines[1..]) {
        verifier.line(number, line);
    }
    let faults = verifier.finish().faults;
    faults.into_iter().map(FaultVector::from).collect()
}
