//! Checks the decoders of text: only `charter_contract::charset`, which handles byte order marks and charsets. Any
//! other decoder treats a byte order mark as a letter, and other encodings as damage.
//!
//! The check knows the names of functions and no types. Tests and the test kit may decode their own output in other
//! ways.

use super::listed::AllowList;
use super::rust_code::blanked;
use super::sources::product_lines;
use crate::finding::Finding;
use crate::workspace::TextFile;

/// Files that may decode text in another way, with the reason.
const ALLOWED: [(&str, &str); 45] = [
    (
        "crates/cli/src/boot.rs",
        "digits of a text that is decoded already",
    ),
    (
        "crates/cli/src/client.rs",
        "events of the API, which are UTF-8",
    ),
    (
        "crates/cli/src/commands/evidence/verify.rs",
        "lines of an export: what is no UTF-8 becomes a fault, a mark is left out",
    ),
    (
        "crates/cli/src/commands/package.rs",
        "files that are no documents, byte for byte",
    ),
    (
        "crates/cli/src/commands/skills/read_directory.rs",
        "files of a skill, byte for byte: those that are no text go as base64",
    ),
    (
        "crates/cli/src/sandbox_process/extract.rs",
        "what the parent process writes",
    ),
    (
        "crates/cli/src/sandbox_process/filter.rs",
        "what the parent process writes",
    ),
    (
        "crates/cli/src/sandbox_process/render.rs",
        "what the parent process writes",
    ),
    (
        "crates/cli/src/seed_file.rs",
        "a secret that this program wrote",
    ),
    ("crates/contract/src/charset.rs", "the decoder itself"),
    (
        "crates/contract/src/charset/declared.rs",
        "the decoder itself",
    ),
    (
        "crates/contract/src/foreign_schema/walk.rs",
        "parts of a text that is decoded already",
    ),
    (
        "crates/contract/src/json/numbers.rs",
        "parts of a text that is decoded already",
    ),
    (
        "crates/domain/src/jq/natives/formats.rs",
        "a filter of jq that decodes what a filter encoded",
    ),
    (
        "crates/domain/src/jq/value.rs",
        "strings of jq, which are made of strings",
    ),
    (
        "crates/domain/src/mission/bundle/verify.rs",
        "bundles, which are signed byte for byte; a mark is left out",
    ),
    (
        "crates/domain/src/skill_folder/script_package.rs",
        "files of a skill, byte for byte: those that are no text go as base64",
    ),
    (
        "crates/domain/src/template/evaluate.rs",
        "what the template engine wrote",
    ),
    (
        "crates/effects/src/sandbox/reap/adopted.rs",
        "what the kernel says of its processes",
    ),
    (
        "crates/effects/src/builtin/command.rs",
        "output of a command, whose encoding nothing states",
    ),
    (
        "crates/effects/src/builtin/files/read.rs",
        "files that a program edits byte for byte: others are told apart as binary",
    ),
    (
        "crates/effects/src/web_search/exchange.rs",
        "a quotation in an error",
    ),
    (
        "crates/effects/src/egress/proxy.rs",
        "credentials of a header, in ASCII",
    ),
    (
        "crates/effects/src/extract/html.rs",
        "pieces of a page that is decoded already",
    ),
    (
        "crates/effects/src/extract/pdf/content/shown.rs",
        "strings of PDF, whose encodings are its own",
    ),
    ("crates/effects/src/http/response.rs", "values of headers"),
    (
        "crates/effects/src/mcp/connect.rs",
        "the last words of a process, in an error",
    ),
    ("crates/effects/src/mcp/http.rs", "a quotation in an error"),
    (
        "crates/effects/src/models/exchange.rs",
        "a quotation in an error",
    ),
    (
        "crates/effects/src/redact.rs",
        "logs of tools, whose encoding nothing states",
    ),
    ("crates/effects/src/redact/view.rs", "digits of an escape"),
    (
        "crates/effects/src/sandbox/interpreter.rs",
        "the last words of a process, in an error",
    ),
    ("crates/effects/src/sources/fetch.rs", "values of headers"),
    (
        "crates/effects/src/webhook/deliver.rs",
        "a quotation in an error",
    ),
    ("crates/embed/src/remote.rs", "a quotation in an error"),
    (
        "crates/embed/src/weights.rs",
        "a file whose digest is known",
    ),
    (
        "crates/server/src/extract.rs",
        "values of headers; whether a body is UTF-8, before it is read",
    ),
    ("crates/server/src/json.rs", "JSON that this program wrote"),
    (
        "crates/server/src/mcp/skills.rs",
        "files of a skill, byte for byte: those that are no text go as base64",
    ),
    (
        "crates/server/src/mcp/tools/open.rs",
        "files of a skill, byte for byte: those that are no text go as base64",
    ),
    ("crates/store-es/src/client.rs", "a quotation in an error"),
    (
        "crates/store-sql/src/backup.rs",
        "a manifest that this program wrote",
    ),
    (
        "crates/store-sql/src/directory_layout.rs",
        "a file that this program wrote",
    ),
    (
        "crates/store-sql/src/lock.rs",
        "a file that this program wrote",
    ),
    (
        "crates/store-sql/src/sqlite/export.rs",
        "text of the database",
    ),
];

/// File with this list.
const LIST: &str = "xtask/src/tidy/text_readers.rs";

/// Functions that decode text, by the prefix of their names.
const READERS: [&str; 2] = ["from_utf8", "read_to_string"];

/// Reports unlisted files that decode text, and listed files that do not.
pub(crate) fn check<'f>(files: impl Iterator<Item = &'f TextFile>) -> Vec<Finding> {
    compare(files, &ALLOWED)
}

fn compare<'f>(
    files: impl Iterator<Item = &'f TextFile>,
    allowed: &[(&str, &str)],
) -> Vec<Finding> {
    let rule = AllowList {
        lines: readers,
        instead: "decode foreign bytes with `charter_contract::charset`, which knows byte order marks",
        keeps: "makes no text of bytes",
        list: LIST,
    };
    rule.compare(files, allowed)
}

/// Returns the lines that decode text, except in tests.
fn readers(file: &TextFile) -> Vec<usize> {
    let named = |line: &str| READERS.iter().any(|reader| line.contains(reader));
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
    fn each_conversion_of_bytes_to_text_is_found() {
        for line in [
            "let a = String::from_utf8(b)?;",
            "let a = std::str::from_utf8(b)?;",
            "let a = String::from_utf8_lossy(b);",
            "let a = b.map(String::from_utf8);",
            "let a = std::fs::read_to_string(b)?;",
            "b.read_to_string(&mut a)?;",
        ] {
            let found = readers(&TextFile::new(
                "crates/x/src/a.rs",
                &format!("//! x\n{line}\n"),
            ));
            assert_eq!(found, [2], "{line}");
        }
        let others = "//! x\n// String::from_utf8(b)\nlet a = \"from_utf8\";\nlet b = charset::document(&a, None)?;\n\
                      #[cfg(test)]\nmod tests {\n    String::from_utf8(a)\n}\n";
        assert_eq!(readers(&TextFile::new("crates/x/src/a.rs", others)), [0; 0]);
    }

    #[test]
    fn only_files_of_the_list_make_text_of_bytes() {
        let reads = "//! x\nlet a = String::from_utf8_lossy(b);\n";
        let files = [
            TextFile::new("crates/x/src/listed.rs", reads),
            TextFile::new("crates/x/src/other.rs", reads),
            TextFile::new("crates/x/tests/it/a.rs", reads),
            TextFile::new("crates/testkit/src/a.rs", reads),
            TextFile::new("crates/x/src/reformed.rs", "//! x\n"),
        ];
        let allowed = [
            ("crates/x/src/listed.rs", ""),
            ("crates/x/src/reformed.rs", ""),
        ];
        let found = compare(files.iter(), &allowed);
        let places: Vec<(&str, usize)> = found
            .iter()
            .map(|finding| (finding.file.as_str(), finding.line))
            .collect();
        assert_eq!(places, [("crates/x/src/other.rs", 2), (LIST, 1)]);
    }
}
