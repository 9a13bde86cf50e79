//! Checks beyond the compiler and clippy: imports between crates, circles of modules, who reads JSON and text, sizes
//! of files and types, names of files and types, module pages, error pages, links, citations of the specification,
//! tests that documents name, starts of ignored tests, server starts and pauses of tests.
//! Each check is a function from texts to findings in a file of its own.

mod call_graph;
mod circles;
mod citations;
mod edges;
mod english;
mod error_pages;
mod ignored_tests;
mod json_readers;
mod large_types;
mod links;
mod listed;
mod manifests;
mod modules;
mod named_tests;
mod pauses;
mod renames;
mod rust_code;
mod server_starts;
mod sources;
mod text_readers;
mod type_names;

pub(crate) use english::table as english_table;

use anyhow::Context;

use crate::finding::Finding;
use crate::workspace::Workspace;

/// Returns all findings, sorted by file and line.
///
/// # Errors
/// When the Makefile, the list of error codes, a page of the specification or the table of renames cannot be read.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = edges::check(&workspace.crates);
    findings.extend(edges::check_untouched(workspace.rust_below("crates/")));
    findings.extend(workspace.crates.iter().flat_map(manifests::check));
    let modules = modules::of_crates(workspace);
    findings.extend(circles::check(&modules));
    findings.extend(large_types::check(&modules));
    for file in workspace.rust_below("crates/") {
        findings.extend(sources::check(file));
        findings.extend(sources::check_markers(file));
    }
    for file in workspace.rust_below("xtask/") {
        findings.extend(sources::check(file));
    }
    let rust = workspace
        .files
        .iter()
        .filter(|file| file.path.ends_with(".rs"));
    findings.extend(rust.flat_map(type_names::check));
    findings.extend(json_readers::check(workspace.rust_below("crates/")));
    findings.extend(text_readers::check(workspace.rust_below("crates/")));
    findings.extend(pauses::check(workspace.rust_below("crates/")));
    let makefile = workspace.root.join("Makefile");
    let makefile = std::fs::read_to_string(makefile).context("reading the Makefile")?;
    let rust = workspace.rust_below("crates/");
    findings.extend(ignored_tests::check(&makefile, rust));
    let suite = workspace.rust_below(server_starts::SUITE);
    findings.extend(server_starts::check(suite));
    findings.extend(error_pages::check(workspace)?);
    let exists = |path: &str| workspace.root.join(path).exists();
    let functions = named_tests::Functions::new(workspace.rust_below("crates/"));
    for file in workspace.markdown() {
        findings.extend(links::check(file, &exists));
        findings.extend(named_tests::check(file, &functions));
    }
    let specification = citations::Specification::parse(workspace.markdown())?;
    findings.extend(specification.check(&functions));
    for file in &workspace.files {
        findings.extend(citations::check(file, &specification));
    }
    findings.extend(renames::check(workspace)?);
    findings.extend(english::check(workspace));
    findings.sort();
    Ok(findings)
}
