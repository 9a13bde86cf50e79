//! The last gate before registration: embeds new texts, and runs the package's own routing tests in the resulting
//! catalogue.

use std::collections::HashMap;
use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::package::RoutingTest;
use charter_contract::scope::Scope;
use charter_domain::package::{Problem, WithLocation};
use charter_search::VerdictKind;
use charter_search::embed::Vector;
use charter_store::vector::TextHash;

use super::PackageService;
use super::admit::AdmittedPackage;
use super::routing_test::RoutingTestResult;
use crate::EngineError;
use crate::catalogue::live::{IndexSet, Stacked, identifiers, text_hash, texts_of};
use crate::registry::routing::RoutedVerdict;

/// The result of the gate.
#[derive(Debug)]
pub(super) struct GateReport {
    /// Failed routing tests.
    pub(super) problems: Vec<Problem>,
    /// Failed routing tests that are left out.
    pub(super) warnings: Vec<Problem>,
    /// All of them.
    pub(super) tests: Vec<RoutingTestResult>,
    /// Vectors of texts that had none.
    pub(super) vectors: HashMap<TextHash, Vector>,
}

impl PackageService {
    /// Embeds new texts and runs the routing tests.
    pub(super) async fn gate(&self, admitted: &AdmittedPackage) -> Result<GateReport, EngineError> {
        let layer = match admitted.origin.scope {
            Scope::Global => &admitted.after.global,
            Scope::Tenant(_) => &admitted.after.tenant,
        };
        let fresh = self.vectors.embed_missing(texts_of(layer)).await?;
        let mut gated = GateReport {
            problems: Vec::new(),
            warnings: Vec::new(),
            tests: Vec::new(),
            vectors: HashMap::new(),
        };
        if !admitted.package.tests.is_empty() {
            let stacked = self.stacked_with(admitted, layer, &fresh).await?;
            self.run_tests(admitted, &stacked, &mut gated).await?;
        }
        gated.vectors = fresh;
        Ok(gated)
    }

    /// Builds the indexes as they would be with the package in force. A tenant's accepted route examples are left out:
    /// a package's routing tests must pass without them.
    async fn stacked_with(
        &self,
        admitted: &AdmittedPackage,
        layer: &Arc<charter_domain::catalogue::Layer>,
        fresh: &HashMap<TextHash, Vector>,
    ) -> Result<Stacked, EngineError> {
        let own = self.index_with(layer, fresh).await?;
        let live = self.catalogue.live();
        Ok(match (&admitted.origin.scope, live.global_indexes()) {
            (Scope::Tenant(_), Some(global)) => Stacked::new(Some(&own), None, global),
            (Scope::Tenant(_), None) | (Scope::Global, _) => Stacked::new(None, None, &own),
        })
    }

    async fn index_with(
        &self,
        layer: &Arc<charter_domain::catalogue::Layer>,
        fresh: &HashMap<TextHash, Vector>,
    ) -> Result<IndexSet, EngineError> {
        let model = self
            .vectors
            .embedder()
            .map(|embedder| embedder.model().clone());
        let mut vectors = fresh.clone();
        if model.is_some() {
            let hashes: Vec<TextHash> =
                texts_of(layer).iter().map(|text| text_hash(text)).collect();
            vectors.extend(self.vectors.stored_vectors(&hashes).await?);
        }
        IndexSet::build(layer, model.as_ref(), &vectors)
            .map_err(|error| EngineError::internal("indexing a package", error))
    }

    async fn run_tests(
        &self,
        admitted: &AdmittedPackage,
        stacked: &Stacked,
        gated: &mut GateReport,
    ) -> Result<(), EngineError> {
        let live = self.catalogue.live();
        let identifiers = identifiers(&admitted.after);
        let candidates = self.tests.candidates;
        for test in &admitted.package.tests {
            let text = test.value.query.as_str();
            let catalogue = (&admitted.after, &identifiers);
            let routed = self.tests.routing.route_as_registered(
                catalogue,
                stacked,
                &live.settings,
                text,
                candidates,
            );
            let verdict = routed.await?.verdict;
            let failure = failure(&test.value, &verdict, self.tests.broad_skills);
            gated.tests.push(tried(test, verdict, failure.is_none()));
            match failure {
                None => {}
                Some(message) if test.value.advisory => {
                    gated.warnings.push(left_out(test, &message));
                }
                Some(message) => gated.problems.push(failed(test, message)),
            }
        }
        Ok(())
    }
}

fn tried(
    test: &WithLocation<RoutingTest>,
    verdict: RoutedVerdict,
    passed: bool,
) -> RoutingTestResult {
    let best = verdict.candidates.into_iter().next();
    RoutingTestResult {
        query: verdict.query,
        file: test.place.file.to_string(),
        line: test.place.position("/query").line,
        passed,
        kind: verdict.kind,
        score: best.as_ref().map(|best| best.score),
        reached: best
            .filter(|_| verdict.kind != VerdictKind::Miss)
            .map(|best| best.id),
        reason: verdict.reason,
    }
}

fn failed(test: &WithLocation<RoutingTest>, message: String) -> Problem {
    Problem::at(&test.place, "/query", "routing_test", message)
}

/// Returns the note on a failed test that does not refuse the package.
fn left_out(test: &WithLocation<RoutingTest>, message: &str) -> Problem {
    let problem = failed(test, format!("the test is left out: {message}"));
    let problem = problem.suggest("add `examples` in the words of your users, or remove the test");
    problem.warning()
}

/// Returns why a verdict does not satisfy a test, with the verdict's own reason.
fn failure(test: &RoutingTest, verdict: &RoutedVerdict, broad: usize) -> Option<String> {
    let reason = &verdict.reason;
    let first = verdict.candidates.first();
    if let Some(expected) = &test.expect
        && first.is_none_or(|first| first.id != expected.as_ref())
    {
        let instead = first.map_or("nothing".to_owned(), |first| format!("`{}`", first.id));
        return Some(format!(
            "expected `{expected}`, but reached {instead}: {reason}"
        ));
    }
    let chosen = verdict.chosen(broad);
    let wrong = chosen
        .iter()
        .find(|candidate| test.expect_not.iter().any(|id| id.as_ref() == candidate.id));
    if let Some(wrong) = wrong {
        return Some(format!("this should not reach `{}`: {reason}", wrong.id));
    }
    let acted = |kind: DocumentKind| chosen.iter().find(|candidate| candidate.kind == kind);
    match acted(DocumentKind::Skill).or(acted(DocumentKind::Playbook)) {
        Some(found) if test.expect_miss => Some(format!(
            "expected no match, but reached `{}`: {reason}",
            found.id
        )),
        _ => None,
    }
}
