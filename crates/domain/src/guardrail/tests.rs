#![allow(
    clippy::needless_pass_by_value,
    reason = "literal documents read better by value"
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::ids::TenantId;
use charter_contract::scope::Scope;
use serde_json::{Map, Value, json};

use super::*;
use crate::catalogue::WinningLayer;
use crate::catalogue::tests::layer_of;

fn guardrail(id: &str, scope: &str, glob: &str, more: Value) -> Document {
    let mut guardrail = json!({
        "guardrail_id": id, "scope": scope, "applies_to": [glob], "domain": "s", "rule": "r",
        "enforcement": "soft_warn", "message": id
    });
    let fields = more.as_object().unwrap().clone();
    guardrail.as_object_mut().unwrap().extend(fields);
    Document::Guardrail(serde_json::from_value(guardrail).unwrap())
}

fn resolve_all(tenant: Vec<Document>, global: Vec<Document>) -> Vec<ApplicableGuardrail> {
    let view = View {
        tenant: layer_of(Scope::Tenant(TenantId::parse("acme").unwrap()), tenant),
        global: layer_of(Scope::Global, global),
    };
    resolve(&view, subject(None))
}

fn subject(persona: Option<&str>) -> GuardrailSubject<'_> {
    GuardrailSubject {
        skill: Some("s.detect"),
        agent: Some("agent.a"),
        domain: Some("s"),
        persona,
    }
}

/// B000-12: all matches, in the order skill, agent, domain, global; a tenant adds guardrails.
#[test]
fn b000_12_every_match_stands_in_order() {
    let none = || json!({});
    let resolved = resolve_all(
        vec![
            guardrail("g.global", "global", "*", none()),
            guardrail("own.skill", "skill", "s.*", none()),
        ],
        vec![
            guardrail("g.global", "global", "*", none()),
            guardrail("g.domain", "domain", "s.*", none()),
            guardrail("g.agent", "agent", "agent.*", none()),
            guardrail("g.skill", "skill", "s.detect", none()),
            guardrail("g.other", "skill", "s.other", none()),
            guardrail("g.off", "global", "*", json!({"status": "inactive"})),
        ],
    );
    let found: Vec<(String, WinningLayer)> = resolved
        .iter()
        .map(|r| (r.found.document().guardrail_id.to_string(), r.found.won))
        .collect();
    let expected = [
        ("g.skill", WinningLayer::Global),
        ("own.skill", WinningLayer::Tenant),
        ("g.agent", WinningLayer::Global),
        ("g.domain", WinningLayer::Global),
        ("g.global", WinningLayer::Tenant),
        ("g.global", WinningLayer::Global),
    ];
    assert_eq!(found, expected.map(|(id, won)| (id.to_owned(), won)));
}

/// The result of one guardrail that applies to an effect.
#[derive(Debug, PartialEq)]
struct Ruling {
    guardrail_id: String,
    enforcement: Enforcement,
    note: Option<String>,
}

fn rulings(
    guardrails: &[ApplicableGuardrail],
    class: EffectClass,
    variables: &Map<String, Value>,
) -> Vec<Ruling> {
    let facts = Facts::from(variables);
    let mut budget = Budget::default();
    let words = strictest_first(guardrails).map(|resolved| {
        let word = word(resolved, class, &facts, &mut budget);
        (resolved.found.document(), word)
    });
    let bearing = words.filter_map(|(guardrail, word)| match word {
        GuardrailMatch::Bears { note } => Some(Ruling {
            guardrail_id: guardrail.guardrail_id.to_string(),
            enforcement: guardrail.enforcement,
            note,
        }),
        GuardrailMatch::Excepted(_)
        | GuardrailMatch::Elsewhere(_)
        | GuardrailMatch::OnWritesOnly => None,
    });
    bearing.collect()
}

fn ruled(guardrails: Vec<Document>, class: EffectClass, variables: Value) -> Vec<Ruling> {
    rulings(
        &resolve_all(vec![], guardrails),
        class,
        variables.as_object().unwrap(),
    )
}

fn ids(rulings: &[Ruling]) -> Vec<&str> {
    rulings
        .iter()
        .map(|ruling| ruling.guardrail_id.as_str())
        .collect()
}

/// B000-12: the strictest guardrail comes first; without `when` a guardrail applies only to writes.
#[test]
fn b000_12_the_strictest_guardrail_comes_first() {
    let of = |id, enforcement| guardrail(id, "global", "*", json!({ "enforcement": enforcement }));
    let all = || {
        vec![
            of("g.warn", "soft_warn"),
            of("g.ask", "require_approval"),
            of("g.block", "hard_block"),
        ]
    };
    assert_eq!(ruled(all(), EffectClass::Read, json!({})), []);
    let found = ruled(all(), EffectClass::Write, json!({}));
    assert_eq!(ids(&found), ["g.block", "g.ask", "g.warn"]);
}

/// B000-12: exceptions come first. An exception that fails grants nothing; a guardrail whose condition fails applies.
#[test]
fn b000_12_what_cannot_be_evaluated_opens_no_door() {
    let block = |more: Value| {
        let mut fields = json!({"enforcement": "hard_block"});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        vec![guardrail("g.block", "global", "*", fields)]
    };
    let excepted =
        || block(json!({"exceptions": [{"condition": "dry_run == true", "allow": true}]}));
    assert_eq!(
        ruled(excepted(), EffectClass::Write, json!({"dry_run": true})),
        []
    );
    for variables in [json!({"dry_run": false}), json!({})] {
        let found = ruled(excepted(), EffectClass::Write, variables);
        assert_eq!(ids(&found), ["g.block"]);
    }
    let when = || block(json!({"when": "parameters.port == 22"}));
    let other = json!({"parameters": {"port": 80}});
    assert_eq!(ruled(when(), EffectClass::Read, other), []);
    let found = ruled(when(), EffectClass::Read, json!({"parameters": {}}));
    assert!(found[0].note.as_ref().unwrap().contains("parameters.port"));
}

/// An expression that was registered before cost limits existed: the guardrail applies without evaluation.
#[test]
fn b000_12_a_stored_expression_that_goes_over_too_much_binds_with_a_note() {
    let nested = "[0,1,2,3,4,5,6,7,8,9].all(a,".repeat(10) + "true" + &")".repeat(10);
    let stored = |more: Value| {
        let mut fields = json!({"enforcement": "hard_block"});
        let fields_of = fields.as_object_mut().unwrap();
        fields_of.extend(more.as_object().unwrap().clone());
        vec![guardrail("g.bomb", "global", "*", fields)]
    };
    let cases = [
        stored(json!({"when": nested})),
        stored(json!({"exceptions": [{"condition": nested, "allow": true}]})),
    ];
    let started = std::time::Instant::now();
    for case in cases {
        let found = ruled(case, EffectClass::Write, json!({}));
        let notes: Vec<&str> = found.iter().filter_map(|r| r.note.as_deref()).collect();
        assert_eq!(notes.len(), 1, "{found:?}");
        assert!(notes[0].contains("reads too much data"), "{notes:?}");
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(2));
}

/// All guardrails of a call share one budget; those that it does not cover apply, with a note.
#[test]
fn b000_12_guardrails_that_are_too_much_together_bind() {
    let when = "!parameters.list.exists(i, i == 2)";
    let all: Vec<Document> = (0..40)
        .map(|n| guardrail(&format!("g{n:02}"), "global", "*", json!({"when": when})))
        .collect();
    let few = json!({"parameters": {"list": [2]}});
    assert_eq!(ruled(all.clone(), EffectClass::Read, few), []);
    let many = json!({"parameters": {"list": vec![2; 10_000]}});
    let found = ruled(all, EffectClass::Read, many);
    assert!((30..40).contains(&found.len()), "{} bear", found.len());
    let costly = |ruling: &Ruling| {
        let note = ruling.note.as_deref().unwrap_or_default();
        note.contains("reads too much data")
    };
    assert!(found.iter().all(costly), "{found:?}");
}

/// The index finds the same guardrails as a scan, for all globs.
#[test]
fn b000_12_a_look_up_finds_what_reading_every_guardrail_finds() {
    let globs = [
        "*",
        "s",
        "s.*",
        "s.detect",
        "s.detect.*",
        "*.detect",
        "s.*.x",
        "agent.*",
        "agent.a",
        "t",
        "t.*",
    ];
    let scopes = ["skill", "agent", "domain", "global"];
    let every = || {
        let pairs = scopes
            .iter()
            .flat_map(|scope| globs.iter().map(move |glob| (scope, glob)));
        pairs
            .enumerate()
            .map(|(at, (scope, glob))| guardrail(&format!("g{at:02}"), scope, glob, json!({})))
            .collect::<Vec<_>>()
    };
    let found: BTreeSet<String> = resolve_all(vec![], every())
        .iter()
        .map(|resolved| resolved.found.document().guardrail_id.to_string())
        .collect();
    let target = |scope| match scope {
        GuardrailScope::Skill | GuardrailScope::Global => "s.detect",
        GuardrailScope::Agent => "agent.a",
        GuardrailScope::Domain => "s",
    };
    let expected: BTreeSet<String> = every()
        .into_iter()
        .filter_map(|document| match document {
            Document::Guardrail(guardrail) => Some(guardrail),
            _ => None,
        })
        .filter(|guardrail| matching_glob(guardrail, target(guardrail.scope)).is_some())
        .map(|guardrail| guardrail.guardrail_id.to_string())
        .collect();
    assert_eq!(found, expected);
    assert!(expected.len() > scopes.len() && expected.len() < every().len());
}

#[test]
fn b000_12_a_guardrail_with_several_matching_globs_stands_once_and_an_inactive_one_never() {
    let wide = json!({"applies_to": ["x.*", "s.*", "*", "s.detect"]});
    let inactive = json!({"status": "inactive"});
    let resolved = resolve_all(
        vec![guardrail("idle", "skill", "s.*", inactive)],
        vec![guardrail("wide", "skill", "s.*", wide)],
    );
    let found: Vec<(&str, &str)> = resolved
        .iter()
        .map(|resolved| {
            (
                resolved.found.document().guardrail_id.as_ref(),
                resolved.matched.as_str(),
            )
        })
        .collect();
    assert_eq!(found, [("wide", "s.*")]);
}

/// B000-21: a guardrail for other personas does not apply; within a level, those that list the persona come first.
#[test]
fn b000_21_guardrails_bear_on_their_personas() {
    let of = |id: &str, scope: &str, personas: &[&str]| {
        guardrail(id, scope, "*", json!({"personas": personas}))
    };
    let view = View {
        tenant: Arc::default(),
        global: layer_of(
            Scope::Global,
            vec![
                of("a.all", "global", &[]),
                of("b.audit", "global", &["auditor", "counsel"]),
                of("c.board", "global", &["board"]),
                of("d.all", "skill", &[]),
            ],
        ),
    };
    for (persona, expected) in [
        (Some("auditor"), vec!["d.all", "b.audit", "a.all"]),
        (Some("board"), vec!["d.all", "c.board", "a.all"]),
        (Some("operator"), vec!["d.all", "a.all"]),
        // For every persona.
        (None, vec!["d.all", "a.all", "b.audit", "c.board"]),
    ] {
        let found: Vec<String> = resolve(&view, subject(persona))
            .iter()
            .map(|resolved| resolved.found.document().guardrail_id.to_string())
            .collect();
        assert_eq!(found, expected, "{persona:?}");
    }
}
