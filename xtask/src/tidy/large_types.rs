//! Types with too many methods: a type that every use case adds its methods to lets each of them call the others.
//!
//! Methods are counted over all `impl` blocks of a crate, those of traits and tests apart.

use std::collections::BTreeMap;

use super::modules::{Methods, Modules};
use crate::finding::Finding;

/// Methods that a type may have.
const MOST_METHODS: usize = 60;

/// Types that have more: the crate's folder, the type, the number of its methods. A number may only fall.
const OPEN: [(&str, &str, usize); 0] = [];

/// The file of the list.
const LIST: &str = "xtask/src/tidy/large_types.rs";

/// Types whose number of methods is above the bound and differs from the list's, for crates by their folders.
pub(crate) fn check(crates: &BTreeMap<String, Modules>) -> Vec<Finding> {
    let types = crates.iter().flat_map(|(name, modules)| {
        let types = modules.methods().into_iter();
        types.map(move |methods| (name.as_str(), methods))
    });
    compare(types, &OPEN)
}

fn compare<'c>(
    types: impl Iterator<Item = (&'c str, Methods)>,
    open: &[(&str, &str, usize)],
) -> Vec<Finding> {
    let mut left = open.to_vec();
    let mut findings = Vec::new();
    for (name, methods) in types {
        let Methods {
            of_type,
            count,
            file,
            line,
        } = methods;
        let listed = left
            .iter()
            .position(|(of, listed, _)| *of == name && *listed == of_type);
        let most = listed.map_or(MOST_METHODS, |at| left.swap_remove(at).2);
        if count > most {
            let message = format!("methods of `{of_type}`: {count}, allowed: {most}");
            findings.push(Finding::error(&file, line, message));
        } else if listed.is_some() && count < most {
            findings.push(lower_bound(name, &of_type, most, count));
        }
    }
    let gone = left
        .iter()
        .map(|(name, of_type, most)| lower_bound(name, of_type, *most, 0));
    findings.extend(gone);
    findings
}

fn lower_bound(name: &str, of_type: &str, most: usize, count: usize) -> Finding {
    let entry = format!("(`{name}`, `{of_type}`)");
    let message = if count > MOST_METHODS {
        format!("set the number of {entry} from {most} to {count} in `OPEN`")
    } else {
        format!("take {entry} off `OPEN`: methods: {count}")
    };
    Finding::error(LIST, 1, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(count: usize, open: &[(&str, &str, usize)]) -> Vec<Finding> {
        let methods = Methods {
            of_type: "a::A".to_owned(),
            count,
            file: "crates/x/src/a.rs".to_owned(),
            line: 7,
        };
        compare(std::iter::once(("crates/x/", methods)), open)
    }

    #[test]
    fn a_type_with_too_many_methods_is_found() {
        let above = |most: usize| {
            let message = format!("methods of `a::A`: {}, allowed: {most}", most + 1);
            [Finding::error("crates/x/src/a.rs", 7, message)]
        };
        assert_eq!(findings(60, &[]), []);
        assert_eq!(findings(61, &[]), above(60));
        assert_eq!(findings(71, &[("crates/x/", "a::A", 70)]), above(70));
    }

    #[test]
    fn a_bound_above_the_number_of_methods_is_a_finding() {
        let open = [("crates/x/", "a::A", 70)];
        assert_eq!(findings(70, &open), []);
        let messages = |count: usize| -> Vec<String> {
            let findings = findings(count, &open).into_iter();
            findings.map(|finding| finding.message).collect()
        };
        assert_eq!(
            messages(69),
            ["set the number of (`crates/x/`, `a::A`) from 70 to 69 in `OPEN`"]
        );
        assert_eq!(
            messages(60),
            ["take (`crates/x/`, `a::A`) off `OPEN`: methods: 60"]
        );
    }
}
