//! Packages and skills: YAML files, whole packages, directories with a `SKILL.md`.

use std::collections::BTreeMap;
use std::str::from_utf8;
use std::sync::{Arc, LazyLock};

use charter_contract::catalogue::Document;
use charter_contract::catalogue::domain::Domain;
use charter_contract::ids::{PackageName, TenantId};
use charter_contract::package::{PackageBundle, PackageScope};
use charter_contract::scope::Scope;
use charter_contract::validate::Contract;
use charter_contract::violation::Report;
use charter_domain::cancellation::Cancellation;
use charter_domain::catalogue::{BUILT_IN, Layer, Origin, View};
use charter_domain::package::{self, Against, Package, Problem, ProblemSeverity};
use charter_domain::skill_folder::{
    self, ScriptGrant, SkillFile, script_package, scripts, skill_md_fields,
};
use charter_domain::source;

use super::Verdict;
use crate::corpus::package_files;

pub(super) const YAML_WORDS: &[&str] = &[
    "[", "]", "{", "}", ",", ": ", "? ", "- ", "\n", "  ", "|\n", ">-\n", "\"", "'", "&a", "*a",
    "!!t", "%YAML", "---\n", "...\n", "#", "a: ", "<<: ", "\t",
];

pub(super) const PACKAGE_WORDS: &[&str] = &[
    "\n-- ",
    " --\n",
    "package.yaml",
    "tools/",
    "skills/",
    "policies/",
    "templates/",
    "guardrails/",
    "${user.region}",
    "${step_1}",
    "{{ ",
    " }}",
    "when: ",
    "filter: ",
    "cedar: |\n",
    "output_schema: ",
    "$ref",
    "allOf",
    "parameters:\n",
    "  - {",
    "}\n",
    "governs: [\"*\"]",
    "structure: ",
    "depends_on: ",
    "[",
    "]",
];

pub(super) const SKILL_WORDS: &[&str] = &[
    "---\n",
    "name: ",
    "description: ",
    "metadata:\n",
    "allowed-tools: ",
    "license: ",
    "[",
    "{",
    "? ",
    ": ",
    "- ",
    "\n",
    "\"",
    "[x](y)",
];

/// Parses a YAML file, with the locations of its parts.
pub(super) fn yaml(input: &[u8]) -> Verdict {
    let Ok(text) = from_utf8(input) else {
        return Verdict::Refused;
    };
    let read = source::read(text);
    if let Ok(located) = &read {
        assert!(located.position("/a/0").line > 0, "a part without a line");
    }
    Verdict::from_result(&read)
}

/// Parses and checks a package as registration does.
pub(super) fn package(input: &[u8]) -> Verdict {
    match from_utf8(input) {
        Ok(text) => registered(package_files(text)),
        Err(_) => Verdict::Refused,
    }
}

/// Whether a package of these files would be registered, apart from routing tests.
pub(super) fn registered(files: BTreeMap<String, String>) -> Verdict {
    let bundle = PackageBundle { files };
    let mut report = Report::new();
    bundle.check(&mut report);
    if !report.violations.is_empty() {
        return Verdict::Refused;
    }
    let reading = package::read(bundle, &Cancellation::default());
    let is_error = |problem: &Problem| problem.severity == ProblemSeverity::Error;
    match reading.package {
        Some(package) if !checked(&package).iter().any(is_error) => Verdict::Accepted,
        Some(_) | None => Verdict::Refused,
    }
}

fn checked(package: &Package) -> Vec<Problem> {
    static BEFORE: LazyLock<View> = LazyLock::new(domains);
    let scope = Scope::Tenant(TenantId::parse("acme").expect("an id"));
    let origin = Arc::new(Origin {
        scope: scope.clone(),
        package: package.manifest.value.name.clone(),
        version: "1".to_owned(),
    });
    let documents = package.documents.iter();
    let documents = documents.map(|document| (document.value.clone(), String::new()));
    let after = BEFORE.with_package(&origin, documents);
    package::check(
        package,
        &Against {
            scope: &scope,
            before: &BEFORE,
            after: &after,
            origin: &origin,
            cancel: &Cancellation::default(),
        },
    )
}

/// A catalogue with only the predefined domains.
fn domains() -> View {
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse(BUILT_IN).expect("a name"),
        version: "0".to_owned(),
    });
    let mut global = Layer::default();
    for domain in Domain::seeded() {
        global.insert(Document::Domain(domain), Arc::clone(&origin), String::new());
    }
    View {
        global: Arc::new(global),
        tenant: Arc::default(),
    }
}

/// Parses a directory whose `SKILL.md` is the input.
pub(super) fn skill(input: &[u8]) -> Verdict {
    drop(skill_md_fields(input));
    let file = |path: &str, content: &[u8]| SkillFile {
        path: path.to_owned(),
        content: content.into(),
        executable: false,
    };
    let files = vec![
        file("probe/SKILL.md", input),
        file("probe/references/notes.md", b"Notes.\n"),
        file("probe/scripts/run.py", input),
        file("probe/scripts/run.sh", b"echo\n"),
    ];
    let reading = skill_folder::read(files, &Cancellation::default());
    for skill in &reading.skills {
        let found = scripts(skill, ScriptGrant::AllowedTools);
        let package = script_package(skill, &found, PackageScope::Tenant);
        // Hosts and variables that a skill declares may be refused.
        let is_plain = found.egress.is_empty() && found.environment.is_empty();
        if let Some(package) = package.filter(|_| is_plain) {
            let verdict = registered(package.bundle.files);
            assert_eq!(
                verdict,
                Verdict::Accepted,
                "tools that cannot be registered"
            );
        }
    }
    match reading.skills.is_empty() {
        true => Verdict::Refused,
        false => Verdict::Accepted,
    }
}
