//! Every crate takes the lints of the workspace.

use toml::de::DeTable;

use crate::finding::Finding;
use crate::workspace::Crate;

/// The manifest that has no `[lints] workspace = true`, if it is this one.
pub(crate) fn check(member: &Crate) -> Option<Finding> {
    let file = &member.manifest;
    let parsed = match DeTable::parse(&file.text) {
        Ok(parsed) => parsed.into_inner(),
        Err(error) => return Some(Finding::error(&file.path, 1, error.message())),
    };
    let lints = parsed
        .get("lints")
        .and_then(|lints| lints.as_ref().get("workspace"));
    if lints.and_then(|workspace| workspace.as_ref().as_bool()) == Some(true) {
        return None;
    }
    let message = "write `[lints]` with `workspace = true`";
    Some(Finding::error(&file.path, file.line_of("[lints]"), message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    fn line(text: &str) -> Option<usize> {
        let member = Crate {
            name: "x".to_owned(),
            manifest: TextFile {
                path: "crates/x/Cargo.toml".to_owned(),
                text: text.to_owned(),
            },
            dependencies: Vec::new(),
        };
        check(&member).map(|finding| finding.line)
    }

    #[test]
    fn lints_must_come_from_the_workspace() {
        assert_eq!(line("[lints]\nworkspace = true\n"), None);
        assert_eq!(line("lints.workspace = true\n"), None);
        assert_eq!(line("[package]\nname = \"x\"\n"), Some(1));
        assert_eq!(line("[package]\n[lints.rust]\nx = \"allow\"\n"), Some(1));
        assert_eq!(line("[package]\n[lints]\nworkspace = false\n"), Some(2));
    }
}
