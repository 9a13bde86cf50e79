//! `charter policy …`: works on policies without a catalogue. Reads packages from their directories, and uses no
//! network.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use charter_contract::catalogue::Document;
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::PackageName;
use charter_contract::package::PackageBundle;
use charter_contract::scope::Scope;
use charter_domain::cancellation::Cancellation;
use charter_domain::catalogue::{BUILT_IN, Origin, View};
use charter_domain::package::{self, Against, MANIFEST, MCP_SNAPSHOT, Package, WithLocation};
use charter_domain::policy::{self, PolicyTestResult};
use charter_engine::{Problem, ProblemSeverity};
use clap::Subcommand;
use serde_json::{Value, json};

use super::mcp::snapshot;
use super::package::read_files;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// Test policies, and show the Cedar schema and the actions of tools.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check policies and run their tests; exit 0 when all pass, 1 when one fails.
    ///
    /// The policies of the package decide, over its own tools, the built-in ones, those of `--with`, and the tools of MCP
    /// servers in tests/mcp-tools.json, which `charter mcp snapshot` writes. Registered packages are ignored, and no
    /// server is used.
    Test {
        /// Packages, or policies in a package: directories and files.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Another package whose tools the policies govern.
        #[arg(long, value_name = "DIR")]
        with: Vec<PathBuf>,
    },
    /// Show the Cedar schema, and the actions of a package's tools.
    Schema {
        /// A package's directory.
        package: Option<PathBuf>,
    },
}

pub(crate) fn run(command: &PolicyCommand, format: Format) -> anyhow::Result<u8> {
    match command {
        PolicyCommand::Test { paths, with } => test(paths, with, format),
        PolicyCommand::Schema { package } => schema(package.as_deref(), format),
    }
}

fn schema(dir: Option<&Path>, format: Format) -> anyhow::Result<u8> {
    let mut text = policy::SCHEMA.to_owned();
    if let Some(dir) = dir {
        let package = valid_package(dir)?;
        let imported = snapshot_of(&package)?;
        let tools = package
            .documents
            .iter()
            .filter_map(|document| document.value.as_tool());
        let actions = policy::actions_text(tools.chain(&imported)).map_err(anyhow::Error::msg);
        text.push('\n');
        text.push_str(&actions.context("writing the actions of the package's tools")?);
    }
    output::print(format, &json!({ "schema": text }), |_| text.clone())?;
    Ok(EXIT_OK)
}

fn test(paths: &[PathBuf], with: &[PathBuf], format: Format) -> anyhow::Result<u8> {
    let others: Vec<Package> = with
        .iter()
        .map(|dir| valid_package(dir))
        .collect::<Result<_, _>>()?;
    let tested: Vec<PolicyTestRun> = paths
        .iter()
        .map(|path| PolicyTestRun::run(path, &others))
        .collect::<Result<_, _>>()?;
    let shown: Vec<Value> = tested.iter().map(PolicyTestRun::to_value).collect();
    output::print(format, &Value::Array(shown), |_| {
        let texts: Vec<String> = tested.iter().map(PolicyTestRun::to_text).collect();
        texts.join("\n")
    })?;
    let all_hold = tested.iter().all(PolicyTestRun::holds);
    Ok(if all_hold { EXIT_OK } else { EXIT_NEGATIVE })
}

/// The test results of one path.
struct PolicyTestRun {
    path: String,
    policies: usize,
    problems: Vec<Problem>,
    trials: Vec<PolicyTestResult>,
}

impl PolicyTestRun {
    fn run(path: &Path, others: &[Package]) -> anyhow::Result<Self> {
        let (root, inner) = package_of(path)?;
        let reading = package::read(read(&root)?, &Cancellation::default());
        let mut tested = Self {
            path: path.display().to_string(),
            policies: 0,
            problems: reading.problems,
            trials: Vec::new(),
        };
        let Some(package) = reading.package else {
            return Ok(tested);
        };
        let meant: Vec<&Policy> = policies(&package)
            .filter(|(document, policy)| is_within(document, policy, &inner))
            .map(|(_, policy)| policy)
            .collect();
        if meant.is_empty() {
            bail!("there is no policy in {}", path.display());
        }
        let view = view(others.iter().chain([&package]))?;
        let origin = origin(&package);
        let against = Against {
            scope: &origin.scope,
            before: &view,
            after: &view,
            origin: &origin,
            cancel: &Cancellation::default(),
        };
        tested.policies = meant.len();
        tested.problems = package::check_policies(&package, &against);
        tested
            .problems
            .retain(|problem| Path::new(&problem.file).starts_with(&inner));
        tested.trials = policy::try_out(&origin.package, meant, &view);
        Ok(tested)
    }

    fn holds(&self) -> bool {
        let sound = self
            .problems
            .iter()
            .all(|problem| problem.severity != ProblemSeverity::Error);
        sound && self.trials.iter().all(|trial| trial.failure.is_none())
    }

    fn to_value(&self) -> Value {
        let tests = self.trials.iter().map(|trial| {
            json!({
                "policy_id": trial.policy_id, "name": trial.name,
                "passed": trial.failure.is_none(), "failure": trial.failure,
            })
        });
        let tests: Vec<Value> = tests.collect();
        json!({
            "path": self.path, "policies": self.policies, "problems": self.problems, "tests": tests,
        })
    }

    fn to_text(&self) -> String {
        let failed = self
            .trials
            .iter()
            .filter(|trial| trial.failure.is_some())
            .count();
        let lines = self.trials.iter().map(|trial| {
            let verdict = if trial.failure.is_some() {
                "FAILED"
            } else {
                "ok"
            };
            format!("{verdict:<6} {}: {}\n", trial.policy_id, trial.name)
        });
        format!(
            "{}{}{}: {} policy document(s), {} test(s), {failed} failed",
            output::problems(&self.problems),
            lines.collect::<String>(),
            self.path,
            self.policies,
            self.trials.len()
        )
    }
}

/// The package that a path belongs to, and the path within it; empty for the package itself.
fn package_of(path: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let full = path.canonicalize();
    let full = full.with_context(|| format!("reading {}", path.display()))?;
    let root = full.ancestors().find(|dir| dir.join(MANIFEST).is_file());
    let Some(root) = root else {
        bail!(
            "{} is not in a package: no parent directory has a {MANIFEST}",
            path.display()
        );
    };
    let inner = full
        .strip_prefix(root)
        .context("naming a path in its package")?;
    Ok((root.to_owned(), inner.to_owned()))
}

fn read(root: &Path) -> anyhow::Result<PackageBundle> {
    let files = read_files(root)?;
    Ok(PackageBundle { files })
}

/// Reads a package; fails if one of its files has an error.
fn valid_package(dir: &Path) -> anyhow::Result<Package> {
    let reading = package::read(read(dir)?, &Cancellation::default());
    match reading.package {
        Some(package) => Ok(package),
        None => bail!(
            "{} is invalid; `charter package validate` shows why",
            dir.display()
        ),
    }
}

fn policies(package: &Package) -> impl Iterator<Item = (&WithLocation<Document>, &Policy)> {
    let documents = package.documents.iter();
    documents.filter_map(|document| Some((document, document.value.as_policy()?)))
}

/// Whether a policy, or the file of its Cedar text, is at or under a path.
fn is_within(document: &WithLocation<Document>, policy: &Policy, inner: &Path) -> bool {
    let text = policy.file.as_ref().map(AsRef::as_ref);
    let files = [Some(&*document.place.file), text];
    files
        .into_iter()
        .flatten()
        .any(|file| Path::new(file).starts_with(inner))
}

/// The tools of MCP servers that a package's policies are tested with.
fn snapshot_of(package: &Package) -> anyhow::Result<Vec<Tool>> {
    match package.files.get(MCP_SNAPSHOT) {
        Some(text) => snapshot::read(text).with_context(|| format!("reading {MCP_SNAPSHOT}")),
        None => Ok(Vec::new()),
    }
}

/// The view of packages in the global scope, over the built-in tools and those of their snapshots.
fn view<'p>(packages: impl IntoIterator<Item = &'p Package> + Clone) -> anyhow::Result<View> {
    let mut imported = Vec::new();
    for package in packages.clone() {
        imported.extend(snapshot_of(package)?);
    }
    let tools = charter_effects::builtin_documents().map_err(|violations| {
        let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("describing the built-in tools: {}", said.join("; "))
    })?;
    let built_in = Origin {
        scope: Scope::Global,
        package: PackageName::parse(BUILT_IN)?,
        version: String::new(),
    };
    let tools = tools.into_iter().chain(imported);
    let tools = tools.map(|tool| (Document::Tool(tool), String::new()));
    let seeded = View::default().with_package(&Arc::new(built_in), tools);
    Ok(packages.into_iter().fold(seeded, |view, package| {
        let documents = package.documents.iter();
        let documents = documents.map(|document| (document.value.clone(), String::new()));
        view.with_package(&Arc::new(origin(package)), documents)
    }))
}

fn origin(package: &Package) -> Origin {
    Origin {
        scope: Scope::Global,
        package: package.manifest.value.name.clone(),
        version: package.manifest.value.version.to_string(),
    }
}
