//! Checks that depend on the rest of the catalogue, and everything that must compile.

mod compile;
mod fit;
mod guardrails;
mod missions;
mod policies;
mod tiers;
mod tools;
mod triggers;

use std::collections::BTreeMap;

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, Implementation};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::http_header::is_of_client;
use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use charter_contract::validate::nearest;
use charter_contract::violation::pointer_segment;

pub use policies::check_policies;

use super::{MANIFEST, Package, Problem, ProblemSeverity, Problems, WithLocation, needs};
use crate::cancellation::Cancellation;
use crate::catalogue::{BUILT_IN, Layer, Origin, View};

/// The catalogue that a package is added to.
#[derive(Debug)]
pub struct Against<'a> {
    /// The target scope.
    pub scope: &'a Scope,
    /// The catalogue as that scope sees it now.
    pub before: &'a View,
    /// The catalogue with this package in force in place of its earlier version.
    pub after: &'a View,
    /// The package in its target scope.
    pub origin: &'a Origin,
    /// Ends the check early; the problems found until then are no verdict.
    pub cancel: &'a Cancellation,
}

/// The maximum number of missing documents with a suggestion, because each is compared with every known id.
const MAX_SUGGESTED: usize = 20;

/// The problems of a package against the catalogue, up to [`PACKAGE_PROBLEMS`] of each severity.
#[must_use]
pub fn check(package: &Package, against: &Against<'_>) -> Vec<Problem> {
    let mut problems = Problems::default();
    problems.extend(duplicates(package));
    if against.origin.package.as_ref() == BUILT_IN {
        let message = format!("the name `{BUILT_IN}` is reserved");
        problems.push(Problem::at(
            &package.manifest.place,
            "/name",
            "owner",
            message,
        ));
    }
    let mut suggested = 0;
    for document in &package.documents {
        if problems.is_full() || against.cancel.is_cancelled() {
            break;
        }
        problems.extend(scope_problems(document, against));
        problems.extend(built_in_problem(document));
        problems.extend(imported_problem(document));
        problems.extend(header_problems(document));
        problems.extend(unmet_needs(document, against.after, &mut suggested));
        problems.extend(compile::problems(document, package));
        problems.extend(fit::problems(document, against.after));
        problems.extend(left_aside(document, against.after));
    }
    problems.extend(guardrails::crowded(package, against));
    let whole: [fn(&Package, &Against<'_>) -> Vec<Problem>; 4] =
        [test_problems, check_policies, breakages, missions::broken];
    for look in whole {
        if !problems.is_full() && !against.cancel.is_cancelled() {
            problems.extend(look(package, against));
        }
    }
    if against.cancel.is_cancelled() {
        problems.push(Problem::cancelled(MANIFEST));
    }
    problems.sorted(MANIFEST)
}

fn duplicates(package: &Package) -> Vec<Problem> {
    let mut seen: BTreeMap<(DocumentKind, String), &WithLocation<Document>> = BTreeMap::new();
    let mut problems = Vec::new();
    for document in &package.documents {
        let key = (document.value.kind(), document.value.id().into_owned());
        let message = format!("the {} `{}` is duplicated", key.0, key.1);
        if let Some(first) = seen.insert(key, document) {
            let position = first.place.position("");
            let advice = format!("the other is at {}:{}", first.place.file, position.line);
            problems.push(Problem::at(&document.place, "", "unique", message).suggest(advice));
        }
    }
    problems
}

/// Warns about skills that no caller can reach, findings that trigger no playbook, and arguments that the policies over
/// a tool do not see.
fn left_aside(document: &WithLocation<Document>, after: &View) -> Vec<Problem> {
    let place = &document.place;
    match &document.value {
        Document::Skill(skill) => {
            let mut warnings = triggers::unmet(place, skill, after);
            warnings.extend(tiers::unreached(place, skill, after));
            warnings
        }
        Document::Agent(agent) => tiers::unreached_of(place, agent, after),
        Document::Tool(tool) => tools::opaque(place, tool, after).into_iter().collect(),
        Document::Playbook(_)
        | Document::Guardrail(_)
        | Document::Policy(_)
        | Document::DomainLens(_)
        | Document::Template(_)
        | Document::PromptTemplate(_)
        | Document::MissionType(_)
        | Document::Schedule(_)
        | Document::GraphNode(_)
        | Document::GraphEdge(_)
        | Document::Domain(_) => Vec::new(),
    }
}

/// The tenant comes from the credential; a document may only repeat it.
fn scope_problems(document: &WithLocation<Document>, against: &Against<'_>) -> Vec<Problem> {
    let own: Option<&TenantId> = match against.scope {
        Scope::Global => None,
        Scope::Tenant(tenant) => Some(tenant),
    };
    let mut problems = Vec::new();
    let named = document.value.tenant_id();
    if named.is_some() && named != own {
        let message = "the document names a tenant other than the one it is registered for";
        let problem = Problem::at(&document.place, "/tenant_id", "tenant", message);
        problems.push(problem.suggest("omit `tenant_id`, or write null"));
    }
    if document.value.is_candidate() && own.is_none() {
        let message = "a candidate belongs to one tenant: a global package cannot contain one";
        let problem = Problem::at(&document.place, "/is_candidate", "tenant", message);
        problems.push(problem.suggest("omit `is_candidate`, or register for the tenant"));
    }
    let layer = match against.scope {
        Scope::Global => &against.before.global,
        Scope::Tenant(_) => &against.before.tenant,
    };
    // The seeded domains may be redefined; the built-in tools are the same for every tenant.
    let redefines = |owner: &Origin| {
        owner.package.as_ref() != BUILT_IN || document.value.kind() != DocumentKind::Domain
    };
    let shared = against
        .before
        .global
        .origin(document.value.kind(), &document.value.id());
    let built_in = shared.filter(|owner| owner.package.as_ref() == BUILT_IN);
    let own = layer.origin(document.value.kind(), &document.value.id());
    if let Some(owner) = built_in.or(own)
        && owner.package != against.origin.package
        && redefines(owner)
    {
        let message = format!(
            "the {} `{}` belongs to the package `{}`",
            document.value.kind(),
            document.value.id(),
            owner.package
        );
        problems.push(Problem::at(&document.place, "", "owner", message));
    }
    problems
}

/// Only Charter's own documents may define tools that Charter implements, so that parameters, class and permission
/// match the code.
fn built_in_problem(document: &WithLocation<Document>) -> Option<Problem> {
    let Document::Tool(tool) = &document.value else {
        return None;
    };
    let problem =
        |message: &str| Problem::at(&document.place, "/implementation/type", "builtin", message);
    match &tool.implementation {
        Some(Implementation::Builtin { name }) => {
            let problem = problem("a package cannot contain a built-in implementation");
            Some(problem.suggest(format!("use the tool `{}`", name.tool_id())))
        }
        Some(Implementation::Stage { .. }) => {
            Some(problem("a package cannot contain a mission stage"))
        }
        Some(Implementation::Analysis {}) => {
            let problem = problem("a package cannot contain the analysis of results as a tool");
            Some(problem.suggest("name a model in `analysis.model` of the skill"))
        }
        Some(Implementation::Mcp { .. }) => {
            let problem = problem("a package cannot contain a tool of an MCP server");
            Some(problem.suggest("name the server in `mcp.servers` of the configuration"))
        }
        Some(Implementation::Script { .. } | Implementation::Http { .. }) | None => None,
    }
}

/// The HTTP client sets the headers for a request's target and framing, so a tool must not set them.
fn header_problems(document: &WithLocation<Document>) -> Vec<Problem> {
    let Document::Tool(tool) = &document.value else {
        return Vec::new();
    };
    let Some(Implementation::Http { headers, .. }) = &tool.implementation else {
        return Vec::new();
    };
    let set = headers.keys().filter(|name| is_of_client(name));
    let problems = set.map(|name| {
        let pointer = format!("/implementation/headers/{}", pointer_segment(name));
        let message = format!("a tool cannot set the header `{name}`");
        Problem::at(&document.place, &pointer, "header", message).suggest("remove it")
    });
    problems.collect()
}

/// The ids of imported tools are reserved for their servers, even while a server is unavailable: a plan must never
/// reach a different tool.
fn imported_problem(document: &WithLocation<Document>) -> Option<Problem> {
    let Document::Tool(tool) = &document.value else {
        return None;
    };
    let imported = tool.tool_id.as_ref().starts_with(IMPORTED_PREFIX);
    let message =
        format!("ids that begin with `{IMPORTED_PREFIX}` are reserved for tools of MCP servers");
    imported.then(|| Problem::at(&document.place, "/tool_id", "owner", message))
}

/// `suggested` counts the searches for a similar id.
fn unmet_needs(
    document: &WithLocation<Document>,
    after: &View,
    suggested: &mut usize,
) -> Vec<Problem> {
    needs(&document.value)
        .into_iter()
        .filter_map(|need| {
            let problem =
                |message: String| Problem::at(&document.place, &need.pointer, "reference", message);
            match after.status(need.kind, &need.id) {
                None => {
                    let message = format!("there is no {} `{}`", need.kind, need.id);
                    let problem = problem(message);
                    *suggested += 1;
                    let meant = (*suggested <= MAX_SUGGESTED)
                        .then(|| nearest(&need.id, after.ids(need.kind)))
                        .flatten();
                    Some(match meant {
                        Some(advice) => problem.suggest(advice),
                        None => problem,
                    })
                }
                Some(Status::Inactive) => Some(problem(format!(
                    "the {} `{}` is inactive",
                    need.kind, need.id
                ))),
                Some(Status::Active) => None,
            }
        })
        .take(PACKAGE_PROBLEMS)
        .collect()
}

fn test_problems(package: &Package, against: &Against<'_>) -> Vec<Problem> {
    let after = against.after;
    let mut problems = Vec::new();
    for test in &package.tests {
        let expected = test
            .value
            .expect
            .iter()
            .map(|id| ("/expect".to_owned(), id));
        let excluded = test.value.expect_not.iter().enumerate();
        let excluded = excluded.map(|(at, id)| (format!("/expect_not/{at}"), id));
        for (pointer, id) in expected.chain(excluded) {
            if after.skill(id.as_ref()).is_none() && after.playbook(id.as_ref()).is_none() {
                let message = format!("there is no skill or playbook `{id}`");
                problems.push(Problem::at(&test.place, &pointer, "reference", message));
            }
        }
    }
    problems
}

/// Returns the documents of other packages that lose a dependency, up to [`PACKAGE_PROBLEMS`].
fn breakages(package: &Package, against: &Against<'_>) -> Vec<Problem> {
    let view = against.after;
    let layers: [&Layer; 2] = [&view.tenant, &view.global];
    let documents = layers.iter().flat_map(|layer| layer.documents());
    // A candidate that is not yet accepted blocks no other package.
    let others = documents.filter(|(origin, document)| {
        origin.package != against.origin.package && !document.is_candidate()
    });
    others
        .flat_map(|(origin, document)| lost(package, &origin, &document, view))
        .take(PACKAGE_PROBLEMS)
        .collect()
}

/// Returns the dependencies that one document of another package loses.
fn lost(package: &Package, origin: &Origin, document: &Document, view: &View) -> Vec<Problem> {
    needs(document)
        .into_iter()
        .filter(|need| view.status(need.kind, &need.id).is_none())
        .take(PACKAGE_PROBLEMS)
        .map(|need| {
            let message = format!(
                "the {} `{}` of the package `{}` needs the {} `{}`, which would be removed",
                document.kind(),
                document.id(),
                origin.package,
                need.kind,
                need.id
            );
            Problem::at(&package.manifest.place, "/name", "breaks", message)
        })
        .collect()
}
