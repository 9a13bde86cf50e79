//! Divides operations among packages, by group, where one package would exceed its limits.

use charter_contract::bounds::{
    PACKAGE_FILES, PACKAGE_SCHEMA_PARTS, PACKAGE_SENT_BYTES, PACKAGE_TOKENS, PACKAGE_VALUES,
};

/// The size of the documents of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DocumentSize {
    pub(super) bytes: usize,
    pub(super) values: usize,
    pub(super) schema_parts: usize,
    pub(super) files: usize,
}

/// The size of the documents of a package: nine tenths of its limits, because documents of groups and texts of people
/// are added. A value has at most five tokens.
const MOST: DocumentSize = DocumentSize {
    bytes: PACKAGE_SENT_BYTES / 10 * 9,
    values: smaller(PACKAGE_VALUES, PACKAGE_TOKENS / 5) / 10 * 9,
    schema_parts: PACKAGE_SCHEMA_PARTS / 10 * 9,
    files: PACKAGE_FILES / 10 * 9,
};

const fn smaller(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

impl DocumentSize {
    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            values: self.values + other.values,
            schema_parts: self.schema_parts + other.schema_parts,
            files: self.files + other.files,
        }
    }

    const fn fits(self) -> bool {
        self.bytes <= MOST.bytes
            && self.values <= MOST.values
            && self.schema_parts <= MOST.schema_parts
            && self.files <= MOST.files
    }
}

/// Divides operations, given with their groups and sizes, into packages: all in one if they fit, else group by group. A
/// group that does not fit is divided too. Returns the indexes of each package's operations.
pub(super) fn packages(operations: &[(&str, DocumentSize)]) -> Vec<Vec<usize>> {
    let all = operations.iter().map(|(_, size)| *size);
    if all.fold(DocumentSize::default(), DocumentSize::plus).fits() {
        return vec![(0..operations.len()).collect()];
    }
    let mut packages: Vec<Vec<usize>> = Vec::new();
    let mut size = DocumentSize::default();
    for group in groups(operations) {
        let whole = group.iter().map(|at| operations[*at].1);
        let whole = whole.fold(DocumentSize::default(), DocumentSize::plus);
        if packages.is_empty() || !size.plus(whole).fits() {
            packages.push(Vec::new());
            size = DocumentSize::default();
        }
        for at in group {
            let next = size.plus(operations[at].1);
            let is_new = packages.last().is_none_or(|package| !package.is_empty()) && !next.fits();
            if is_new {
                packages.push(Vec::new());
                size = operations[at].1;
            } else {
                size = next;
            }
            if let Some(package) = packages.last_mut() {
                package.push(at);
            }
        }
    }
    packages
}

/// Returns the indexes of each group's operations, in the order in which the groups occur first.
fn groups(operations: &[(&str, DocumentSize)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for (at, (group, _)) in operations.iter().enumerate() {
        let place = *places.entry(*group).or_insert_with(|| {
            groups.push((*group, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(at);
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stay_together_by_group_within_the_limits() {
        let size = |values| DocumentSize {
            values,
            ..DocumentSize::default()
        };
        let third = MOST.values / 3;
        let small = [("a", size(third)), ("b", size(third)), ("a", size(third))];
        assert_eq!(packages(&small), [vec![0, 1, 2]]);
        let two = [
            ("a", size(third)),
            ("b", size(third)),
            ("a", size(third)),
            ("b", size(third)),
        ];
        assert_eq!(packages(&two), [vec![0, 2], vec![1, 3]]);
        let large = [("a", size(third)); 7];
        assert_eq!(packages(&large), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
        assert_eq!(packages(&[]), [Vec::<usize>::new()]);
    }
}
