//! Unanswered questions of a request, in its verdict: each is ranked separately, so that the verdict lists the
//! documents that would answer it.

use charter_contract::intent::Intent;
use charter_domain::identifiers::Identifiers;
use charter_search::RouteSettings;

use super::RoutingService;
use super::{Ranking, RoutedClause, RoutingResult, SHOWN_OF_CLAUSE, weigh};
use crate::EngineError;
use crate::catalogue::live::Stacked;

/// Maximum unanswered questions that are listed.
const LISTED: usize = 3;

impl RoutingService {
    /// Adds the unanswered questions to the clauses of a verdict.
    pub(super) async fn list_left_out(
        &self,
        identifiers: &Identifiers,
        stacked: &Stacked,
        settings: &RouteSettings,
        routed: &mut RoutingResult,
    ) -> Result<(), EngineError> {
        routed.left_out.truncate(LISTED);
        if routed.left_out.is_empty() {
            return Ok(());
        }
        // An unanswered clause was ranked by the intent of the rest of the text.
        let left_out = &routed.left_out;
        let is_left_out = |clause: &RoutedClause| {
            left_out.iter().any(|left| {
                let mut words = clause.text.split_whitespace();
                words.all(|word| left.text.contains(word))
            })
        };
        let verdict = &mut routed.verdict;
        verdict.clauses.retain(|clause| !is_left_out(clause));
        if verdict.clauses.is_empty() {
            let text = verdict.subject.as_ref().unwrap_or(&verdict.query);
            verdict.clauses.push(RoutedClause {
                text: text.clone(),
                candidates: verdict
                    .candidates
                    .iter()
                    .take(SHOWN_OF_CLAUSE)
                    .cloned()
                    .collect(),
            });
        }
        for clause in &routed.left_out {
            let text = clause.text.as_str();
            let candidates = match clause.intent {
                Intent::Read => {
                    let replaced = identifiers.replaced(text);
                    let subject = match replaced.trim() {
                        "" => text,
                        subject => subject,
                    };
                    let compared = self.compared(subject, &stacked.actions).await?;
                    let top_k = SHOWN_OF_CLAUSE;
                    let found = weigh(stacked, settings, Ranking::Skills, text, &compared, top_k)?;
                    found.0.candidates
                }
                // Passages are looked up when it is asked separately.
                Intent::Knowledge | Intent::Change | Intent::None => Vec::new(),
            };
            verdict.clauses.push(RoutedClause {
                text: text.to_owned(),
                candidates,
            });
        }
        Ok(())
    }
}
