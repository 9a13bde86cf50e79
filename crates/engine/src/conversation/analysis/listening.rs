//! Reports each sentence while the draft streams in, after a check of its citations. The sentences that a failed draft
//! reported remain valid: each was checked.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use charter_domain::answer::{CitableSources, CitedSentence, SentenceOrder, SentenceStream};
use charter_effects::ModelListener;

use crate::execution::runs::{Progress, ProgressEvent};

/// Receives a draft and reports its sentences, each once.
pub(super) struct SentenceReporter<'a> {
    citable: &'a CitableSources,
    progress: &'a Progress,
    heard: Mutex<StreamedDraft>,
}

#[derive(Default)]
struct StreamedDraft {
    stream: SentenceStream,
    order: SentenceOrder,
    told: BTreeSet<String>,
}

impl<'a> SentenceReporter<'a> {
    pub(super) fn new(citable: &'a CitableSources, progress: &'a Progress) -> Self {
        Self {
            citable,
            progress,
            heard: Mutex::default(),
        }
    }

    /// Reports the accepted sentences that were not reported yet.
    pub(super) fn tell_rest(&self, sentences: &[CitedSentence]) {
        let mut heard = self.heard();
        for sentence in sentences {
            self.tell(&mut heard.told, sentence.clone());
        }
    }

    fn tell(&self, told: &mut BTreeSet<String>, sentence: CitedSentence) {
        if told.insert(sentence.text.clone()) {
            self.progress.send(ProgressEvent::Sentence {
                text: sentence.text,
                evidence_ids: sentence.evidence_ids,
                finding_ids: sentence.finding_ids,
                outputs: sentence.outputs,
            });
        }
    }

    fn heard(&self) -> MutexGuard<'_, StreamedDraft> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelListener for SentenceReporter<'_> {
    fn begins(&self) {
        let mut heard = self.heard();
        heard.stream.restart();
        heard.order = SentenceOrder::default();
    }

    fn hears(&self, piece: &str) {
        let mut heard = self.heard();
        for drafted in heard.stream.push(piece) {
            let sentence = self.citable.sentence(&drafted);
            let sentence = sentence.and_then(|sentence| heard.order.admit(sentence));
            if let Ok(sentence) = sentence {
                self.tell(&mut heard.told, sentence);
            }
        }
    }
}
