//! Checks imports between crates: the layers of the design, and the APIs that each layer must not use.
//!
//! Tests may use the layers below, the test kit, and a real store in place of a mock.

use crate::finding::Finding;
use crate::workspace::{Crate, TextFile, Use};

/// A crate, and the workspace crates that it may import.
struct Rule {
    name: &'static str,
    may_import: &'static [&'static str],
}

/// The layers, lowest first.
const RULES: [Rule; 14] = [
    Rule {
        name: "charter-contract",
        may_import: &[],
    },
    Rule {
        name: "charter-domain",
        may_import: &["charter-contract"],
    },
    Rule {
        name: "charter-import",
        may_import: &["charter-contract", "charter-domain"],
    },
    Rule {
        name: "charter-store",
        may_import: &["charter-contract", "charter-domain"],
    },
    Rule {
        name: "charter-store-sql",
        may_import: &["charter-contract", "charter-domain", "charter-store"],
    },
    Rule {
        name: "charter-store-es",
        may_import: &["charter-contract", "charter-store"],
    },
    Rule {
        name: "charter-search",
        may_import: &["charter-contract"],
    },
    Rule {
        name: "charter-embed",
        may_import: &["charter-contract", "charter-search"],
    },
    Rule {
        name: "charter-effects",
        may_import: &["charter-contract"],
    },
    Rule {
        name: "charter-engine",
        may_import: &[
            "charter-contract",
            "charter-domain",
            "charter-store",
            "charter-search",
            "charter-effects",
        ],
    },
    Rule {
        name: "charter-server",
        may_import: &["charter-contract", "charter-engine"],
    },
    Rule {
        name: "charter-cli",
        may_import: &[
            "charter-contract",
            "charter-domain",
            "charter-import",
            "charter-store",
            "charter-store-sql",
            "charter-store-es",
            "charter-search",
            "charter-embed",
            "charter-effects",
            "charter-engine",
            "charter-server",
        ],
    },
    Rule {
        name: "charter-testkit",
        may_import: &[
            "charter-contract",
            "charter-domain",
            "charter-import",
            "charter-store",
            "charter-effects",
        ],
    },
    Rule {
        name: "xtask",
        may_import: &[],
    },
];

/// Crates that tests may import in addition to the layers below.
const FOR_TESTS: [&str; 2] = ["charter-testkit", "charter-store-sql"];

/// External crates that a layer must not import.
const FORBIDDEN: [(&str, &[&str]); 8] = [
    (
        "charter-contract",
        &["tokio", "reqwest", "hyper", "axum", "rusqlite"],
    ),
    (
        "charter-domain",
        &["tokio", "reqwest", "hyper", "axum", "rusqlite"],
    ),
    (
        "charter-import",
        &["tokio", "reqwest", "hyper", "axum", "rusqlite"],
    ),
    (
        "charter-store",
        &["tokio", "reqwest", "hyper", "axum", "rusqlite"],
    ),
    (
        "charter-search",
        &["tokio", "reqwest", "hyper", "axum", "rusqlite"],
    ),
    (
        "charter-engine",
        &[
            "axum",
            "hyper",
            "reqwest",
            "rusqlite",
            "clap",
            "config",
            "opentelemetry",
        ],
    ),
    (
        "charter-server",
        &["rusqlite", "reqwest", "clap", "config", "opentelemetry"],
    ),
    ("charter-effects", &["opentelemetry"]),
];

/// Paths that a crate's product code must not name, with the reason.
const UNTOUCHED: [(&str, &[&str], &str); 5] = [
    (
        "crates/contract/src/",
        &["std::fs", "std::net", "std::process", "std::thread"],
        "no I/O",
    ),
    (
        "crates/domain/src/",
        &["std::fs", "std::net", "std::process", "std::thread"],
        "no I/O",
    ),
    (
        "crates/import/src/",
        &["std::fs", "std::net", "std::process", "std::thread"],
        "no I/O",
    ),
    (
        "crates/store/src/",
        &["std::fs", "std::net", "std::process", "std::thread"],
        "no I/O",
    ),
    (
        "crates/",
        &["env::var"],
        "only the command line reads the environment",
    ),
];

/// Crates that may read the environment: the command line, and the test kit.
const READS_ENVIRONMENT: [&str; 2] = ["crates/cli/", "crates/testkit/"];

/// Reports imports that no rule allows.
pub(crate) fn check(crates: &[Crate]) -> Vec<Finding> {
    crates.iter().flat_map(check_crate).collect()
}

fn check_crate(member: &Crate) -> Vec<Finding> {
    let Some(rule) = RULES.iter().find(|rule| rule.name == member.name) else {
        let message = format!("`{}` has no rule in xtask/src/tidy/edges.rs", member.name);
        return vec![Finding::error(&member.manifest.path, 1, message)];
    };
    let forbidden = FORBIDDEN.iter().find(|(name, _)| *name == member.name);
    let forbidden = forbidden.map_or(&[][..], |(_, forbidden)| *forbidden);
    let ours = |name: &str| RULES.iter().any(|rule| rule.name == name);
    let refused = member.dependencies.iter().filter(|dependency| {
        let name = dependency.name.as_str();
        match dependency.used {
            Use::Product if ours(name) => !rule.may_import.contains(&name),
            Use::Tests if ours(name) => {
                !rule.may_import.contains(&name) && !FOR_TESTS.contains(&name)
            }
            Use::Product => forbidden.contains(&name),
            Use::Tests => false,
        }
    });
    refused
        .map(|dependency| {
            let line = member.manifest.line_of(&dependency.name);
            let message = format!("`{}` may not import `{}`", member.name, dependency.name);
            Finding::error(&member.manifest.path, line, message)
        })
        .collect()
}

/// Reports forbidden paths in the product code of a crate.
pub(crate) fn check_untouched<'f>(files: impl Iterator<Item = &'f TextFile>) -> Vec<Finding> {
    files.flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in super::sources::product_lines(file) {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for (folder, paths, reason) in UNTOUCHED {
            let applies = file.path.starts_with(folder)
                && file.path.contains("/src/")
                && !READS_ENVIRONMENT
                    .iter()
                    .any(|own| file.path.starts_with(own));
            if let Some(path) = paths.iter().find(|path| applies && line.contains(**path)) {
                let message = format!("`{path}` may not be used here: {reason}");
                findings.push(Finding::error(&file.path, number, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn member(name: &str, dependencies: &[(&str, Use)]) -> Crate {
        let lines = dependencies
            .iter()
            .map(|(name, _)| format!("{name} = \"1\"\n"));
        Crate {
            name: name.to_owned(),
            manifest: TextFile {
                path: format!("crates/{name}/Cargo.toml"),
                text: lines.collect(),
            },
            dependencies: dependencies
                .iter()
                .map(|(name, used)| Dependency {
                    name: (*name).to_owned(),
                    used: *used,
                })
                .collect(),
        }
    }

    fn source(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn an_import_against_the_layers_is_found_at_its_line() {
        let domain = member(
            "charter-domain",
            &[
                ("serde", Use::Product),
                ("charter-contract", Use::Product),
                ("charter-store", Use::Product),
            ],
        );
        assert_eq!(
            check(&[domain]),
            [Finding::error(
                "crates/charter-domain/Cargo.toml",
                3,
                "`charter-domain` may not import `charter-store`"
            )]
        );
    }

    #[test]
    fn the_test_kit_is_for_tests_only() {
        let tests = member("charter-engine", &[("charter-testkit", Use::Tests)]);
        let product = member("charter-engine", &[("charter-testkit", Use::Product)]);
        assert_eq!(check(&[tests]), []);
        assert_eq!(check(&[product]).len(), 1);
    }

    #[test]
    fn a_layer_can_forbid_a_foreign_crate() {
        let engine = member(
            "charter-engine",
            &[("axum", Use::Product), ("axum", Use::Tests)],
        );
        assert_eq!(check(&[engine]).len(), 1);
        let server = member("charter-server", &[("axum", Use::Product)]);
        assert_eq!(check(&[server]), []);
    }

    #[test]
    fn a_crate_without_a_layer_rule_is_found() {
        assert_eq!(check(&[member("charter-new", &[])]).len(), 1);
    }

    #[test]
    fn the_server_may_not_import_the_store() {
        let server = member("charter-server", &[("charter-store", Use::Product)]);
        assert_eq!(check(&[server]).len(), 1);
    }

    #[test]
    fn only_the_command_line_reads_the_environment() {
        let text = "// env::var is for the command line\nlet a = std::env::var(\"A\");\n\n#[cfg(test)]\nmod tests {\n    fn t() { std::env::var(\"A\"); }\n}\n";
        let lines = |path: &str| -> Vec<usize> {
            let findings = check_file(&source(path, text));
            findings.iter().map(|finding| finding.line).collect()
        };
        assert_eq!(lines("crates/search/src/x.rs"), [2]);
        assert_eq!(lines("crates/cli/src/x.rs"), Vec::<usize>::new());
        assert_eq!(lines("crates/search/tests/x.rs"), Vec::<usize>::new());
    }
}
