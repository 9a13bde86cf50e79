//! The page of what an import grants, for its sign-off. Texts of the API's author are quoted as such.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::api::{Api, CredentialUse, Operation};
use crate::text::shortened;

/// Entries of one list of the page.
const MAX_LISTED: usize = 500;

/// Writes the page for the operations of one package, given by their pointers.
#[must_use]
pub fn page(api: &Api, source: &str, package: &str, operations: &[String]) -> String {
    let wanted: BTreeSet<&str> = operations.iter().map(String::as_str).collect();
    let listed: Vec<&Operation> = api
        .operations
        .iter()
        .filter(|operation| wanted.contains(operation.pointer.as_str()))
        .collect();
    let mut page = format!("# Grants of the package {}\n\n", code(package));
    let reads = listed.iter().filter(|operation| operation.is_readonly());
    let reads = reads.count();
    _ = writeln!(
        page,
        "Made by `charter import openapi` from {} ({}), the description of {}. It has {reads} operations that read and \
         {} that write. Names, summaries and descriptions in the package are the words of the API's author.\n",
        code(source),
        api.format,
        code(&api.title),
        listed.len() - reads
    );
    hosts(&listed, &mut page);
    credentials(api, &listed, &mut page);
    writes(&listed, &mut page);
    left_out(api, &mut page);
    notes(api, &listed, &mut page);
    page
}

/// Returns a text as code, in which nothing is markup.
fn code(text: &str) -> String {
    format!("`{}`", shortened(text, 200).replace('`', "'"))
}

fn heading(title: &str, page: &mut String) {
    _ = writeln!(page, "## {title}\n");
}

/// Writes a list, and the number of entries that it leaves out.
fn list(entries: &[String], empty: &str, page: &mut String) {
    if entries.is_empty() {
        _ = writeln!(page, "{empty}\n");
        return;
    }
    for entry in entries.iter().take(MAX_LISTED) {
        _ = writeln!(page, "- {entry}");
    }
    if entries.len() > MAX_LISTED {
        _ = writeln!(page, "- and {} more", entries.len() - MAX_LISTED);
    }
    page.push('\n');
}

fn hosts(listed: &[&Operation], page: &mut String) {
    heading("Hosts", page);
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for operation in listed {
        *hosts.entry(operation.host.as_str()).or_default() += 1;
    }
    let entries = hosts
        .iter()
        .map(|(host, count)| format!("{}, by {count} tools", code(host)));
    list(&entries.collect::<Vec<_>>(), "None.", page);
}

fn credentials(api: &Api, listed: &[&Operation], page: &mut String) {
    heading("Credentials", page);
    let mut variables: BTreeMap<&str, usize> = BTreeMap::new();
    for operation in listed {
        for variable in &operation.credentials {
            *variables.entry(variable.as_str()).or_default() += 1;
        }
    }
    let described = variables.iter().filter_map(|(variable, count)| {
        let credential = api.credentials.get(*variable)?;
        let sent = match &credential.sent {
            CredentialUse::Header { name, .. } => format!("the header {}", code(name)),
            CredentialUse::Query { name } => format!("the query parameter {}", code(name)),
            CredentialUse::Cookie { name } => format!("the cookie {}", code(name)),
        };
        let from = match &credential.named {
            Some(name) => format!(" from the credential {}", code(name)),
            None => String::new(),
        };
        let scheme = match credential.scheme.as_str() {
            "" => String::new(),
            scheme => format!(" for the scheme {}", code(scheme)),
        };
        Some(format!(
            "{}{from}: {}{scheme}, in {sent}, by {count} tools",
            code(variable),
            credential.expected
        ))
    });
    let described: Vec<String> = described.collect();
    if !described.is_empty() {
        _ = writeln!(
            page,
            "Variables that the operator sets and names in `tools.environment`, unless a credential in `credentials` has \
             their value:\n"
        );
    }
    list(&described, "None: the tools send no credential.", page);
}

fn writes(listed: &[&Operation], page: &mut String) {
    heading("Writes", page);
    let writes = listed.iter().filter(|operation| !operation.is_readonly());
    let entries = writes.map(|operation| {
        let summary = match operation.summary.as_str() {
            "" => String::new(),
            summary => format!(": {}", code(summary)),
        };
        format!("{}{summary}", code(&operation.heading()))
    });
    list(&entries.collect::<Vec<_>>(), "None.", page);
    if listed.iter().any(|operation| !operation.is_readonly()) {
        _ = writeln!(
            page,
            "Each needs an approval: a guardrail of the package requires it, and each playbook is `supervised` or \
             `destructive`. Reversals in the playbooks are proposals by name and path; review them.\n"
        );
    }
}

fn left_out(api: &Api, page: &mut String) {
    heading("Operations that are left out", page);
    let entries = api.left_out.iter().map(|left| {
        format!(
            "{}: {} ({})",
            code(&left.operation),
            code(&left.reason),
            code(&left.pointer)
        )
    });
    list(&entries.collect::<Vec<_>>(), "None.", page);
    if api.left_out_count > api.left_out.len() {
        _ = writeln!(page, "All together: {}.\n", api.left_out_count);
    }
}

fn notes(api: &Api, listed: &[&Operation], page: &mut String) {
    heading("Notes", page);
    let mut entries: Vec<String> = api.notes.iter().map(|note| plain(note)).collect();
    for (name, value) in &api.server_variables {
        let entry = format!(
            "the variable {} of the server is {}",
            code(name),
            code(value)
        );
        entries.push(entry);
    }
    for operation in listed {
        for note in &operation.notes {
            entries.push(format!("{}: {}", code(&operation.heading()), plain(note)));
        }
    }
    list(&entries, "None.", page);
}

/// Returns a note in which nothing is markup but code.
fn plain(note: &str) -> String {
    shortened(note, 300).replace(['<', '>', '[', ']', '*', '_', '#', '|'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Credential, LeftOutOperation};
    use crate::package::sample::{api, operation};

    #[test]
    fn the_page_lists_hosts_credentials_writes_and_omissions() {
        let mut read = operation("GET", "/pets", None);
        read.pointer = "/paths/~1pets/get".to_owned();
        read.credentials.push("PETS_KEY".to_owned());
        let mut write = operation("POST", "/pets", None);
        write.pointer = "/paths/~1pets/post".to_owned();
        write.summary = "Create `a` pet\n# now".to_owned();
        let mut api = api(vec![read, write]);
        api.credentials.insert(
            "PETS_KEY".to_owned(),
            Credential {
                named: None,
                scheme: "key".to_owned(),
                expected: "an API key".to_owned(),
                sent: CredentialUse::Header {
                    name: "x-key".to_owned(),
                    prefix: "",
                },
            },
        );
        api.left_out.push(LeftOutOperation {
            pointer: "/paths/~1pets/trace".to_owned(),
            operation: "TRACE /pets".to_owned(),
            reason: "no".to_owned(),
        });
        api.left_out_count = 1;
        let pointers: Vec<String> = api
            .operations
            .iter()
            .map(|one| one.pointer.clone())
            .collect();
        let page = page(&api, "pets.yaml", "pets", &pointers);
        for line in [
            "- `api.example`, by 2 tools",
            "- `PETS_KEY`: an API key for the scheme `key`, in the header `x-key`, by 1 tools",
            "- `POST /pets`: `Create 'a' pet # now`",
            "- `TRACE /pets`: `no` (`/paths/~1pets/trace`)",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        let only = super::page(&api, "pets.yaml", "pets", &pointers[..1]);
        assert!(!only.contains("POST /pets"), "{only}");
    }
}
