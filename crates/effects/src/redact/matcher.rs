//! Finds values in texts: one automaton over all their forms, applied to the text itself and to its decoded views.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::forms::{FormKind, forms};
use super::view::{Coding, View};
use super::{RedactionMatch, merged};

/// Replaces a whole text that cannot be searched.
const WHOLLY: &str = "[redacted]";

/// Recognises values.
#[derive(Clone)]
pub(super) struct Matcher(Option<Arc<KnownSecrets>>);

struct KnownSecrets {
    /// Matches the forms, in their order; `None` if they are too many or too long for one automaton.
    automaton: Option<AhoCorasick>,
    forms: Vec<(FormKind, String)>,
    shortest: usize,
    longest: usize,
    has_space: bool,
}

impl Matcher {
    /// Recognises the values that have at least `shortest` bytes.
    pub(super) fn new(environment: &[(String, String)], shortest: usize) -> Self {
        let (mut texts, mut known) = (Vec::new(), Vec::new());
        for (name, value) in environment {
            if value.len() < shortest {
                continue;
            }
            for (form, kind) in forms(value, shortest) {
                texts.push(form);
                known.push((kind, format!("[redacted:{name}]")));
            }
        }
        if texts.is_empty() {
            return Self(None);
        }
        let lengths = || texts.iter().map(String::len);
        Self(Some(Arc::new(KnownSecrets {
            automaton: AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(&texts)
                .ok(),
            shortest: lengths().min().unwrap_or_default(),
            longest: lengths().max().unwrap_or_default(),
            has_space: texts.iter().any(|text| text.contains(' ')),
            forms: known,
        })))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the length in bytes of the longest form.
    pub(super) fn longest(&self) -> usize {
        self.0.as_ref().map_or(0, |known| known.longest)
    }

    /// Returns the ranges of a text that contain values.
    pub(super) fn find(&self, text: &str) -> Vec<RedactionMatch<'_>> {
        let Some(known) = &self.0 else {
            return Vec::new();
        };
        let Some(automaton) = &known.automaton else {
            return vec![RedactionMatch {
                range: 0..text.len(),
                mark: WHOLLY,
                weight: usize::MAX,
            }];
        };
        // Decoding never makes a text longer.
        if text.len() < known.shortest {
            return Vec::new();
        }
        let mut found = Vec::new();
        let whole = View::plain(text);
        known.look(automaton, &whole, &mut found);
        for coding in Coding::ALL {
            if coding == Coding::Form && !known.has_space {
                continue;
            }
            let Some(view) = whole.decoded(coding) else {
                continue;
            };
            known.look(automaton, &view, &mut found);
            // JSON within JSON.
            if coding == Coding::Backslash
                && let Some(twice) = view.decoded(coding)
            {
                known.look(automaton, &twice, &mut found);
            }
        }
        found
    }
}

impl KnownSecrets {
    /// Adds the matches in a view, and in its unwrapped form.
    fn look<'r>(
        &'r self,
        automaton: &AhoCorasick,
        view: &View<'_>,
        found: &mut Vec<RedactionMatch<'r>>,
    ) {
        found.extend(self.search(automaton, view, |_| true));
        if let Some(unwrapped) = view.unwrapped() {
            let wrapped = |kind: FormKind| kind == FormKind::Wrapped;
            found.extend(self.search(automaton, &unwrapped, wrapped));
        }
    }

    fn search<'r>(
        &'r self,
        automaton: &AhoCorasick,
        view: &View<'_>,
        counts: impl Fn(FormKind) -> bool,
    ) -> Vec<RedactionMatch<'r>> {
        let matches = automaton.find_overlapping_iter(&*view.bytes);
        let found = matches.filter_map(|one| {
            let (kind, mark) = self.forms.get(one.pattern().as_usize())?;
            counts(*kind).then_some(RedactionMatch {
                range: one.start()..one.end(),
                mark,
                weight: one.end() - one.start(),
            })
        });
        let placed = merged(found.collect())
            .into_iter()
            .map(|one| RedactionMatch {
                range: view.place(one.range),
                ..one
            });
        placed.collect()
    }
}
