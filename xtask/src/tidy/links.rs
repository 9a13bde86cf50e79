//! Checks that documents name only existing files, in relative links and in paths in code type.
//!
//! Links to other sites are not followed.

use crate::finding::Finding;
use crate::workspace::TextFile;

/// Directories whose paths are checked in code type.
const FOLDERS: [&str; 7] = [
    "bench/",
    "crates/",
    "docs/",
    "packages/",
    "quickstart/",
    "schemas/",
    "xtask/",
];

/// Directory of packages, whose documents are not about the project.
const PACKAGES: &str = "packages/";

/// Page about planned work, which may name future files.
const PLAN: &str = "docs/plan.md";

/// Reports broken links and paths in a Markdown file. `exists` answers for paths relative to the root.
pub(crate) fn check(file: &TextFile, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    if file.path.starts_with(PACKAGES) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut fenced = false;
    for (at, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let (prose, code) = split_code(line);
        for target in targets(&prose).filter(|target| is_relative(target)) {
            if !resolve(&file.path, target).is_some_and(|path| exists(&path)) {
                let message = format!("the link `{target}` leads nowhere");
                findings.push(Finding::error(&file.path, at + 1, message));
            }
        }
        let named = code
            .iter()
            .filter(|code| file.path != PLAN && is_path(code));
        for path in named.filter(|path| !exists(path)) {
            let message = format!("there is no `{path}`");
            findings.push(Finding::error(&file.path, at + 1, message));
        }
    }
    findings
}

/// Splits a line into the text outside code type and the pieces in code type.
fn split_code(line: &str) -> (String, Vec<&str>) {
    let parts = line.split('`').enumerate();
    let (code, prose): (Vec<_>, Vec<_>) = parts.partition(|(at, _)| at % 2 == 1);
    let text = |parts: Vec<(usize, &'_ str)>| parts.into_iter().map(|(_, part)| part).collect();
    let prose: String = text(prose);
    (prose, code.into_iter().map(|(_, part)| part).collect())
}

/// Returns the link targets in a line: `](target)`, and `[name]: target` at its start.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .and_then(|(_, target)| target.split_whitespace().next());
    inline.chain(definition)
}

fn is_relative(target: &str) -> bool {
    let elsewhere = ["http://", "https://", "mailto:"];
    !target.starts_with('#') && !elsewhere.iter().any(|scheme| target.starts_with(scheme))
}

/// Whether a piece of code is a path in this repository, and not a pattern.
fn is_path(code: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    FOLDERS.iter().any(|folder| code.starts_with(folder)) && code.chars().all(plain)
}

/// Resolves a target relative to the root; `None` if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_lines(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let exists = |path: &str| ["README.md", "docs/a.md", "crates/x/src/lib.rs"].contains(&path);
        check(&file, &exists)
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn a_relative_link_must_lead_to_a_file() {
        let text = "[a](a.md) [r](../README.md#x)\n[no](b.md)\n[out](../../x.md)\n[web](https://example.com/b.md) [here](#part)\n\n[ref]: b.md\n";
        assert_eq!(broken_lines("docs/c.md", text), [2, 3, 6]);
    }

    #[test]
    fn links_in_code_are_ignored_and_paths_in_code_type_must_exist() {
        let text = "`[a](b.md)`\n```\n[a](b.md)\n```\n`crates/x/src/lib.rs`\n`crates/x/src/gone.rs`\n`crates/*/src` `crates/<name>`\n";
        assert_eq!(broken_lines("docs/c.md", text), [6]);
        assert_eq!(broken_lines("docs/plan.md", text), Vec::<usize>::new());
    }

    #[test]
    fn links_inside_packages_are_ignored() {
        let text = "[a](gone.md)\n";
        assert_eq!(
            broken_lines("packages/p/lenses/l.md", text),
            Vec::<usize>::new()
        );
    }
}
