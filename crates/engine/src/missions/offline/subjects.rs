//! Findings of rules, grouped by subject, most serious first. Adds no statement: all words come from the findings'
//! templates and fields.

use std::collections::BTreeMap;

use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::finding::Finding;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::{counted, in_one_line, list, sentence};

/// Fields with a thing's readable name.
const NAMES: [&str; 3] = ["resource_name", "display_name", "name"];
/// Fields that describe a finding, best first.
const STATEMENTS: [&str; 4] = ["summary", "message", "description", "title"];

/// A finding with the ref for citing it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CitedFinding {
    #[serde(rename = "ref")]
    pub(super) reference: String,
    pub(super) finding: Finding,
}

impl CitedFinding {
    /// Reads the findings of a context's list; entries that are not findings are left out.
    pub(super) fn all(of: &Value) -> Vec<Self> {
        let listed = list(of, "findings").iter();
        let mut found: Vec<Self> = listed
            .filter_map(|one| Self::deserialize(one).ok())
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|one| seen.insert(one.finding.finding_id.clone()));
        found
    }

    /// Returns the text of the finding: the template's, else the rule's.
    fn statement(&self) -> String {
        let said = STATEMENTS
            .into_iter()
            .find_map(|name| self.rendered(name).or_else(|| self.field(name)));
        sentence(&said.unwrap_or_else(|| self.finding.rule_id.as_str().replace('_', " ")))
    }

    fn rendered(&self, name: &str) -> Option<String> {
        let rendered = self.finding.rendered.as_ref()?;
        rendered.get(name)?.as_str().map(ToOwned::to_owned)
    }

    fn field(&self, name: &str) -> Option<String> {
        self.finding
            .fields
            .get(name)?
            .as_str()
            .map(ToOwned::to_owned)
    }
}

/// A finding with its rendered text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FindingText {
    pub(super) finding: Finding,
    pub(super) statement: String,
}

impl FindingText {
    /// Returns a field of the finding.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.finding
            .fields
            .get(name)
            .filter(|value| !value.is_null())
    }
}

/// A thing with findings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    /// The thing's own id.
    pub(super) id: String,
    /// The type of thing.
    pub(super) kind: String,
    name: Option<String>,
    /// Severity of the worst finding.
    pub(super) severity: Severity,
    score: Option<f64>,
    /// Impacts of the findings, each once.
    impacts: Vec<String>,
    /// Statements of the findings, each once.
    said: Vec<String>,
    /// Recommendations from the templates of its worst findings.
    pub(super) advice: Vec<String>,
    /// Refs that support it, each once.
    pub(super) refs: Vec<String>,
    /// All its findings, worst first.
    pub(super) findings: Vec<FindingText>,
}

impl Subject {
    /// Returns the readable name, else the id.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns the name, with the id if that differs.
    pub(super) fn label(&self) -> String {
        match &self.name {
            Some(name) if *name != self.id => format!("{name} ({})", self.id),
            Some(_) | None => self.id.clone(),
        }
    }

    /// Returns all its statements: impacts first, then findings.
    pub(super) fn statement(&self) -> String {
        let all: Vec<&str> = self
            .impacts
            .iter()
            .chain(&self.said)
            .map(String::as_str)
            .collect();
        all.join(" ")
    }

    /// Returns the subject as one line.
    pub(super) fn line(&self) -> String {
        let (label, severity) = (self.label(), self.severity);
        match self.score {
            Some(score) => format!("{label}, {severity}, score {score}: {}", self.statement()),
            None => format!("{label}, {severity}: {}", self.statement()),
        }
    }

    /// Returns the finding with most of these fields; of several equal ones, the worst.
    pub(super) fn most_of(&self, names: &[&str]) -> Option<&FindingText> {
        let has = |found: &FindingText| {
            names
                .iter()
                .filter(|name| found.value(name).is_some())
                .count()
        };
        let most = self.findings.iter().map(has).max()?;
        self.findings.iter().find(|found| has(found) == most)
    }
}

/// Groups findings by subject, most serious subject first. Each finding comes with an optional further ref.
pub(super) fn subjects(found: Vec<(CitedFinding, Option<String>)>) -> Vec<Subject> {
    let mut found = found;
    found.sort_by_key(|(cited, _)| cited.finding.severity);
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut all: Vec<Subject> = Vec::new();
    for (cited, also) in found {
        let finding = &cited.finding;
        let (kind, id) = (
            finding.resource_type.to_string(),
            finding.resource_id.to_string(),
        );
        let at = *places.entry((kind.clone(), id.clone())).or_insert_with(|| {
            all.push(Subject {
                id,
                kind,
                name: None,
                severity: finding.severity,
                score: None,
                impacts: Vec::new(),
                said: Vec::new(),
                advice: Vec::new(),
                refs: Vec::new(),
                findings: Vec::new(),
            });
            all.len() - 1
        });
        if let Some(subject) = all.get_mut(at) {
            subject.take(cited, also);
        }
    }
    all.sort_by(|a, b| {
        let score = |subject: &Subject| subject.score.unwrap_or(f64::NEG_INFINITY);
        let by_score = score(b).total_cmp(&score(a));
        a.severity
            .cmp(&b.severity)
            .then(by_score)
            .then_with(|| a.id.cmp(&b.id))
    });
    all
}

impl Subject {
    fn take(&mut self, cited: CitedFinding, also: Option<String>) {
        let names = NAMES.into_iter();
        self.name = self
            .name
            .take()
            .or_else(|| names.clone().find_map(|name| cited.field(name)));
        let score = cited.finding.fields.get("score").and_then(Value::as_f64);
        self.score = match (self.score, score) {
            (Some(known), Some(other)) => Some(known.max(other)),
            (known, other) => known.or(other),
        };
        let statement = cited.statement();
        add(&mut self.said, statement.clone());
        if let Some(impact) = cited.rendered("impact") {
            add(&mut self.impacts, sentence(&impact));
        }
        // Findings come worst first: the recommendation of a lesser one may not apply any more.
        if cited.finding.severity == self.severity
            && let Some(advice) = cited.rendered("recommendation")
        {
            add(&mut self.advice, sentence(&advice));
        }
        for reference in also.into_iter().chain([cited.reference]) {
            add(&mut self.refs, reference);
        }
        self.findings.push(FindingText {
            finding: cited.finding,
            statement,
        });
    }
}

fn add(to: &mut Vec<String>, text: String) {
    if !text.is_empty() && !to.contains(&text) {
        to.push(text);
    }
}

/// Counts subjects and findings by kind and severity: `3 findings on 2 leads: 1 critical, 1 low`.
pub(super) fn tally(subjects: &[Subject]) -> String {
    let findings: usize = subjects.iter().map(|subject| subject.findings.len()).sum();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut levels: BTreeMap<Severity, usize> = BTreeMap::new();
    for subject in subjects {
        *kinds.entry(plain_kind(&subject.kind)).or_default() += 1;
        *levels.entry(subject.severity).or_default() += 1;
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, number)| counted(*number, kind))
        .collect();
    let levels: Vec<String> = levels
        .iter()
        .map(|(level, number)| format!("{number} {level}"))
        .collect();
    format!(
        "{} on {}: {}",
        counted(findings, "finding"),
        kinds.join(", "),
        levels.join(", ")
    )
}

/// Returns `security group` for `aws.ec2.security_group` and for `AWS::EC2::SecurityGroup`.
fn plain_kind(kind: &str) -> String {
    let last = kind.rsplit(['.', ':', '/']).next().unwrap_or_default();
    let mut plain = String::new();
    for letter in last.chars() {
        if letter.is_uppercase() && plain.ends_with(char::is_lowercase) {
            plain.push(' ');
        }
        plain.push(if letter == '_' || letter == '-' {
            ' '
        } else {
            letter
        });
    }
    in_one_line(&plain.to_lowercase())
}

/// `AWS::EC2::SecurityGroup`, `security_group` and `aws.ec2.security-group` are the same kind of thing.
pub(super) fn same_kind(a: &str, b: &str) -> bool {
    let plain = |kind: &str| plain_kind(kind).replace(' ', "");
    !plain(a).is_empty() && plain(a) == plain(b)
}
