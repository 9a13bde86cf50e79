//! Checks the readers of JSON: only `charter_contract::json`, which measures a text before it is parsed. Any other
//! reader would accept input of any nesting and memory.
//!
//! The check knows the names of readers and no types. Tests, examples and the test kit may parse their own output in
//! other ways.

use super::listed::AllowList;
use super::rust_code::blanked;
use super::sources::product_lines;
use crate::finding::Finding;
use crate::workspace::TextFile;

/// Files that may use another reader, with the reason.
const ALLOWED: [(&str, &str); 2] = [
    ("crates/contract/src/json.rs", "the reader itself"),
    ("crates/effects/src/mcp/fake.rs", "a server of tests"),
];

/// File with this list.
const LIST: &str = "xtask/src/tidy/json_readers.rs";

/// Functions that parse JSON: serde_json's functions, reqwest's method for a response, axum's extractor for a body.
const READERS: [&str; 9] = [
    "serde_json::from_slice",
    "serde_json::from_str",
    "serde_json::from_reader",
    "Deserializer::from_slice",
    "Deserializer::from_str",
    "Deserializer::from_reader",
    ".json().await",
    ".json::<",
    "): Json<",
];

/// Functions of serde_json that must not be imported by name, so that every call names the crate.
const NOT_IMPORTED: [&str; 3] = ["from_slice", "from_str", "from_reader"];

/// Reports unlisted files that read JSON, and listed files that do not.
pub(crate) fn check<'f>(files: impl Iterator<Item = &'f TextFile>) -> Vec<Finding> {
    compare(files, &ALLOWED)
}

fn compare<'f>(
    files: impl Iterator<Item = &'f TextFile>,
    allowed: &[(&str, &str)],
) -> Vec<Finding> {
    let rule = AllowList {
        lines: readers,
        instead: "read JSON with `charter_contract::json`, which measures it first",
        keeps: "reads no JSON of its own",
        list: LIST,
    };
    rule.compare(files, allowed)
}

/// Returns the lines that read JSON, except in tests.
fn readers(file: &TextFile) -> Vec<usize> {
    let named = |line: &str| {
        let imports = line.trim_start().starts_with("use serde_json::");
        READERS.iter().any(|reader| line.contains(reader))
            || (imports && NOT_IMPORTED.iter().any(|name| line.contains(name)))
    };
    if !file.text.lines().any(named) {
        return Vec::new();
    }
    let code = TextFile {
        path: file.path.clone(),
        text: blanked(&file.text),
    };
    let lines = product_lines(&code).filter(|(_, line)| named(line));
    lines.map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_read_json_is_found() {
        for line in [
            "let a: Value = serde_json::from_str(text)?;",
            "let a = serde_json::from_slice::<Value>(&bytes);",
            "let a = serde_json::from_reader(file);",
            "let mut a = serde_json::Deserializer::from_str(text);",
            "let mut a = Deserializer::from_slice(&bytes);",
            "use serde_json::{Value, from_str};",
            "let a = response.json::<Value>().await?;",
            "let a: Value = response.json().await?;",
            "async fn handle(Json(body): Json<Value>) {}",
        ] {
            let found = readers(&TextFile::new(
                "crates/x/src/a.rs",
                &format!("//! x\n{line}\n"),
            ));
            assert_eq!(found, [2], "{line}");
        }
        let others = "//! x\nuse serde_json::{Map, Value, json};\n// serde_json::from_str\n\
                      let a = \"serde_json::from_str\";\nlet b = serde_json::from_value(a);\n\
                      let c = entry.json();\nfn d() -> Json<Value> {}\n\
                      #[cfg(test)]\nmod tests {\n    serde_json::from_str(a)\n}\n";
        assert_eq!(readers(&TextFile::new("crates/x/src/a.rs", others)), [0; 0]);
    }

    #[test]
    fn only_files_of_the_list_read_json() {
        let reads = "//! x\nlet a = serde_json::from_str(b);\n";
        let files = [
            TextFile::new("crates/x/src/listed.rs", reads),
            TextFile::new("crates/x/src/other.rs", reads),
            TextFile::new("crates/x/src/other/tests.rs", reads),
            TextFile::new("crates/x/tests/it/a.rs", reads),
            TextFile::new("crates/x/examples/a.rs", reads),
            TextFile::new("crates/testkit/src/a.rs", reads),
            TextFile::new("crates/x/src/reformed.rs", "//! x\n"),
        ];
        let allowed = [
            ("crates/x/src/listed.rs", ""),
            ("crates/x/src/reformed.rs", ""),
        ];
        assert_eq!(
            compare(files.iter(), &allowed),
            [
                Finding::error(
                    "crates/x/src/other.rs",
                    2,
                    "read JSON with `charter_contract::json`, which measures it first"
                ),
                Finding::error(
                    LIST,
                    1,
                    "crates/x/src/reformed.rs reads no JSON of its own: take it off `ALLOWED`"
                ),
            ]
        );
    }
}
