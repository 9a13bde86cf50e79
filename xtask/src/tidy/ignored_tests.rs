//! Checks that every ignored test is started by name: by a target of the Makefile that its reason names, or by another
//! test of its file, as a process. An ignored test that nothing starts is a test left out.

use std::collections::BTreeSet;

use super::named_tests::function_name;
use super::rust_code::literals;
use crate::finding::Finding;
use crate::workspace::TextFile;

/// The attribute of an ignored test, up to what starts it. Other forms are refused as markers of unfinished work.
const STARTED_BY: &str = "#[ignore = \"started by ";

/// Reports ignored tests that nothing starts.
pub(crate) fn check<'f>(makefile: &str, files: impl Iterator<Item = &'f TextFile>) -> Vec<Finding> {
    let makefile = makefile.replace("\\\n", " ");
    files.flat_map(|file| check_file(&makefile, file)).collect()
}

fn check_file(makefile: &str, file: &TextFile) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(reason) = line.trim_start().strip_prefix(STARTED_BY) else {
            continue;
        };
        let mut after = lines[at + 1..].iter();
        let Some(test) = after.find_map(|line| function_name(line)) else {
            continue;
        };
        let path = path_of(&file.path, test);
        let problem = match target_of(reason) {
            Some(target) if is_started_by(makefile, target, &path) => None,
            Some(target) => Some(format!(
                "`make {target}` does not start the ignored test `{path}`: name it after `--ignored` in the Makefile"
            )),
            None if is_started_in(file, test) => None,
            None => Some(format!(
                "no test of this file starts the ignored test `{path}`: name a target of the Makefile, `make TARGET`"
            )),
        };
        findings.extend(problem.map(|message| Finding::error(&file.path, at + 1, message)));
    }
    findings
}

/// Returns the target of the Makefile that a reason names.
fn target_of(reason: &str) -> Option<&str> {
    let (_, after) = reason.split_once("`make ")?;
    after.split_once('`').map(|(target, _)| target)
}

/// Returns the path of a test in its test program.
fn path_of(file: &str, test: &str) -> String {
    // Without `crates/NAME`.
    let parts = file.trim_end_matches(".rs").split('/').skip(2);
    let parts: Vec<&str> = parts.collect();
    let modules: &[&str] = match parts.as_slice() {
        ["tests", _program, modules @ ..] => modules,
        [_src, modules @ ..] => modules,
        [] => &[],
    };
    let modules = modules
        .iter()
        .filter(|part| !["main", "lib"].contains(part));
    let path: Vec<&str> = modules.copied().chain([test]).collect();
    path.join("::")
}

/// Whether a command of a target, or of the targets that these call, starts an ignored test by a part of its path.
fn is_started_by(makefile: &str, target: &str, path: &str) -> bool {
    let mut targets = vec![target];
    let mut known = BTreeSet::new();
    while let Some(target) = targets.pop() {
        if !known.insert(target) {
            continue;
        }
        for command in recipe(makefile, target) {
            let words: Vec<&str> = command.split_whitespace().collect();
            let mut pairs = words.windows(2);
            if pairs.any(|pair| pair[0] == "--ignored" && path.contains(pair[1])) {
                return true;
            }
            let called = words.iter().skip_while(|word| !word.ends_with("$(MAKE)"));
            targets.extend(called.skip(1));
        }
    }
    false
}

/// Returns the commands of a target.
fn recipe<'m>(makefile: &'m str, target: &str) -> impl Iterator<Item = &'m str> {
    let head = format!("{target}:");
    let lines = makefile.lines();
    let rest = lines.skip_while(move |line| !line.starts_with(&head));
    rest.skip(1).take_while(|line| line.starts_with('\t'))
}

/// Whether a text of the file ends with the path of the test, by which a test starts it as a process.
fn is_started_in(file: &TextFile, test: &str) -> bool {
    let ending = format!("::{test}");
    let texts = literals(&file.text);
    texts.iter().any(|text| text.ends_with(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "test:\n\t@$(PART) \"faults\" -- env S=8 $(MAKE) test-faults\n\n\
                            test-faults: model\n\t$(CARGO) test --test suite \\\n\t\t-- --ignored faults::\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile::new(path, text);
        let found = check(MAKEFILE, std::iter::once(&file));
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_target_starts_a_test_by_a_part_of_its_path() {
        let text = "#[ignore = \"started by `make test` after all others\"]\nfn a() {}\n\
                    #[ignore = \"started by `make test-faults`\"]\nasync fn b() {}\n\
                    #[ignore = \"started by `make other`\"]\nfn c() {}\n";
        assert_eq!(lines("crates/x/tests/suite/faults.rs", text), [5]);
        assert_eq!(lines("crates/x/tests/suite/gate.rs", text), [1, 3, 5]);
    }

    #[test]
    fn another_test_starts_a_test_by_its_path() {
        let ignored = "#[test]\n#[ignore = \"started by the test below\"]\nfn writer() {}\n";
        let started = format!("{ignored}fn start() {{ run(\"--exact\", \"crash::writer\") }}\n");
        assert!(lines("crates/x/tests/it/crash.rs", &started).is_empty());
        assert_eq!(lines("crates/x/tests/it/crash.rs", ignored), [2]);
    }

    #[test]
    fn the_path_of_a_test_begins_below_its_program() {
        for (file, path) in [
            ("crates/x/tests/suite/a/b.rs", "a::b::t"),
            ("crates/x/tests/suite/main.rs", "t"),
            ("crates/x/tests/alone.rs", "t"),
            ("crates/x/src/a/tests.rs", "a::tests::t"),
            ("crates/x/src/lib.rs", "t"),
        ] {
            assert_eq!(path_of(file, "t"), path);
        }
    }
}
