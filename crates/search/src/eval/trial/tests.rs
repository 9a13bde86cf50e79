//! The evaluation of a trial, on a set small enough to check by hand.

use super::super::read::EvalEntry;
use super::*;

fn entry(id: &str, name: &str, description: &str) -> EvalEntry {
    EvalEntry {
        id: id.to_owned(),
        text: RouteText {
            name: name.to_owned(),
            description: description.to_owned(),
            ..RouteText::default()
        },
    }
}

fn labelled(query: &str, relevant: &[&str], candidates: &[&str]) -> LabelledQuery {
    LabelledQuery {
        query: query.to_owned(),
        relevant: relevant.iter().map(|id| (*id).to_owned()).collect(),
        part: Some(query.chars().take(1).collect()),
        candidates: candidates.iter().map(|id| (*id).to_owned()).collect(),
        requests: Vec::new(),
    }
}

fn set() -> EvalSet {
    EvalSet {
        entries: vec![
            entry("bucket", "dropBucket", "Deletes a storage bucket."),
            entry("invoice", "mailInvoice", "Sends an invoice by mail."),
            entry("weather", "forecast", "Tells tomorrow's weather."),
        ],
        queries: vec![
            labelled(
                "a storage bucket is obsolete",
                &["bucket"],
                &["bucket", "weather"],
            ),
            labelled("b send the invoice", &["invoice", "weather"], &[]),
            labelled(
                "b weather in a bucket",
                &["invoice"],
                &["bucket", "invoice"],
            ),
            labelled("c nobody offers a forecast", &[], &["bucket", "invoice"]),
        ],
        out_of_scope: vec!["zebra crossing".to_owned()],
    }
}

async fn report(options: &EvalOptions) -> EvalReport {
    let trial = Trial::prepare(set(), None, options).await.unwrap();
    trial.evaluate(&RouteSettings::default()).unwrap()
}

#[tokio::test]
async fn the_whole_catalogue_leaves_out_queries_that_miss_only_their_candidates() {
    let report = report(&EvalOptions::default()).await;
    let found = (report.all.queries, report.misses, report.auroc);
    assert_eq!(found, (3, 1, Some(1.0)));
    assert!((report.all.acc_at_1 - 2.0 / 3.0).abs() < 1e-9, "{report:?}");
    assert!((report.all.recall_at_5 - 0.5).abs() < 1e-9, "{report:?}");
    let parts: Vec<(&str, f64)> = report
        .by_part
        .iter()
        .map(|(part, figures)| (part.as_str(), figures.acc_at_1))
        .collect();
    assert_eq!(parts, [("a", 1.0), ("b", 0.5)]);
    assert_eq!(report.verdicts.true_miss, 1);
    assert_eq!(report.trust.misses_narrow, Some(0.0));
    assert!(report.trust.ece.is_some(), "{report:?}");
    assert_eq!(report.several, SeveralFigures::default());
}

#[tokio::test]
async fn of_a_query_with_several_requests_each_needs_an_answer_among_the_first_five() {
    let both = |text: &str, ids: [&str; 2]| LabelledQuery {
        requests: ids.iter().map(|id| vec![(*id).to_owned()]).collect(),
        ..labelled(text, &ids, &[])
    };
    let mut set = set();
    set.queries = vec![
        both(
            "the storage bucket, and also the invoice",
            ["bucket", "invoice"],
        ),
        both(
            "the storage bucket, and also a zebra",
            ["bucket", "weather"],
        ),
        labelled("the invoice", &["invoice"], &[]),
    ];
    let trial = Trial::prepare(set, None, &EvalOptions::default())
        .await
        .unwrap();
    let report = trial.evaluate(&RouteSettings::default()).unwrap();
    let expected = SeveralFigures {
        queries: 2,
        each_at_5: Some(0.5),
    };
    assert_eq!(report.several, expected);
}

#[tokio::test]
async fn among_candidates_a_query_is_ranked_as_if_only_those_existed() {
    let options = EvalOptions {
        offer: Offer::Candidates,
        ..EvalOptions::default()
    };
    let report = report(&options).await;
    assert_eq!((report.all.queries, report.misses), (3, 2));
    // Neither candidate of "c" contains one of its words.
    assert_eq!(report.verdicts.true_miss, 2);
}

#[test]
fn lent_examples_are_not_evaluated_and_never_more_than_half() {
    let queries = (0..5).map(|at| labelled(&format!("query {at}"), &["weather"], &[]));
    let mut set = set();
    set.queries = queries
        .chain([labelled("both", &["weather", "bucket"], &[])])
        .collect();
    set.entries[0].text.examples = vec!["first".to_owned(), "second".to_owned()];
    let options = EvalOptions {
        examples: Some(1),
        ..EvalOptions::default()
    };
    let with = |count| {
        with_examples(
            set.clone(),
            &EvalOptions {
                examples: count,
                ..options
            },
        )
    };
    let (entries, left) = with(Some(10));
    let lent: BTreeSet<&String> = entries[2].1.examples.iter().collect();
    assert_eq!((lent.len(), left.len()), (2, 3 + 1 + 1));
    assert!(left.iter().all(|query| !lent.contains(&query.query)));
    assert_eq!(entries[0].1.examples, ["first", "second"]);
    assert_eq!(with(Some(10)), (entries, left));
    let (entries, left) = with(Some(0));
    assert!(entries.iter().all(|(_, text)| text.examples.is_empty()));
    assert_eq!(left.len(), 6 + 1);
    assert_eq!(with(None).0[0].1.examples, ["first", "second"]);
}

/// Embeds a text by the letter that it starts with.
struct FirstLetter(crate::embed::EmbeddingModel);

#[async_trait::async_trait]
impl Embedder for FirstLetter {
    fn model(&self) -> &crate::embed::EmbeddingModel {
        &self.0
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        let angle = |text: &String| f32::from(text.as_bytes()[0]) / 40.0;
        let vector = |text| Vector::new(vec![angle(text).cos(), angle(text).sin()]);
        texts
            .iter()
            .map(|text| vector(text).map_err(|source| EmbedError::Vector { source }))
            .collect()
    }

    fn count_tokens(&self, _: &str) -> Option<usize> {
        None
    }

    fn token_spans(&self, _: &str) -> Option<Vec<std::ops::Range<usize>>> {
        None
    }
}

#[tokio::test]
async fn with_an_embedder_both_sides_count_and_the_model_is_recorded() {
    let embedder = FirstLetter(crate::embed::EmbeddingModel {
        name: "letters".to_owned(),
        dims: 2,
        quantisation: crate::embed::Quantisation::F32,
    });
    let trial = Trial::prepare(set(), Some(&embedder), &EvalOptions::default())
        .await
        .unwrap();
    assert_eq!(trial.model(), Some("letters/f32"));
    let seen = trial.observations(&RouteSettings::default()).unwrap();
    assert!(seen.iter().all(|seen| seen.hits.len() == 3), "{seen:?}");
    let report = trial.evaluate(&RouteSettings::default()).unwrap();
    assert_eq!(report.rrf.queries, 3);
}
