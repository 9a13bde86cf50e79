//! Plans that are rejected before the run, with the location of each problem.

use super::*;

fn refused(steps: Value) -> Vec<(String, String, String)> {
    refused_with(steps, json!({}), &[])
}

fn refused_with(
    steps: Value,
    more: Value,
    fallbacks: &[ExecutionPlan],
) -> Vec<(String, String, String)> {
    owned_pointers(&compiled(&plan(PLAN, steps, more), fallbacks).unwrap_err())
}

fn owned_pointers(report: &Report) -> Vec<(String, String, String)> {
    let found = pointers(report).into_iter();
    found
        .map(|(p, k, m)| (p.to_owned(), k.to_owned(), m.to_owned()))
        .collect()
}

fn one(pointer: &str, keyword: &str, message: &str) -> Vec<(String, String, String)> {
    vec![(pointer.to_owned(), keyword.to_owned(), message.to_owned())]
}

/// B003-5: only known tools. An internal or inactive tool, or a stage of missions, is reported as missing (B000-10).
#[test]
fn b003_5_a_tool_that_is_not_there_is_refused() {
    for tool in ["x.gone", "x.own", "x.off", "charter.mission.webhook"] {
        let message = format!("there is no tool `{tool}`");
        assert_eq!(
            refused(json!([reads(1, json!({"tool": tool}))])),
            one("/execution_plan/steps/0/tool", "tool", &message)
        );
    }
    assert_eq!(
        refused(json!([reads(1, json!({"tool": "tool-x-own"}))])),
        one(
            "/execution_plan/steps/0/tool",
            "tool",
            "there is no tool `tool-x-own`"
        )
    );
    assert_eq!(
        refused(json!([reads(1, json!({"tool": "tool-y-a-b"}))])),
        one(
            "/execution_plan/steps/0/tool",
            "tool",
            "`tool-y-a-b` is the name of several tools: y.a-b, y.a.b"
        )
    );
}

/// B003-5: parameters that cannot be valid are rejected before the first step.
#[test]
fn b003_5_parameters_are_checked_before_the_first_step() {
    let with = |tool: &str, parameters: Value| {
        refused(json!([reads(
            1,
            json!({"tool": tool, "parameters": parameters})
        )]))
    };
    let here = "/execution_plan/steps/0/parameters";
    assert_eq!(
        with("x.read", json!({"m": 1})),
        one(
            &format!("{here}/m"),
            "parameter",
            "the tool `x.read` has no parameter `m`"
        )
    );
    assert_eq!(
        with("x.read", json!({"n": "1"})),
        one(
            &format!("{here}/n"),
            "type",
            "`n` must be of the type integer"
        )
    );
    assert_eq!(
        with("x.read", json!({"n": 4})),
        one(&format!("{here}/n"), "enum", "`n` must be one of [1,2,3]")
    );
    assert_eq!(
        with("x.needs", json!({})),
        one(
            here,
            "required",
            "the tool `x.needs` needs the parameter `n`"
        )
    );
    let mut deep = json!(1);
    for _ in 0..40 {
        deep = json!([deep]);
    }
    let found = with("x.read", json!({"n": deep}));
    assert!(
        found.iter().any(|(_, keyword, _)| keyword == "depth"),
        "{found:?}"
    );
}

/// If every step depends on all earlier ones, the number of edges grows with the square of the number of steps.
#[test]
fn a_plan_of_too_many_claims_is_refused() {
    let before = |number: usize| (0..number).map(|at| format!("step-{at:03}"));
    let named = |number: usize| {
        let before: Vec<String> = before(number).collect();
        json!({"id": format!("step-{number:03}"), "tool": "x.read", "parameters": {}, "dependencies": before})
    };
    let referred = |number: usize| {
        let text: String = before(number)
            .map(|step| format!("${{{step}.of}}"))
            .collect();
        json!({"id": format!("step-{number:03}"), "tool": "x.read", "parameters": {"of": text}})
    };
    let message = "the plan has more than 10000 dependencies between its steps (PLAN_EDGES): split it into two plans";
    for step in [&named as &dyn Fn(usize) -> Value, &referred] {
        let steps = |count: usize| Value::Array((0..count).map(step).collect());
        // 0 + 1 + … + 140 dependencies.
        assert!(compiled(&plan(PLAN, steps(141), json!({})), &[]).is_ok());
        assert_eq!(
            refused(steps(200)),
            one("/execution_plan/steps/141", "maxItems", message)
        );
    }
}

#[test]
fn steps_of_fallbacks_count_as_steps_of_the_plan() {
    let pipeline = |number: u8, stages: usize| -> PipelineDefinition {
        let stages: Vec<Value> = (0..stages)
            .map(|at| json!({"id": format!("s{at}"), "tool": "tool-x-read", "parameters": {}}))
            .collect();
        let id = |number: u8| format!("pipe-01930000-0000-7000-8000-00000000000{number}");
        document(&json!({
            "id": id(number), "name": "p", "stages": stages,
            "error_handling": {"on_step_failure": "execute_fallback",
                "fallback_pipeline_id": id(number + 1)},
        }))
    };
    let last = PipelineDefinition {
        error_handling: None,
        ..pipeline(3, 1)
    };
    let view = view();
    let tools = CallableTools::new(&view);
    let first = pipeline(1, 1_000);
    let compiled = from_pipeline(&first, &[pipeline(2, 999), last.clone()], &tools);
    assert!(compiled.is_ok());
    let report = from_pipeline(&first, &[pipeline(2, 1_000), last], &tools).unwrap_err();
    assert_eq!(
        pointers(&report),
        [(
            "/fallbacks/1/stages",
            "maxItems",
            "the plan has more than 2000 steps (PLAN_STEPS): split it into two plans"
        )]
    );
}

/// A parameter with the value `null` is known and absent: an argument that refers to it counts as missing.
#[test]
fn an_argument_of_an_absent_parameter_counts_as_not_given() {
    let given = |tool: &str, name: &str, text: &str| {
        json!([reads(
            1,
            json!({"tool": tool, "parameters": {(name): text}})
        )])
    };
    assert_eq!(
        refused(given("x.needs", "n", "${user.declined}")),
        one(
            "/execution_plan/steps/0/parameters",
            "required",
            "the tool `x.needs` needs the parameter `n`"
        )
    );
    for text in ["${user.declined}", "about ${user.declined}"] {
        let steps = given("x.read", "of", text);
        let ended = run_plan(steps, json!({}), |_| Ok(json!({})));
        assert_eq!(
            ended.states(),
            owned(&[("step-001", "succeeded")]),
            "{text}"
        );
    }
}

/// B003-5: references to missing steps, and to values that cannot exist.
#[test]
fn b003_5_unknown_references_are_refused() {
    let refers = |text: &str| refused(json!([reads(1, json!({"parameters": {"of": text}}))]));
    let here = "/execution_plan/steps/0/parameters/of";
    assert_eq!(
        refers("${step-009.x}"),
        one(here, "reference", "there is no step `step-009`")
    );
    assert_eq!(
        refers("${user.unwanted}"),
        one(here, "reference", "there is no parameter `unwanted`")
    );
    assert_eq!(
        refers("${open"),
        one(
            here,
            "reference",
            "`${` is not closed: write `$${` for these two characters"
        )
    );
    let condition = json!({"type": "step_failure", "step_id": "step-001"});
    let steps = json!([
        reads(1, json!({})),
        reads(
            2,
            json!({"parameters": {"of": "${step-001.of}"}, "condition": condition})
        ),
    ]);
    assert_eq!(
        refused(steps),
        one(
            "/execution_plan/steps/1/parameters/of",
            "reference",
            "`step-001` has no output when it fails"
        )
    );
}

/// B003-5: cycles through references, conditions and expressions as well as dependencies.
#[test]
fn b003_5_cycles_of_any_kind_are_refused() {
    let other = |second: Value| {
        refused(json!([
            reads(1, json!({"parameters": {"of": "${step-002.of}"}})),
            second
        ]))
    };
    let condition = |kind: &str, key: &str, value: &str| {
        let mut condition = json!({"type": kind});
        condition[key] = json!(value);
        reads(2, json!({"condition": condition}))
    };
    let message = "the steps form a cycle: step-001 → step-002 → step-001";
    let wanted = one("/execution_plan/steps", "cycle", message);
    assert_eq!(
        other(reads(2, json!({"dependencies": ["step-001"]}))),
        wanted
    );
    assert_eq!(
        other(condition("step_failure", "step_id", "step-001")),
        wanted
    );
    let expression = r#"has(steps["step-001"].output)"#;
    assert_eq!(
        other(condition("expression", "expression", expression)),
        wanted
    );
}

/// B003-9: expressions are compiled, and their names are resolved, before the first step. Each fault is reported once.
#[test]
fn b003_9_expressions_are_checked_before_the_first_step() {
    let with = |expression: &str| {
        let condition = json!({"type": "expression", "expression": expression});
        let found = refused(json!([reads(1, json!({"condition": condition}))]));
        let [(pointer, keyword, _)] = &found[..] else {
            panic!("{expression}: one fault, not {found:#?}");
        };
        assert_eq!(pointer, "/execution_plan/steps/0/condition/expression");
        keyword.clone()
    };
    assert_eq!(with("1 +"), "expression");
    assert_eq!(with("tool.id == 1"), "expression");
    assert_eq!(with("size(steps) == 1"), "expression");
    assert_eq!(with("now() == 1"), "expression");
    assert_eq!(with("'a'.lowr() == 'a'"), "expression");
    assert_eq!(with("parameters.unwanted == 1"), "reference");
    assert_eq!(with(r#"steps["step-009"].state == "failed""#), "reference");
    assert_eq!(with(r#"steps["not an id"].state == "failed""#), "reference");
}

/// B003-9: the conditions of fallbacks and of pipeline stages are compiled before the first step.
#[test]
fn b003_9_an_unknown_function_is_refused_in_fallbacks_and_stages() {
    let condition = json!({"type": "expression", "expression": "'A'.lower() == 'a'"});
    let other = |field: &str, id: &str| {
        let mut handling = json!({"on_step_failure": "execute_fallback"});
        handling[field] = json!(id);
        json!({ "error_handling": handling })
    };
    let refusal = |pointer: &str| {
        let message = "there is no function `lower`; did you mean `lowerAscii`?";
        one(pointer, "expression", message)
    };

    let steps = json!([reads(1, json!({ "condition": condition }))]);
    let fallback = plan(OTHER_PLAN, steps, json!({}));
    let more = other("fallback_plan_id", OTHER_PLAN);
    let found = refused_with(json!([reads(1, json!({}))]), more, &[fallback]);
    let pointer = "/fallbacks/0/steps/0/condition/expression";
    assert_eq!(found, refusal(pointer));

    let id = |number: u8| format!("pipe-01930000-0000-7000-8000-00000000000{number}");
    let pipeline = |number: u8, mut stage: Value, more: Value| -> PipelineDefinition {
        stage["id"] = json!("s");
        stage["tool"] = json!("tool-x-read");
        let mut value = json!({"id": id(number), "name": "p", "stages": [stage]});
        let fields = more.as_object().unwrap().clone();
        value.as_object_mut().unwrap().extend(fields);
        document(&value)
    };
    let view = view();
    let tools = CallableTools::new(&view);
    let stage_refused = |pipeline: &PipelineDefinition, fallbacks: &[PipelineDefinition]| {
        owned_pointers(&from_pipeline(pipeline, fallbacks, &tools).unwrap_err())
    };
    let wrong = |number: u8| pipeline(number, json!({ "condition": condition }), json!({}));
    assert_eq!(
        stage_refused(&wrong(1), &[]),
        refusal("/pipeline/stages/0/condition/expression")
    );
    let leading = pipeline(1, json!({}), other("fallback_pipeline_id", &id(2)));
    assert_eq!(
        stage_refused(&leading, &[wrong(2)]),
        refusal("/fallbacks/0/stages/0/condition/expression")
    );
}

/// B003-7: a write is retried only if its tool declares repeats harmless.
#[test]
fn b003_7_retries_are_bounded_and_not_for_any_write() {
    let retry = |tool: &str, count: u64| {
        let steps = json!([reads(
            1,
            json!({"tool": tool, "retry": {"max_attempts": count}})
        )]);
        compiled(&plan(PLAN, steps, json!({})), &[])
    };
    assert!(retry("x.put", 2).is_ok());
    let report = retry("x.write", 2).unwrap_err();
    assert_eq!(
        pointers(&report),
        [(
            "/execution_plan/steps/0/retry",
            "retry",
            "`x.write` writes and is not declared idempotent, so it cannot be retried"
        )]
    );
    let report = retry("x.read", 101).unwrap_err();
    assert_eq!(
        pointers(&report),
        [(
            "/execution_plan/steps/0/retry/max_attempts",
            "maximum",
            "at most 100 retries"
        )]
    );
}

/// B003-8: a missing fallback, a cycle of fallbacks, a duplicate, one without a use, and too many.
#[test]
fn b003_8_fallbacks_that_lead_nowhere_are_refused() {
    let to = |id: &str| json!({"error_handling": {"on_step_failure": "execute_fallback", "fallback_plan_id": id}});
    let steps = || json!([reads(1, json!({}))]);
    let field = "error_handling/fallback_plan_id";
    assert_eq!(
        refused_with(steps(), to(OTHER_PLAN), &[]),
        one(
            &format!("/execution_plan/{field}"),
            "dependency",
            &format!("`{OTHER_PLAN}` is not one of the request's fallbacks")
        )
    );
    let back = plan(OTHER_PLAN, steps(), to(PLAN));
    assert_eq!(
        refused_with(steps(), to(OTHER_PLAN), &[back]),
        one(
            &format!("/fallbacks/0/{field}"),
            "cycle",
            &format!("`{PLAN}` falls back to itself")
        )
    );
    let other = || plan(OTHER_PLAN, steps(), json!({}));
    assert_eq!(
        refused_with(steps(), json!({}), &[other()]),
        one(
            "/fallbacks/0",
            "unused",
            &format!("the fallback `{OTHER_PLAN}` is not used")
        )
    );
    assert_eq!(
        refused_with(steps(), to(OTHER_PLAN), &[other(), other()]),
        one(
            "/fallbacks/1/id",
            "unique",
            &format!("`{OTHER_PLAN}` is duplicated")
        )
    );
    let many: Vec<ExecutionPlan> = (0..9).map(|_| other()).collect();
    let found = refused_with(steps(), to(OTHER_PLAN), &many);
    assert!(
        found.iter().any(|(_, keyword, _)| keyword == "maxItems"),
        "{found:?}"
    );
    let wrong = plan(
        OTHER_PLAN,
        json!([reads(1, json!({"tool": "x.gone"}))]),
        json!({}),
    );
    assert_eq!(
        refused_with(steps(), to(OTHER_PLAN), &[wrong]),
        one(
            "/fallbacks/0/steps/0/tool",
            "tool",
            "there is no tool `x.gone`"
        )
    );
}

/// A fallback pipeline runs with the same values, so shared inputs must have the same type.
#[test]
fn b003_8_fallback_pipelines_share_their_inputs() {
    let pipeline = |number: u8, kind: &str, more: Value| -> PipelineDefinition {
        let mut value = json!({
            "id": format!("pipe-01930000-0000-7000-8000-00000000000{number}"), "name": "p",
            "inputs": [{"name": "a", "type": kind}],
            "stages": [{"id": "s", "tool": "tool-x-read", "parameters": {"of": "${user.a}"}}],
        });
        let fields = more.as_object().unwrap().clone();
        value.as_object_mut().unwrap().extend(fields);
        document(&value)
    };
    let first = pipeline(
        1,
        "string",
        json!({"error_handling": {"on_step_failure": "execute_fallback",
            "fallback_pipeline_id": "pipe-01930000-0000-7000-8000-000000000002"}}),
    );
    let view = view();
    let tools = CallableTools::new(&view);
    let own = json!({"inputs": [{"name": "b", "type": "string", "required": true}],
        "stages": [{"id": "s", "tool": "tool-x-read", "parameters": {"of": "${user.b}${user.a}"}}]});
    let (graph, inputs) = from_pipeline(&first, &[pipeline(2, "string", own)], &tools).unwrap();
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_ref()).collect();
    assert_eq!((names, graph.fallback().is_some()), (vec!["a", "b"], true));
    let report = from_pipeline(&first, &[pipeline(2, "integer", json!({}))], &tools).unwrap_err();
    assert_eq!(
        pointers(&report),
        [(
            "/fallbacks/0/inputs/0/type",
            "type",
            "`a` already has the type string"
        )]
    );
}
