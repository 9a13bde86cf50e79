//! `charter import …`: packages from descriptions of APIs, and the servers of MCP clients. Reads the description and the
//! files that are there, and writes files; registers nothing in the catalogue.

mod load;
pub(super) mod mcp;

mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::PackageName;
use charter_engine::DryRun;
use charter_import::api::{Api, Operation};
use charter_import::credential_choice::{self, CredentialChoice};
use charter_import::grants;
use charter_import::merge::{FileChange, Merged, merge};
use charter_import::openapi::{self, ReadOptions};
use charter_import::package::{GeneratedPackage, generate, prefix};
use charter_import::selection::{OperationFilter, Selection};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::package::read_files;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK, ReportedFailure};
use crate::output::{self, Format};

use trial::TriedQuestion;

/// The manifest of a package.
const MANIFEST: &str = "package.yaml";
/// Changed files that a table lists; of more, it shows the numbers.
const MAX_LISTED: usize = 40;
/// Reasons that a refusal quotes.
const MAX_REASONS: usize = 5;

/// Import descriptions of APIs as packages, and the servers of MCP clients.
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    Openapi(OpenApiImport),
    Mcp(mcp::McpImport),
}

/// Import an API that an OpenAPI or Swagger document describes.
///
/// Writes a tool for each operation, a skill for each that reads, a playbook for each that writes, and a page of what
/// the package grants: docs/grants.md. A second import shows the changes and keeps edited files. An operation that
/// cannot be called is left out, with the reason on that page; exit 2 when none is left.
#[derive(Debug, Args)]
pub(crate) struct OpenApiImport {
    /// The document: a file or a URL; JSON or YAML.
    #[arg(value_name = "FILE|URL")]
    source: String,
    /// The package's directory; its name becomes the package's name.
    #[arg(long, value_name = "DIR")]
    package: PathBuf,
    /// Only operations that match: tag:NAME, path:GLOB, "path:METHOD GLOB", method:NAME or operation:GLOB; repeatable.
    #[arg(long, value_name = "FILTER")]
    include: Vec<OperationFilter>,
    /// No operations that match.
    #[arg(long, value_name = "FILTER")]
    exclude: Vec<OperationFilter>,
    /// A host that references of the document may lead to; repeatable.
    #[arg(long, value_name = "HOST")]
    allow_ref: Vec<String>,
    /// The API's server, in place of those that the document names.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The value of a variable in the server's URL; repeatable.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    server_variable: Vec<(String, String)>,

    /// Start a server with the import alone and ask three of its questions; exit 1 when one is not answered by its
    /// operation. Tools have the grants of the configuration.
    #[arg(long = "try")]
    is_tried: bool,

    /// The credential of the configuration that all tools send, or that has the value of one variable, in place of
    /// `tools.environment`; repeatable.
    #[arg(long, value_name = "NAME|VARIABLE=NAME")]
    credential: Vec<CredentialChoice>,

    /// Show what would happen, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Parses `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A package with its directory, and the difference from the files there.
struct MergedPackage {
    made: GeneratedPackage,
    directory: PathBuf,
    merged: Merged,
}

pub(crate) async fn run(command: &Import, config: &Config, format: Format) -> anyhow::Result<u8> {
    match command {
        Import::Openapi(command) => import_openapi(command, config, format).await,
        // It needs no valid configuration, so it ran before one was read.
        Import::Mcp(_) => Ok(EXIT_OK),
    }
}

async fn import_openapi(
    command: &OpenApiImport,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let name = package_name(&command.package)?;
    let documents = load::load(&command.source, &command.allow_ref, config).await?;
    let options = ReadOptions {
        prefix: prefix(name.as_str()),
        base_url: command.base_url.clone(),
        server_variables: command.server_variable.iter().cloned().collect(),
        selection: Selection {
            include: command.include.clone(),
            exclude: command.exclude.clone(),
        },
    };
    let mut api = openapi::read(&documents, &options)
        .map_err(|error| ReportedFailure::new(ErrorCode::InvalidDocument, error.to_string()))?;
    if api.operations.is_empty() {
        return Err(nothing_imported(&api).into());
    }
    credential_choice::choose(&mut api, &options.prefix, &command.credential)
        .map_err(|error| ReportedFailure::new(ErrorCode::InvalidRequest, error.to_string()))?;
    let source = documents.root_location().to_string();
    let page = |package: &str, pointers: &[String]| grants::page(&api, &source, package, pointers);
    let packages = generate(&api, name.as_str(), page);
    let packages = with_differences(packages, &command.package, &source)?;
    let dry_run = DryRun::from(command.dry_run);
    if dry_run == DryRun::No {
        for package in &packages {
            write(package)?;
        }
    }
    let tried = match command.is_tried {
        true => trial::run(&packages, dry_run, config).await?,
        false => Vec::new(),
    };
    let report = report(&api, &packages, &tried);
    output::print(format, &report, |_| {
        summary(&api, &packages, &tried, command.dry_run)
    })?;
    let is_right = tried.iter().all(|question| question.is_right);
    Ok(if is_right { EXIT_OK } else { EXIT_NEGATIVE })
}

/// The name of a package: that of its directory.
fn package_name(directory: &Path) -> anyhow::Result<PackageName> {
    let absolute = std::path::absolute(directory)
        .with_context(|| format!("reading {}", directory.display()))?;
    let name = absolute.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    PackageName::parse(name).map_err(|error| {
        let refused = ReportedFailure::new(ErrorCode::InvalidRequest, error.to_string());
        refused
            .with_hint("Name a directory whose name can be that of a package.")
            .into()
    })
}

fn nothing_imported(api: &Api) -> ReportedFailure {
    let reasons = api.left_out.iter().take(MAX_REASONS);
    let reasons: Vec<String> = reasons
        .map(|left| format!("{}: {}", left.operation, left.reason))
        .collect();
    let message = match reasons.as_slice() {
        [] => "the document has no operation that matches".to_owned(),
        reasons => format!("no operation can be imported: {}", reasons.join("; ")),
    };
    ReportedFailure::new(ErrorCode::InvalidDocument, message)
        .with_hint("Check the document, --include and --exclude.")
}

/// Compares packages with the files of their directories.
fn with_differences(
    packages: Vec<GeneratedPackage>,
    directory: &Path,
    source: &str,
) -> anyhow::Result<Vec<MergedPackage>> {
    if packages.len() > 1 && directory.join(MANIFEST).exists() {
        bail!(
            "the import needs {} packages, but {} is one package; name another directory, or select operations by \
             --include",
            packages.len(),
            directory.display()
        );
    }
    let mut differences = Vec::new();
    for made in packages {
        let directory = match &made.folder {
            Some(folder) => directory.join(folder),
            None => directory.to_owned(),
        };
        let current = current_files(&directory)?;
        let merged = merge(source, &current, &made.files);
        differences.push(MergedPackage {
            made,
            directory,
            merged,
        });
    }
    Ok(differences)
}

/// The files of a directory; none if it does not exist or is empty.
fn current_files(directory: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let is_empty = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            return Err(error).with_context(|| format!("reading {}", directory.display()));
        }
    };
    if is_empty {
        return Ok(BTreeMap::new());
    }
    read_files(directory)
}

/// Writes and removes the files of a package. The manifest comes last: a directory without it is not a package.
fn write(package: &MergedPackage) -> anyhow::Result<()> {
    let (manifest, others): (Vec<_>, Vec<_>) = package
        .merged
        .write
        .iter()
        .partition(|(path, _)| path.as_str() == MANIFEST);
    for (path, text) in others.into_iter().chain(manifest) {
        let file = package.directory.join(path);
        let writing = || format!("writing {}", file.display());
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(writing)?;
        }
        fs::write(&file, text).with_context(writing)?;
    }
    for path in &package.merged.remove {
        let file = package.directory.join(path);
        fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
    }
    Ok(())
}

fn report(api: &Api, packages: &[MergedPackage], tried: &[TriedQuestion]) -> Value {
    let listed: Vec<Value> = packages
        .iter()
        .map(|package| {
            json!({
                "package": package.made.name,
                "directory": package.directory,
                "operations": package.made.operations.len(),
                "changes": package.merged.changes,
                "notes": package.made.notes,
            })
        })
        .collect();
    let left_out: Vec<Value> = api
        .left_out
        .iter()
        .map(|left| {
            json!({"operation": left.operation, "pointer": left.pointer, "reason": left.reason})
        })
        .collect();
    let mut hosts: Vec<&str> = api
        .operations
        .iter()
        .map(|operation| operation.host.as_str())
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    json!({
        "format": api.format,
        "title": api.title,
        "operations": api.operations.len(),
        "writes": writes(api),
        "left_out": left_out,
        "left_out_count": api.left_out_count,
        "hosts": hosts,
        "credentials": api.credentials.keys().collect::<Vec<_>>(),
        "packages": listed,
    "tried": tried.iter().map(TriedQuestion::to_value).collect::<Vec<_>>(),
    })
}

fn writes(api: &Api) -> usize {
    let operations = api.operations.iter();
    operations
        .filter(|operation| !Operation::is_readonly(operation))
        .count()
}

fn summary(api: &Api, packages: &[MergedPackage], tried: &[TriedQuestion], is_dry: bool) -> String {
    let mut lines = Vec::new();
    for package in packages {
        lines.extend(change_lines(package));
    }
    let writes = writes(api);
    lines.push(format!(
        "{}: {} operations that read, {writes} that write, {} left out",
        api.format,
        api.operations.len() - writes,
        api.left_out_count
    ));
    lines.extend(tried.iter().map(TriedQuestion::to_line));
    for package in packages {
        lines.extend(package.made.notes.iter().cloned());
        let directory = package.directory.display();
        lines.push(match is_dry {
            true => format!("{}: {directory}, nothing written", package.made.name),
            false => format!(
                "{}: read {directory}/docs/grants.md, then `charter package validate {directory}`",
                package.made.name
            ),
        });
    }
    lines.join("\n")
}

/// A line for each changed file, or for each kind of change if there are many.
fn change_lines(package: &MergedPackage) -> Vec<String> {
    let changes = &package.merged.changes;
    let directory = package.directory.display();
    if changes.is_empty() {
        return vec![format!("{directory}: no change")];
    }
    if changes.len() <= MAX_LISTED {
        let lines = changes.iter().map(|(path, change)| {
            format!("{} {directory}/{path}{}", sign(*change), remark(*change))
        });
        return lines.collect();
    }
    let mut counts: BTreeMap<FileChange, usize> = BTreeMap::new();
    for change in changes.values() {
        *counts.entry(*change).or_default() += 1;
    }
    let lines = counts.iter().map(|(change, count)| {
        format!(
            "{} {directory}: {count} files{}",
            sign(*change),
            remark(*change)
        )
    });
    lines.collect()
}

fn sign(change: FileChange) -> char {
    match change {
        FileChange::Added => '+',
        FileChange::Changed => '~',
        FileChange::Removed => '-',
        FileChange::KeptEdited | FileChange::KeptOutdated | FileChange::KeptRemoved => '=',
    }
}

fn remark(change: FileChange) -> &'static str {
    match change {
        FileChange::Added | FileChange::Changed | FileChange::Removed => "",
        FileChange::KeptEdited => " (kept: edited by hand)",
        FileChange::KeptOutdated => " (kept: edited by hand, and the document changed it too)",
        FileChange::KeptRemoved => " (removed by hand, not written again)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PETS: &str = "openapi: 3.0.3\ninfo: { title: Pets, version: '1' }\n\
                        servers: [{ url: 'https://pets.example' }]\npaths:\n  /pets:\n    \
                        get: { operationId: listPets, summary: List all pets }\n";

    async fn import(source: &Path, directory: &Path) -> anyhow::Result<u8> {
        let command = Import::Openapi(OpenApiImport {
            credential: Vec::new(),
            source: source.display().to_string(),
            package: directory.to_owned(),
            include: Vec::new(),
            exclude: Vec::new(),
            allow_ref: Vec::new(),
            base_url: None,
            server_variable: Vec::new(),
            is_tried: false,
            dry_run: false,
        });
        run(&command, &Config::default(), Format::Json).await
    }

    #[tokio::test]
    async fn an_edited_file_stays_and_the_version_grows() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("pets.yaml");
        let package = folder.path().join("pets");
        fs::write(&source, PETS).unwrap();
        assert_eq!(import(&source, &package).await.unwrap(), EXIT_OK);
        let read = |path: &str| fs::read_to_string(package.join(path)).unwrap();
        assert!(
            read("package.yaml").contains("version: \"0.1.0\""),
            "{}",
            read("package.yaml")
        );
        fs::write(package.join("skills/list_pets.yaml"), "edited").unwrap();
        let more = format!("{PETS}    post: {{ operationId: createPet, summary: Create a pet }}\n");
        fs::write(&source, more).unwrap();
        assert_eq!(import(&source, &package).await.unwrap(), EXIT_OK);
        assert_eq!(read("skills/list_pets.yaml"), "edited");
        assert!(package.join("playbooks/create_pet.yaml").exists());
        assert!(
            read("package.yaml").contains("version: 0.1.1"),
            "{}",
            read("package.yaml")
        );
    }

    #[tokio::test]
    async fn links_out_of_the_folder_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("api");
        fs::create_dir(&inside).unwrap();
        fs::write(folder.path().join("secret.yaml"), "secret: marker\n").unwrap();
        std::os::unix::fs::symlink("../secret.yaml", inside.join("link.yaml")).unwrap();
        let source = inside.join("pets.yaml");
        let content = "{ application/json: { schema: { $ref: link.yaml } } }";
        let reference = format!("      responses: {{ '200': {{ content: {content} }} }}\n");
        let document = format!("{PETS}    post:\n{reference}");
        fs::write(&source, document).unwrap();
        let package = folder.path().join("pets");
        assert_eq!(import(&source, &package).await.unwrap(), EXIT_OK);
        let page = fs::read_to_string(package.join("docs/grants.md")).unwrap();
        assert!(page.contains("outside of the document's folder"), "{page}");
        let tool = fs::read_to_string(package.join("tools/post_pets.yaml")).unwrap();
        assert!(!tool.contains("marker"), "{tool}");
    }

    #[tokio::test]
    async fn a_document_without_operations_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.json");
        fs::write(
            &source,
            r#"{"openapi": "3.1.0", "paths": {"/a": {"trace": {}}}}"#,
        )
        .unwrap();
        let refused = import(&source, &folder.path().join("a")).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "no operation can be imported: TRACE /a: HTTP tools do not send the method TRACE"
        );
    }
}
