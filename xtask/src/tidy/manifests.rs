//! Checks that every crate inherits its lints, and the version of each dependency, from the workspace.

use toml::de::{DeTable, DeValue};

use crate::finding::Finding;
use crate::workspace::Crate;

/// Tables with dependencies, in a manifest or in one of its platforms.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Reports missing workspace lints, and dependencies without `workspace = true`.
pub(crate) fn check(member: &Crate) -> Vec<Finding> {
    let file = &member.manifest;
    let parsed = match DeTable::parse(&file.text) {
        Ok(parsed) => parsed.into_inner(),
        Err(error) => return vec![Finding::error(&file.path, 1, error.message())],
    };
    let mut findings = Vec::new();
    if !parsed
        .get("lints")
        .is_some_and(|lints| inherits(lints.get_ref()))
    {
        let message = "write `[lints]` with `workspace = true`";
        findings.push(Finding::error(&file.path, file.line_of("[lints]"), message));
    }
    let listed = tables_of(&parsed)
        .into_iter()
        .flat_map(|table| table.iter());
    for (name, _) in listed.filter(|(_, dependency)| !inherits(dependency.get_ref())) {
        let line = file.text[..name.span().start].matches('\n').count() + 1;
        let message = format!(
            "write `{0}.workspace = true`, and the version of `{0}` in `[workspace.dependencies]`",
            name.get_ref()
        );
        findings.push(Finding::error(&file.path, line, message));
    }
    findings
}

fn tables_of<'m, 'i>(manifest: &'m DeTable<'i>) -> Vec<&'m DeTable<'i>> {
    let platforms = manifest
        .get("target")
        .and_then(|platforms| platforms.get_ref().as_table());
    let platforms = platforms
        .into_iter()
        .flat_map(|platforms| platforms.iter())
        .filter_map(|(_, platform)| platform.get_ref().as_table());
    std::iter::once(manifest)
        .chain(platforms)
        .flat_map(|tables| {
            DEPENDENCIES
                .into_iter()
                .filter_map(move |name| tables.get(name))
        })
        .filter_map(|listed| listed.get_ref().as_table())
        .collect()
}

fn inherits(value: &DeValue<'_>) -> bool {
    let workspace = value.get("workspace");
    workspace.and_then(|workspace| workspace.get_ref().as_bool()) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        let member = Crate {
            name: "x".to_owned(),
            manifest: TextFile {
                path: "crates/x/Cargo.toml".to_owned(),
                text: text.to_owned(),
            },
            dependencies: Vec::new(),
        };
        check(&member).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn lints_must_come_from_the_workspace() {
        assert_eq!(lines("[lints]\nworkspace = true\n"), NONE);
        assert_eq!(lines("lints.workspace = true\n"), NONE);
        assert_eq!(lines("[package]\nname = \"x\"\n"), [1]);
        assert_eq!(lines("[package]\n[lints.rust]\nx = \"allow\"\n"), [1]);
        assert_eq!(lines("[package]\n[lints]\nworkspace = false\n"), [2]);
    }

    #[test]
    fn versions_must_come_from_the_workspace() {
        let below = |table: &str| lines(&format!("lints.workspace = true\n{table}\n"));
        assert_eq!(below("[dependencies]\na.workspace = true"), NONE);
        let inherited = "[dependencies]\na = { workspace = true, features = [\"b\"] }";
        assert_eq!(below(inherited), NONE);
        assert_eq!(below("[dependencies]\na.workspace = true\nb = \"1\""), [4]);
        assert_eq!(below("[dev-dependencies]\na = { version = \"1\" }"), [3]);
        assert_eq!(below("[build-dependencies.a]\npath = \"../a\""), [2]);
        assert_eq!(below("[target.'cfg(unix)'.dependencies]\na = \"1\""), [3]);
    }
}
