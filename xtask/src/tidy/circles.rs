//! Circles of modules within a crate: modules of one folder must not need each other, not even by way of others.
//! Everything below a module counts as a part of it. A module and the modules below it may use each other.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{ModulePath, Modules, Reference};
use crate::finding::Finding;

/// Folders with the number of their modules that are in circles: the crate's folder, the module (the empty text for the
/// crate's root), the number. A number may only fall.
const OPEN: [(&str, &str, usize); 0] = [];

/// The file of the list.
const LIST: &str = "xtask/src/tidy/circles.rs";

/// The modules of a folder that each use, with one reference for each.
type Uses<'r> = BTreeMap<&'r str, BTreeMap<&'r str, &'r Reference>>;

/// Folders whose number of modules in circles differs from the list's, for crates by their folders.
pub(crate) fn check(crates: &BTreeMap<String, Modules>) -> Vec<Finding> {
    compare(crates, &OPEN)
}

fn compare(crates: &BTreeMap<String, Modules>, open: &[(&str, &str, usize)]) -> Vec<Finding> {
    let mut left = open.to_vec();
    let mut findings = Vec::new();
    for (name, modules) in crates {
        let references = modules.references();
        for (folder, uses) in folders(&references) {
            let folder = folder.join("::");
            let listed = left
                .iter()
                .position(|(of, within, _)| of == name && *within == folder);
            let most = listed.map_or(0, |at| left.swap_remove(at).2);
            let circle = in_circles(&uses);
            if circle.len() > most {
                findings.push(too_many(&folder, most, &uses, &circle));
            } else if circle.len() < most {
                findings.push(lower_bound(name, &folder, most, circle.len()));
            }
        }
    }
    let gone = left
        .iter()
        .map(|(name, folder, most)| lower_bound(name, folder, *most, 0));
    findings.extend(gone);
    findings
}

/// The uses between modules of one folder, by folder.
fn folders(references: &[Reference]) -> BTreeMap<ModulePath, Uses<'_>> {
    let mut folders: BTreeMap<ModulePath, Uses<'_>> = BTreeMap::new();
    for reference in references {
        let pairs = reference.from.iter().zip(&reference.to);
        let shared = pairs.take_while(|(from, to)| from == to).count();
        // Without a next name, one of the two is the folder itself.
        if let (Some(from), Some(to)) = (reference.from.get(shared), reference.to.get(shared)) {
            let uses = folders.entry(reference.from[..shared].to_vec());
            let of_module = uses.or_default().entry(from.as_str()).or_default();
            of_module.entry(to.as_str()).or_insert(reference);
        }
    }
    folders
}

/// The modules that need themselves by way of others.
fn in_circles<'r>(uses: &Uses<'r>) -> BTreeSet<&'r str> {
    let modules = uses.keys().copied();
    modules
        .filter(|module| reachable_modules(uses, module).contains(module))
        .collect()
}

/// The modules that a module needs, at any distance.
fn reachable_modules<'r>(uses: &Uses<'r>, module: &'r str) -> BTreeSet<&'r str> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![module];
    while let Some(next) = pending.pop() {
        let used = uses.get(next).into_iter().flat_map(BTreeMap::keys);
        pending.extend(used.copied().filter(|used| reached.insert(*used)));
    }
    reached
}

/// A finding at the first use within a circle.
fn too_many(folder: &str, most: usize, uses: &Uses<'_>, circle: &BTreeSet<&str>) -> Finding {
    let mut within = circle.iter().flat_map(|from| {
        let used = uses.get(*from).into_iter().flatten();
        used.filter(move |(to, _)| {
            circle.contains(*to) && reachable_modules(uses, to).contains(from)
        })
    });
    let (file, line) = within
        .next()
        .map_or((LIST, 1), |(_, first)| (first.file.as_str(), first.line));
    let names: Vec<&str> = circle.iter().copied().collect();
    let place = if folder.is_empty() {
        "the crate's root"
    } else {
        folder
    };
    let message = format!(
        "modules of {place} that need each other: {}, allowed: {most}: {}",
        names.len(),
        names.join(", ")
    );
    Finding::error(file, line, message)
}

fn lower_bound(name: &str, folder: &str, most: usize, count: usize) -> Finding {
    let message =
        format!("set the number of (`{name}`, `{folder}`) from {most} to {count} in `OPEN`");
    Finding::error(LIST, 1, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    /// A crate `crates/x/` with these files.
    fn crates(files: &[(&str, &str)]) -> BTreeMap<String, Modules> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile::new(&format!("crates/x/src/{path}"), text))
            .collect();
        let by_path = files.iter().map(|file| (file.path.as_str(), file));
        let modules = Modules::read("crates/x/", &by_path.collect());
        BTreeMap::from([("crates/x/".to_owned(), modules)])
    }

    #[test]
    fn mutually_dependent_modules_are_found_at_their_first_use() {
        let found = crates(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            (
                "a.rs",
                "\nuse crate::d::D;\nuse crate::b::B;\npub struct A;\n",
            ),
            ("b.rs", "mod inner;\npub struct B;\n"),
            ("b/inner.rs", "use crate::c::C;\n"),
            ("c.rs", "pub struct C(crate::a::A);\n"),
            ("d.rs", "pub struct D;\n"),
        ]);
        let expected = Finding::error(
            "crates/x/src/a.rs",
            3,
            "modules of the crate's root that need each other: 3, allowed: 0: a, b, c",
        );
        assert_eq!(compare(&found, &[]), [expected]);
    }

    #[test]
    fn a_cycle_is_found_only_within_its_folder() {
        let found = crates(&[
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod b;\nmod c;\n"),
            ("a/b.rs", "use super::c::C;\npub struct B;\n"),
            ("a/c.rs", "use super::b::B;\npub struct C;\n"),
        ]);
        let expected = Finding::error(
            "crates/x/src/a/b.rs",
            1,
            "modules of a that need each other: 2, allowed: 0: b, c",
        );
        assert_eq!(compare(&found, &[]), [expected]);
    }

    #[test]
    fn a_folder_and_its_modules_may_use_each_other() {
        let found = crates(&[
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod b;\nuse b::B;\npub struct A(B);\n"),
            ("a/b.rs", "use super::A;\npub struct B;\n"),
        ]);
        assert_eq!(compare(&found, &[]), []);
    }

    #[test]
    fn a_bound_above_the_number_of_cycles_is_a_finding() {
        let found = crates(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::B;\npub struct A;\n"),
            ("b.rs", "use crate::a::A;\npub struct B;\n"),
        ]);
        assert_eq!(compare(&found, &[("crates/x/", "", 2)]), []);
        let lowered = |open: &[(&str, &str, usize)]| compare(&found, open);
        assert_eq!(
            lowered(&[("crates/x/", "", 3)]),
            [lower_bound("crates/x/", "", 3, 2)]
        );
        assert_eq!(
            lowered(&[("crates/x/", "", 2), ("crates/x/", "gone", 2)]),
            [lower_bound("crates/x/", "gone", 2, 0)]
        );
    }
}
