//! The operations that an import includes.

use std::fmt;
use std::str::FromStr;

/// A condition on operations: `tag:NAME`, `path:GLOB`, `path:METHOD GLOB`, `method:NAME` or `operation:GLOB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationFilter {
    /// Operations with a tag, in any case.
    Tag(String),
    /// Operations whose path matches, with a method if one is named.
    Path {
        /// The method, in any case.
        method: Option<String>,
        /// `*` is one segment or a part of it, `**` any number of them.
        glob: String,
    },
    /// Operations with a method, in any case.
    Method(String),
    /// Operations whose `operationId` matches: `*` is any text.
    Operation(String),
}

/// Error: a text that is no condition on operations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write `tag:NAME`, `path:GLOB`, `path:METHOD GLOB`, `method:NAME` or `operation:GLOB`")]
pub struct OperationFilterError;

impl FromStr for OperationFilter {
    type Err = OperationFilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some((_, "")) | None => Err(OperationFilterError),
            Some(("tag", name)) => Ok(Self::Tag(name.to_owned())),
            Some(("path", glob)) => Self::path(glob),
            Some(("method", name)) => Ok(Self::Method(name.to_owned())),
            Some(("operation", glob)) => Ok(Self::Operation(glob.to_owned())),
            Some(_) => Err(OperationFilterError),
        }
    }
}

impl fmt::Display for OperationFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(name) => write!(f, "tag:{name}"),
            Self::Path { method: None, glob } => write!(f, "path:{glob}"),
            Self::Path {
                method: Some(method),
                glob,
            } => write!(f, "path:{method} {glob}"),
            Self::Method(name) => write!(f, "method:{name}"),
            Self::Operation(glob) => write!(f, "operation:{glob}"),
        }
    }
}

/// The conditions of an import. An operation is included if it meets one of `include` of each kind that occurs there,
/// and none of `exclude`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Conditions on included operations; without any, all are.
    pub include: Vec<OperationFilter>,
    /// Conditions on excluded operations.
    pub exclude: Vec<OperationFilter>,
}

/// The properties of an operation that conditions refer to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selectable<'o> {
    pub(crate) tags: &'o [&'o str],
    pub(crate) path: &'o str,
    pub(crate) method: &'o str,
    /// The `operationId`; empty without one.
    pub(crate) id: &'o str,
}

impl OperationFilter {
    /// Parses `GLOB` or `METHOD GLOB`. A path may contain spaces, so only a word of letters is a method.
    fn path(text: &str) -> Result<Self, OperationFilterError> {
        let (method, glob) = match text.split_once(' ') {
            Some((word, glob)) if word.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                (Some(word.to_owned()), glob.trim_start())
            }
            Some(_) | None => (None, text),
        };
        if glob.is_empty() || method.as_deref() == Some("") {
            return Err(OperationFilterError);
        }
        Ok(Self::Path {
            method,
            glob: glob.to_owned(),
        })
    }

    fn meets(&self, operation: &Selectable<'_>) -> bool {
        match self {
            Self::Tag(name) => operation
                .tags
                .iter()
                .any(|tag| tag.eq_ignore_ascii_case(name)),
            Self::Path { method, glob } => {
                let has_method = method
                    .as_ref()
                    .is_none_or(|name| operation.method.eq_ignore_ascii_case(name));
                has_method && matches_path(glob, operation.path)
            }
            Self::Method(name) => operation.method.eq_ignore_ascii_case(name),
            Self::Operation(glob) => {
                !operation.id.is_empty() && matches_segment(glob, operation.id)
            }
        }
    }

    fn is_same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Selection {
    pub(crate) fn admits(&self, operation: &Selectable<'_>) -> bool {
        let meets_kind = |filter: &OperationFilter| {
            let mut same = self
                .include
                .iter()
                .filter(|other| other.is_same_kind(filter));
            same.any(|filter| filter.meets(operation))
        };
        self.include.iter().all(meets_kind)
            && !self.exclude.iter().any(|filter| filter.meets(operation))
    }
}

/// Whether a path matches a glob, segment by segment.
fn matches_path(glob: &str, path: &str) -> bool {
    let wanted: Vec<&str> = segments(glob).collect();
    let given: Vec<&str> = segments(path).collect();
    // The positions of the glob that the segments up to here reach.
    let mut reached = vec![false; wanted.len() + 1];
    reached[0] = true;
    skip_open(&wanted, &mut reached);
    for segment in given {
        let mut next = vec![false; wanted.len() + 1];
        for (at, want) in wanted.iter().enumerate() {
            if !reached[at] {
                continue;
            }
            if *want == "**" {
                next[at] = true;
            } else if matches_segment(want, segment) {
                next[at + 1] = true;
            }
        }
        skip_open(&wanted, &mut next);
        reached = next;
    }
    reached[wanted.len()]
}

/// `**` also matches no segment.
fn skip_open(wanted: &[&str], reached: &mut [bool]) {
    for (at, want) in wanted.iter().enumerate() {
        if reached[at] && *want == "**" {
            reached[at + 1] = true;
        }
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Whether a segment or an id has the parts of a glob around its stars, in order.
fn matches_segment(glob: &str, segment: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else {
        return glob == segment;
    };
    let Some(mut left) = segment.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(include: &[&str], exclude: &[&str]) -> Selection {
        let parsed = |filters: &[&str]| -> Vec<OperationFilter> {
            filters.iter().map(|text| text.parse().unwrap()).collect()
        };
        Selection {
            include: parsed(include),
            exclude: parsed(exclude),
        }
    }

    #[test]
    fn paths_match_by_segment() {
        for (glob, path, expected) in [
            ("/pets", "/pets", true),
            ("/pets", "/pets/{id}", false),
            ("/pets/*", "/pets/{id}", true),
            ("/pets/*", "/pets", false),
            ("/pets/**", "/pets", true),
            ("/pets/**", "/pets/{id}/toys", true),
            ("**/toys", "/pets/{id}/toys", true),
            ("/v*/pets", "/v12/pets", true),
            ("/v*-beta*/pets", "/v1-beta2/pets", true),
            ("/v*-beta*/pets", "/v1/pets", false),
            ("/a*a", "/a", false),
        ] {
            assert_eq!(matches_path(glob, path), expected, "{glob} {path}");
        }
        assert!(matches_path(&"/**".repeat(50), &"/a".repeat(500)));
    }

    #[test]
    fn kinds_of_conditions_are_combined() {
        let operation = Selectable {
            tags: &["Pets"],
            path: "/pets/{id}",
            method: "get",
            id: "pets/get-by-id",
        };
        for (include, exclude, expected) in [
            (&[][..], &[][..], true),
            (&["tag:pets"], &[], true),
            (&["tag:pets", "tag:toys"], &[], true),
            (&["tag:pets", "method:POST"], &[], false),
            (&["tag:pets", "method:POST", "method:GET"], &[], true),
            (&["path:/pets/**"], &["tag:pets"], false),
            (&["path:GET /pets/{id}"], &[], true),
            (&["path:get /pets/**"], &[], true),
            (&["path:DELETE /pets/{id}"], &[], false),
            (&["path:DELETE /pets/{id}", "path:/pets/*"], &[], true),
            (&["path:/pets/{id}"], &["path:GET /pets/{id}"], false),
            (&["path:/pets/{id}"], &["path:DELETE /pets/{id}"], true),
            (&["operation:pets/get-by-id"], &[], true),
            (&["operation:*get*"], &[], true),
            (&["operation:pets/get"], &[], false),
            (&["operation:pets/get", "operation:pets/*"], &[], true),
            (&["operation:pets/*", "method:POST"], &[], false),
            (&[], &["operation:pets/*"], false),
        ] {
            let admits = selection(include, exclude).admits(&operation);
            assert_eq!(admits, expected, "{include:?} {exclude:?}");
        }
    }

    #[test]
    fn an_operation_without_an_id_meets_no_condition_on_ids() {
        let operation = Selectable {
            tags: &[],
            path: "/pets",
            method: "get",
            id: "",
        };
        assert!(!selection(&["operation:*"], &[]).admits(&operation));
        assert!(selection(&[], &["operation:*"]).admits(&operation));
    }

    #[test]
    fn a_condition_is_written_as_it_was_read() {
        for text in [
            "tag:pets",
            "path:/a b/{c}",
            "path:GET /pets/{id}",
            "method:GET",
            "operation:pets/*",
        ] {
            let filter: OperationFilter = text.parse().unwrap();
            assert_eq!(filter.to_string(), text);
        }
    }

    #[test]
    fn other_conditions_are_refused() {
        for text in [
            "pets",
            "tag:",
            "host:a",
            "operation:",
            "path:GET ",
            "path: /a",
        ] {
            assert_eq!(text.parse::<OperationFilter>(), Err(OperationFilterError));
        }
    }
}
