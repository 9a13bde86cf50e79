//! Limits of a package's files. A tool call writes all of them to a folder, so a file that cannot be written there is
//! rejected at registration. Must not know the contents of the files, except that PDFs must be valid.

use std::collections::BTreeMap;

use charter_contract::bounds::{
    FILE_NAME_BYTES, PACKAGE_BYTES, PACKAGE_FILES, PACKAGE_PATH_BYTES, PACKAGE_PATH_PARTS,
};
use charter_contract::package_file::bytes_of;
use charter_contract::shorten;

use super::{MANIFEST, Problem};

/// A folder that every call creates, even for a package without scripts.
const SCRIPTS: &str = "scripts";

/// Returns the problems that would make every call fail.
pub(super) fn problems(files: &BTreeMap<String, String>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if files.len() > PACKAGE_FILES {
        let found = files.len();
        let message =
            format!("the package has {found} files; the limit is {PACKAGE_FILES} (PACKAGE_FILES)");
        let problem = Problem::of_file(MANIFEST, "limit", message);
        return vec![problem.suggest("split it into several packages")];
    }
    let sizes = files.iter().map(|(path, text)| path.len() + text.len());
    let bytes: usize = sizes.sum();
    if bytes > PACKAGE_BYTES {
        let message =
            format!("the files have {bytes} bytes; the limit is {PACKAGE_BYTES} (PACKAGE_BYTES)");
        let problem = Problem::of_file(MANIFEST, "limit", message);
        problems.push(problem.suggest("split it into several packages"));
    }
    for (path, content) in files {
        if let Err((keyword, message)) = check(path, files) {
            problems.push(Problem::of_file(
                &shorten::to_bytes(path, PACKAGE_PATH_BYTES),
                keyword,
                message,
            ));
        } else if let Err(malformed) = bytes_of(path, content) {
            let problem = Problem::of_file(path, "pdf", malformed.to_string());
            problems.push(problem.suggest("send the bytes of a PDF in base64"));
        }
    }
    problems
}

/// Returns the keyword and the message for a file that cannot be written.
fn check(path: &str, files: &BTreeMap<String, String>) -> Result<(), (&'static str, String)> {
    if path.len() > PACKAGE_PATH_BYTES {
        let message =
            format!("the path is longer than {PACKAGE_PATH_BYTES} bytes (PACKAGE_PATH_BYTES)");
        return Err(("limit", message));
    }
    if path.split('/').count() > PACKAGE_PATH_PARTS {
        let message =
            format!("the path has more than {PACKAGE_PATH_PARTS} names (PACKAGE_PATH_PARTS)");
        return Err(("limit", message));
    }
    if path.split('/').any(|name| name.len() > FILE_NAME_BYTES) {
        let message = format!("a name is longer than {FILE_NAME_BYTES} bytes (FILE_NAME_BYTES)");
        return Err(("limit", message));
    }
    if path.contains('\0') || path.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return Err(("path", "the path is not plain and relative".to_owned()));
    }
    if path == SCRIPTS {
        let message = format!("`{SCRIPTS}` is a folder in every package, so it cannot be a file");
        return Err(("path", message));
    }
    let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
    match above.find(|above| files.contains_key(*above)) {
        None => Ok(()),
        Some(file) => {
            let message = format!("`{file}` is a file and cannot contain others");
            Err(("path", message))
        }
    }
}
