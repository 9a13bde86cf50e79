//! `charter route eval --intent …`

use std::path::Path;

use charter_domain::intent::languages;
use charter_engine::{Caller, Course, Engine, RequestPreview};
use charter_search::eval::{IntentReport, LabelledSentence, SentenceOutcome, StartedEffect};
use serde_json::Value;

use crate::boot;
use crate::config::Config;
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::{self, Format};
use crate::terminal;

/// Measures the outcomes of labelled sentences over the registered catalogue.
pub(super) async fn eval(path: &Path, config: &Config, format: Format) -> anyhow::Result<u8> {
    let sentences = LabelledSentence::read(path)?;
    let running = boot::start(config).await?;
    let caller = Caller::local()?;
    let bar = terminal::spinner("reading the sentences");
    let outcomes = outcomes(&running.engine, &caller, sentences).await;
    bar.finish_and_clear();
    running.stop().await?;
    let report = serde_json::to_value(IntentReport::over(&outcomes?))?;
    output::print(format, &report, figures)?;
    Ok(EXIT_OK)
}

async fn outcomes(
    engine: &Engine,
    caller: &Caller,
    sentences: Vec<LabelledSentence>,
) -> Result<Vec<(LabelledSentence, SentenceOutcome)>, ReportedFailure> {
    let mut outcomes = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        let classifications = engine.classifications();
        let foreseen = classifications.foresee(caller, &sentence.text).await;
        let foreseen = foreseen.map_err(ReportedFailure::from)?;
        let outcome = outcome(engine, caller, &sentence, foreseen);
        outcomes.push((sentence, outcome));
    }
    Ok(outcomes)
}

fn outcome(
    engine: &Engine,
    caller: &Caller,
    sentence: &LabelledSentence,
    foreseen: RequestPreview,
) -> SentenceOutcome {
    let changes = |id: &String| engine.documents().resolve_playbook(caller, id).is_ok();
    let is_foreign = |tag: &String| languages().any(|language| language.eq_ignore_ascii_case(tag));
    SentenceOutcome {
        intent: foreseen.intent,
        begun: match (foreseen.course, foreseen.dry_run) {
            (Course::Open, true) => StartedEffect::Trial,
            (Course::Open, false) => StartedEffect::Change,
            (
                Course::Run
                | Course::Resume
                | Course::Offer
                | Course::Quote
                | Course::Explain
                | Course::AskBack
                | Course::Decline
                | Course::Generate,
                _,
            ) => StartedEffect::Nothing,
        },
        is_asked_back: foreseen.course == Course::AskBack,
        documents: foreseen.documents,
        has_relevant_change: sentence.relevant.iter().any(changes),
        is_english: !sentence.tags.iter().any(is_foreign),
    }
}

/// The columns of the table: a title, a field, and the field that it is a share of.
const COLUMNS: [(&str, &str, &str); 7] = [
    ("intent", "intent_right", "sentences"),
    ("unsafe", "unsafe_starts", ""),
    ("wrong", "wrong_starts", ""),
    ("missed", "missed_changes", "changes"),
    ("first", "first_right", "answerable"),
    ("answered", "answered_all_the_same", "unanswerable"),
    ("asked", "asked_back", "with_one"),
];

fn figures(report: &Value) -> String {
    let titles = COLUMNS.iter().map(|(title, ..)| format!(" {title:>9}"));
    let mut lines = vec![format!(
        "{:<18} {:>9}{}",
        "",
        "sentences",
        titles.collect::<String>()
    )];
    lines.push(line("english", &report["english"]));
    lines.push(line("other languages", &report["other_languages"]));
    for group in ["by_intent", "by_tag"] {
        let of_group = report[group].as_object().into_iter().flatten();
        lines.extend(of_group.map(|(name, of)| line(name, of)));
    }
    lines.join("\n")
}

fn line(name: &str, of: &Value) -> String {
    let count = |field: &str| of[field].as_u64().unwrap_or_default();
    let columns = COLUMNS.iter().map(|(_, part, whole)| match *whole {
        "" => format!(" {:>9}", count(part)),
        whole => format!(" {:>9}", format!("{}/{}", count(part), count(whole))),
    });
    let columns: String = columns.collect();
    format!("{name:<18} {:>9}{columns}", count("sentences"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_shows_counts_and_what_they_are_a_part_of() {
        let of = json!({"sentences": 12, "intent_right": 11, "unsafe_starts": 0, "first_right": 4, "answerable": 5});
        let line = line("english", &of);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "english", "12", "11/12", "0", "0", "0/0", "4/5", "0/0", "0/0"
            ]
        );
    }
}
