//! The visible entries of a search, and their order.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::embed::{EmbeddingModel, Quantisation, Vector};
use crate::index::{IndexSettings, RouteEntry, RouteIndex};
use crate::query::RouteQuery;
use crate::text::{RouteText, VectorRole};
use crate::verdict::{VerdictKind, decide};

const DIMS: usize = 4;

fn model() -> EmbeddingModel {
    EmbeddingModel {
        name: "test".to_owned(),
        dims: DIMS,
        quantisation: Quantisation::F32,
    }
}

fn vector(seed: u8) -> Vector {
    let component = |at: usize| f32::from(seed.wrapping_mul(31 + 2 * at as u8) % 17) - 8.0;
    let mut components: Vec<f32> = (0..DIMS).map(component).collect();
    components[0] += 0.5;
    Vector::new(components).unwrap()
}

fn entry(id: &str, description: &str, seed: u8) -> RouteEntry {
    RouteEntry {
        id: id.to_owned(),
        text: RouteText {
            name: id.to_owned(),
            description: description.to_owned(),
            ..RouteText::default()
        },
        vectors: vec![(VectorRole::Description, vector(seed))],
    }
}

fn layer(scope: Scope, entries: Vec<RouteEntry>) -> Layer {
    Layer {
        scope,
        index: Arc::new(
            RouteIndex::build(entries, Some(model()), &IndexSettings::default()).unwrap(),
        ),
    }
}

fn query(text: &str, seed: u8) -> EmbeddedQuery {
    query_along(text, &vector(seed))
}

/// A query whose texts have this vector.
fn query_along(text: &str, vector: &Vector) -> EmbeddedQuery {
    let query = RouteQuery::parse(text).unwrap();
    let vectors: Vec<Vector> = query.texts().map(|_| vector.clone()).collect();
    query.embedded(&model(), &vectors).unwrap()
}

fn hits(layers: &Layers, query: &EmbeddedQuery, allowed: Allowed<'_>) -> Vec<Candidate> {
    search(layers, query, allowed, &RouteSettings::default(), 100).unwrap()
}

/// Entries from a few words, so that statistics and ties matter.
fn entries() -> impl Strategy<Value = Vec<RouteEntry>> {
    let word = prop::sample::select(vec!["bucket", "invoice", "send", "list", "mail", "delete"]);
    let one = (prop::collection::vec(word, 1..6), any::<u8>());
    prop::collection::vec(one, 1..20).prop_map(|all| {
        let numbered = all.into_iter().enumerate();
        let made =
            numbered.map(|(at, (words, seed))| entry(&format!("e{at:02}"), &words.join(" "), seed));
        made.collect()
    })
}

proptest! {
    /// Filtering before ranking: neither ranks nor scores disclose invisible entries.
    #[test]
    fn b001_6_a_filtered_search_is_a_search_where_only_the_allowed_exist(
        all in entries(), mask in any::<u32>(), seed in any::<u8>(),
    ) {
        let is_allowed = |id: &str| mask >> id[1..].parse::<u32>().unwrap() & 1 == 1;
        let allowed: Vec<RouteEntry> = all.iter().filter(|entry| is_allowed(&entry.id)).cloned().collect();
        let asked = query("send the invoice list by mail", seed);
        let filtered = hits(
            &Layers::new(vec![layer(Scope::Global, all)]),
            &asked,
            Allowed::Where(&|_, id| is_allowed(id)),
        );
        let alone = hits(&Layers::new(vec![layer(Scope::Global, allowed)]), &asked, Allowed::Everything);
        prop_assert_eq!(filtered, alone);
    }

    /// Layers share their statistics: the distribution of entries over them changes no score.
    #[test]
    fn b000_1_a_search_over_layers_is_a_search_over_one_index_of_what_is_not_shadowed(
        all in entries(), spread in any::<u32>(), seed in any::<u8>(),
    ) {
        let (own, mut global): (Vec<RouteEntry>, Vec<RouteEntry>) =
            all.iter().cloned().partition(|entry| spread >> entry.id[1..].parse::<u32>().unwrap() & 1 == 1);
        global.extend(own.iter().map(|shadowed| entry(&shadowed.id, "shadowed invoice send mail", 7)));
        let asked = query("send the invoice list by mail", seed);
        let stacked = hits(
            &Layers::new(vec![layer(Scope::Tenant, own), layer(Scope::Global, global)]),
            &asked,
            Allowed::Everything,
        );
        let flat = hits(&Layers::new(vec![layer(Scope::Global, all)]), &asked, Allowed::Everything);
        let without_scope = |found: Vec<Candidate>| -> Vec<Candidate> {
            found.into_iter().map(|hit| Candidate { scope: Scope::Global, scope_score: hit.score, ..hit }).collect()
        };
        prop_assert_eq!(without_scope(stacked), flat);
    }

    /// B000-3: thresholds are meaningful only if scores fall along a ranking and stay in 0..1.
    #[test]
    fn b000_3_scores_fall_along_a_ranking_and_equal_ones_are_in_order_of_id(
        all in entries(), seed in any::<u8>(),
    ) {
        let layers = Layers::new(vec![layer(Scope::Global, all)]);
        let found = hits(&layers, &query("delete a bucket", seed), Allowed::Everything);
        for pair in found.windows(2) {
            prop_assert!(pair[0].fused > pair[1].fused || (pair[0].fused == pair[1].fused && pair[0].id < pair[1].id));
            prop_assert!(pair[0].score >= pair[1].score);
        }
        prop_assert!(found.iter().all(|hit| (0.0..=1.0).contains(&hit.score) && (0.0..=1.0).contains(&hit.fused)));
    }
}

#[test]
fn b000_2_equal_scores_order_by_id_whatever_their_layer() {
    let twins = ["c", "a", "b"].map(|id| RouteEntry {
        text: RouteText {
            description: "list invoices".to_owned(),
            ..RouteText::default()
        },
        ..entry(id, "", 3)
    });
    let [own, global @ ..] = twins;
    let layers = Layers::new(vec![
        layer(Scope::Tenant, vec![own]),
        layer(Scope::Global, global.to_vec()),
    ]);
    let settings = RouteSettings::default();
    let found = search(
        &layers,
        &query("invoices", 3),
        Allowed::Everything,
        &settings,
        2,
    )
    .unwrap();
    let ids: Vec<&str> = found.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

fn along(components: [f32; DIMS]) -> Vector {
    Vector::new(components.to_vec()).unwrap()
}

/// An entry without a name, so that words of ids do not count.
fn described(id: &str, description: &str, vector: &Vector) -> RouteEntry {
    RouteEntry {
        id: id.to_owned(),
        text: RouteText {
            description: description.to_owned(),
            ..RouteText::default()
        },
        vectors: vec![(VectorRole::Description, vector.clone())],
    }
}

/// The hits of "count running machines" over one entry of the tenant and global ones.
fn machine_hits(own: RouteEntry, global: Vec<RouteEntry>) -> Vec<Candidate> {
    let layers = Layers::new(vec![
        layer(Scope::Tenant, vec![own]),
        layer(Scope::Global, global),
    ]);
    let asked = query_along("count running machines", &along([1.0, 0.0, 0.0, 0.0]));
    hits(&layers, &asked, Allowed::Everything)
}

/// Returns the verdict over hits, with the ids of the candidates and their scopes.
fn decided(found: Vec<Candidate>) -> (VerdictKind, Vec<(String, Scope)>) {
    let verdict = decide(found, &RouteSettings::default().thresholds, None);
    let candidates = verdict.candidates.into_iter();
    (
        verdict.kind,
        candidates.map(|hit| (hit.id, hit.scope)).collect(),
    )
}

/// A global entry that matches the query word for word.
fn exact_entry(id: &str) -> RouteEntry {
    described(id, "count running machines", &along([1.0, 0.0, 0.0, 0.0]))
}

/// The tenant's hit has a high score only because a global hit is certain.
#[test]
fn ruling_66_a_tenant_entry_of_low_similarity_does_not_win_over_a_global_one() {
    let own = described("owners", "look up the team", &along([0.4, 0.9, 0.0, 0.0]));
    let far = described("weather", "rain in Paris", &along([-1.0, 0.0, 0.1, 0.0]));
    let found = machine_hits(own, vec![exact_entry("machines"), far]);
    let narrow = RouteSettings::default().thresholds.narrow;
    assert_eq!(found[1].scope, Scope::Tenant);
    assert!(found[1].score >= narrow, "{}", found[1].score);
    assert!(found[1].scope_score < narrow, "{}", found[1].scope_score);
    let (kind, candidates) = decided(found);
    assert_eq!(kind, VerdictKind::Narrow);
    assert_eq!(candidates[0], ("machines".to_owned(), Scope::Global));
}

#[test]
fn b000_3_a_tenant_entry_that_fits_wins_over_a_global_one_that_fits_better() {
    let own = described("stock", "count machines", &along([0.9, 0.3, 0.0, 0.0]));
    let far = described("weather", "rain in Paris", &along([-1.0, 0.0, 0.1, 0.0]));
    let found = machine_hits(own, vec![exact_entry("machines"), far]);
    assert_eq!(found[0].id, "machines");
    let (kind, candidates) = decided(found);
    assert_eq!(kind, VerdictKind::Narrow);
    assert_eq!(candidates[0], ("stock".to_owned(), Scope::Tenant));
}

#[test]
fn b000_3_of_equal_entries_the_tenants_comes_first() {
    let (kind, candidates) = decided(machine_hits(exact_entry("b"), vec![exact_entry("a")]));
    assert_eq!(kind, VerdictKind::Narrow);
    let expected = [("b", Scope::Tenant), ("a", Scope::Global)];
    assert_eq!(
        candidates,
        expected.map(|(id, scope)| (id.to_owned(), scope))
    );
}

/// B000-1: also if the global entry fits better.
#[test]
fn b000_1_a_tenant_entry_shadows_the_global_one_of_the_same_id() {
    let own = described("machines", "count machines", &along([0.9, 0.3, 0.0, 0.0]));
    let (_, candidates) = decided(machine_hits(own, vec![exact_entry("machines")]));
    assert_eq!(candidates, [("machines".to_owned(), Scope::Tenant)]);
}

#[test]
fn b000_2_no_candidates_asked_for_is_refused() {
    let layers = Layers::new(vec![layer(Scope::Global, vec![entry("a", "x", 1)])]);
    let found = search(
        &layers,
        &query("x", 1),
        Allowed::Everything,
        &RouteSettings::default(),
        0,
    );
    assert_eq!(found, Err(QueryError::NoCandidates));
}

#[test]
fn a_query_of_another_model_is_refused() {
    let layers = Layers::new(vec![layer(Scope::Global, vec![entry("a", "x", 1)])]);
    let other = EmbeddingModel {
        name: "other".to_owned(),
        ..model()
    };
    let asked = RouteQuery::parse("x")
        .unwrap()
        .embedded(&other, &[vector(1)])
        .unwrap();
    let found = search(
        &layers,
        &asked,
        Allowed::Everything,
        &RouteSettings::default(),
        1,
    );
    assert_eq!(
        found,
        Err(QueryError::Model {
            query: "other/f32".to_owned(),
            index: "test/f32".to_owned(),
        })
    );
}

#[test]
fn words_alone_find_only_entries_with_a_common_word() {
    let all = vec![
        entry("mailInvoice", "", 1),
        entry("dropBucket", "", 2),
        entry("invoices", "mail", 3),
    ];
    let layers = Layers::new(vec![layer(Scope::Global, all)]);
    let asked = RouteQuery::parse("mail the invoice")
        .unwrap()
        .lexical_only();
    let found = hits(&layers, &asked, Allowed::Everything);
    let places: Vec<(&str, Option<f32>)> = found
        .iter()
        .map(|hit| (hit.id.as_str(), hit.cosine))
        .collect();
    // Words in the query's order beat the same words in another order.
    assert_eq!(places, [("mailInvoice", None), ("invoices", None)]);
    let nothing = RouteQuery::parse("the of").unwrap().lexical_only();
    assert_eq!(hits(&layers, &nothing, Allowed::Everything), []);
}

#[test]
fn an_entry_without_vectors_is_found_by_its_words() {
    let mut unembedded = entry("fileInvoice", "", 1);
    unembedded.vectors.clear();
    let layers = Layers::new(vec![layer(
        Scope::Global,
        vec![unembedded, entry("other", "", 2)],
    )]);
    let found = hits(&layers, &query("file invoice", 9), Allowed::Everything);
    let one = found.iter().find(|hit| hit.id == "fileInvoice").unwrap();
    assert_eq!(one.cosine, Some(0.0));
    assert!(one.lexical > 0.0);
}

/// An entry with two different examples is as near to a query as its nearest example, and no nearer than an entry with
/// only that example.
#[test]
fn an_entry_is_compared_with_its_nearest_example_too() {
    let axis = |at: usize| {
        let mut components = vec![0.0; DIMS];
        components[at] = 1.0;
        Vector::new(components).unwrap()
    };
    let exemplified = |id: &str, examples: &[usize]| {
        let mut made = entry(id, "", 1);
        made.text.examples = examples.iter().map(|at| format!("example {at}")).collect();
        made.vectors = examples
            .iter()
            .map(|at| (VectorRole::Example, axis(*at)))
            .collect();
        made
    };
    let all = vec![
        exemplified("both", &[0, 1]),
        exemplified("one", &[0]),
        exemplified("other", &[2]),
    ];
    let layers = Layers::new(vec![layer(Scope::Global, all)]);
    let asked = RouteQuery::parse("zebra").unwrap();
    let asked = asked.embedded(&model(), &[axis(0)]).unwrap();
    let found = hits(&layers, &asked, Allowed::Everything);
    let cosine = |id: &str| {
        found
            .iter()
            .find(|hit| hit.id == id)
            .and_then(|hit| hit.cosine)
            .unwrap()
    };
    let centroid = 0.5_f32.sqrt();
    let share = RouteSettings::default().fusion.example_share;
    let expected = (1.0 - share) * centroid + share;
    assert!(
        (cosine("both") - expected).abs() < 1e-3,
        "{}",
        cosine("both")
    );
    assert!((cosine("one") - 1.0).abs() < 1e-3, "{}", cosine("one"));
    assert!(cosine("other").abs() < 1e-3, "{}", cosine("other"));
}

/// B000-1: an entry that the tenant has withdrawn is visible in no layer.
#[test]
fn b000_1_a_withdrawn_entry_hides_the_same_id_below() {
    let layers = Layers::new(vec![
        layer(Scope::Tenant, vec![entry("own", "tape", 1)]),
        layer(
            Scope::Global,
            vec![entry("a", "tape", 2), entry("b", "tape", 3)],
        ),
    ]);
    let ids = |layers: &Layers| {
        let mut ids: Vec<String> = hits(layers, &query("tape", 1), Allowed::Everything)
            .into_iter()
            .map(|hit| hit.id)
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&layers), ["a", "b", "own"]);
    assert_eq!(ids(&layers.hiding(["a", "nowhere"])), ["b", "own"]);
}

proptest! {
    /// Holds for any number of values.
    #[test]
    fn a_range_of_all_at_once_is_that_of_one_after_the_other(
        values in prop::collection::vec(-9_i8..9, 0..70),
    ) {
        let values: Vec<f32> = values.into_iter().map(f32::from).collect();
        let (all, each) = (Range::of_all(&values), Range::from_values(values.iter().copied()));
        prop_assert_eq!((all.least, all.most, all.width), (each.least, each.most, each.width));
    }
}

/// Two entries far from the query's vector, and one that is near.
fn named_layers() -> Layers {
    let far = ["ops.restart_host", "ops.list_hosts"].map(|id| entry(id, "bucket mail", 3));
    let near = entry("sales.report", "count the hosts", 9);
    Layers::new(vec![layer(
        Scope::Global,
        far.into_iter().chain([near]).collect(),
    )])
}

#[test]
fn a_named_entry_ranks_first_in_any_case_and_separators() {
    let layers = named_layers();
    let first = |text: &str| {
        let found = hits(&layers, &query(text, 9), Allowed::Everything);
        let best = &found[0];
        (best.id.clone(), best.name_match)
    };
    let restart = "ops.restart_host".to_owned();
    for text in [
        "ops.restart_host",
        "OPS_RESTART-HOST",
        "what does ops.restart_host do?",
    ] {
        assert_eq!(
            first(text),
            (restart.clone(), Some(NameMatch::Exact)),
            "{text}"
        );
    }
    for text in ["ops.restrat_host", "run ops.restart_hosts now"] {
        assert_eq!(
            first(text),
            (restart.clone(), Some(NameMatch::Fuzzy)),
            "{text}"
        );
    }
    // The separate words of a name are not a name, and a name has at most one error.
    for text in ["restart the ops host", "ops.restrat_hosts"] {
        assert_eq!(first(text).1, None, "{text}");
    }
    let found = hits(&layers, &query("ops.restart_host", 9), Allowed::Everything);
    assert_eq!(found[0].score, NAMED_SCORE);
    assert!(found[0].fused - found[1].fused >= NAMED_LEAD);
    let hidden = Allowed::Where(&|_, id| id != "ops.restart_host");
    let found = hits(&layers, &query("ops.restart_host", 9), hidden);
    assert!(found.iter().all(|hit| hit.name_match.is_none()));
}

/// English also joins words by hyphens: only a long word with several hyphens matches a name with other separators.
#[test]
fn a_word_with_hyphens_names_what_is_written_with_them_and_a_long_one_any_name() {
    let ids = ["run_t_test", "to.do", "code-review", "ops.find_full_disks"];
    let all = ids.map(|id| entry(id, "mail", 3));
    let layers = Layers::new(vec![layer(Scope::Global, all.into_iter().collect())]);
    let named = |text: &str| {
        let found = hits(&layers, &query(text, 9), Allowed::Everything);
        let named = found.into_iter().find(|hit| hit.name_match.is_some());
        named.map(|hit| hit.id)
    };
    for text in ["plan a to-do for me", "now run-t-test it"] {
        assert_eq!(named(text), None, "{text}");
    }
    for text in ["do a code-review now", "do a Code-Reviw now", "code review"] {
        assert_eq!(named(text).as_deref(), Some("code-review"), "{text}");
    }
    assert_eq!(named("to-do").as_deref(), Some("to.do"));
    for text in ["please run ops-find-full-disks today", "Ops-Find-Full-Disk"] {
        assert_eq!(
            named(text).as_deref(),
            Some("ops.find_full_disks"),
            "{text}"
        );
    }
}

/// Each part of a request has its best entries right after the best of all.
#[test]
fn of_several_things_that_are_asked_for_each_has_its_best_near_the_front() {
    let (hosts, disks) = (vector(9), vector(4));
    let others = (10..30).map(|at| entry(&format!("other.e{at}"), "mail", at));
    let mut all: Vec<RouteEntry> = others.collect();
    all.push(entry("count.hosts", "hosts", 9));
    all.push(entry("list.disks", "disks", 4));
    let layers = Layers::new(vec![layer(Scope::Global, all)]);
    let text = "count running hosts, and then list full disks";
    let parsed = RouteQuery::parse(text).unwrap().in_clauses();
    let texts: Vec<&str> = parsed.texts().collect();
    assert_eq!(texts, [text, "count running hosts", "list full disks"]);
    let asked = parsed
        .clone()
        .embedded(&model(), &[hosts.clone(), hosts, disks])
        .unwrap();
    let found = find(
        &layers,
        &asked,
        Allowed::Everything,
        &RouteSettings::default(),
        5,
    )
    .unwrap();
    let ids: Vec<&str> = found.candidates.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids[..2], ["count.hosts", "list.disks"], "{ids:?}");
    let clauses: Vec<(&str, &str)> = found
        .clauses
        .iter()
        .map(|clause| (clause.text.as_str(), clause.candidates[0].id.as_str()))
        .collect();
    assert_eq!(
        clauses,
        [
            ("count running hosts", "count.hosts"),
            ("list full disks", "list.disks")
        ]
    );
}
