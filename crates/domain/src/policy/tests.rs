//! Tests of the policies' decisions, and of rejections at registration. The results of single rules are tested in
//! `explained`, limits in `bounds`.

mod ahead;
mod bounds;
mod explained;
mod records;

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::bounds::CEDAR_BYTES;
use charter_contract::catalogue::Document;
use charter_contract::catalogue::policy::{MissionFacts, Policy, RunKind};
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{Label, PackageName, TenantId, ToolId, UserId};
use charter_contract::mission::envelope::RiskLevel;
use charter_contract::scope::Scope;
use serde_json::{Map, Value, json};

use super::*;
use crate::catalogue::Origin;

fn tool(id: &str, class: &str, parameters: &Value) -> Tool {
    serde_json::from_value(json!({
        "tool_id": id, "name": "t", "provider": "aws", "service": "ec2", "tool_class": class,
        "domain": "security", "description": "d", "language": "python", "parameters": parameters,
    }))
    .unwrap()
}

fn lock() -> Tool {
    tool(
        "aws.lock",
        "write",
        &json!([
            {"name": "region", "type": "string", "required": true},
            {"name": "rules", "type": "array", "required": true},
            {"name": "limit", "type": "number"},
            {"name": "ports", "type": "integer", "default": 0},
            {"name": "filters", "type": "object"},
        ]),
    )
}

fn policy(id: &str, governs: &str, cedar: &str) -> Policy {
    serde_json::from_value(json!({
        "policy_id": id, "title": "t", "governs": [governs], "cedar": cedar,
    }))
    .unwrap()
}

fn origin(scope: Scope) -> Arc<Origin> {
    Arc::new(Origin {
        scope,
        package: PackageName::parse("p").unwrap(),
        version: "1".to_owned(),
    })
}

fn view(tools: &[Tool], global: &[Policy], own: &[Policy]) -> View {
    let documents = tools.iter().cloned().map(Document::Tool);
    let documents = documents.chain(global.iter().cloned().map(Document::Policy));
    let hashed = |document| (document, String::new());
    let acme = Scope::Tenant(TenantId::parse("acme").unwrap());
    View::default()
        .with_package(&origin(Scope::Global), documents.map(hashed))
        .with_package(
            &origin(acme),
            own.iter().cloned().map(Document::Policy).map(hashed),
        )
}

/// A call of `aws.lock`; each test changes the fields that it is about.
struct Call {
    tool: Tool,
    role: Role,
    arguments: Value,
    dry_run: bool,
    run: RunFacts,
}

fn call() -> Call {
    Call {
        tool: lock(),
        role: Role::Operator,
        arguments: json!({"region": "eu-west-1", "rules": [{"cidr": "0.0.0.0/0", "port": 22}], "ports": 0}),
        dry_run: false,
        run: RunFacts {
            kind: RunKind::Playbook,
            subject: "security.remediate".to_owned(),
            mission: None,
            approvers: Vec::new(),
            approvals: 0,
            calls: BTreeMap::new(),
        },
    }
}

impl Call {
    fn decide(&self, view: &View) -> PolicyDecision {
        let (tenant, user) = (
            TenantId::parse("acme").unwrap(),
            UserId::parse("alice").unwrap(),
        );
        let arguments: &Map<String, Value> = self.arguments.as_object().unwrap();
        PolicySet::compile(view.clone()).decide(&PolicyQuestion {
            principal: Principal {
                tenant: &tenant,
                user: &user,
                role: self.role,
            },
            tool: &self.tool,
            arguments,
            dry_run: self.dry_run,
            run: &self.run,
        })
    }

    /// Returns the decision as text, with one global policy for `aws.*`.
    fn by(&self, cedar: &str) -> String {
        let policies = [policy("p.one", "aws.*", cedar)];
        self.decide(&view(&[lock()], &policies, &[])).to_string()
    }
}

const ALLOWED: &str = "allowed by `p.one#a`";
const UNPERMITTED: &str = "denied: no rule of `p.one` permits it";

fn permit(condition: &str) -> String {
    format!("@id(\"a\") permit (principal, action, resource) when {{ {condition} }};")
}

/// Returns the problems of one policy.
fn misfits_of(policy: &Policy, view: &View) -> impl Iterator<Item = Misfit> {
    let found = misfits(&[policy], view, &mut Checks::default());
    found.into_iter().flatten()
}

/// Returns every error of a policy for `aws.*` with `aws.lock` in view.
fn errors(cedar: &str) -> Vec<String> {
    let policy = policy("p.one", "aws.*", cedar);
    misfits_of(&policy, &view(&[lock()], &[], &[]))
        .filter_map(|misfit| match misfit {
            Misfit::Error(fault) => Some(fault.message),
            Misfit::Warning(_) => None,
        })
        .collect()
}

#[test]
fn a_tool_that_no_policy_governs_is_not_for_policies_to_decide() {
    let policies = [policy("p.one", "gcp.*", &permit("true"))];
    let decided = call().decide(&view(&[lock()], &policies, &[]));
    assert_eq!(decided, PolicyDecision::Ungoverned);
    let inactive = Policy {
        status: charter_contract::catalogue::vocabulary::Status::Inactive,
        ..policy("p.one", "aws.*", &permit("false"))
    };
    let decided = call().decide(&view(&[lock()], &[inactive], &[]));
    assert_eq!(decided, PolicyDecision::Ungoverned);
}

#[test]
fn b002_5_a_governed_tool_is_denied_unless_a_rule_permits_it_and_forbid_wins() {
    assert_eq!(
        call().by(&permit("principal.role == Role::\"operator\"")),
        ALLOWED
    );
    assert_eq!(
        call().by(&permit("principal.role == Role::\"admin\"")),
        UNPERMITTED
    );
    let both = format!(
        "{} @id(\"b\") @message(\"not here\") forbid (principal, action, resource) \
         when {{ context.parameters.region == \"eu-west-1\" }};",
        permit("true")
    );
    assert_eq!(
        call().by(&both),
        "denied: forbidden by `p.one#b` (not here)"
    );
}

#[test]
fn a_role_is_in_the_roles_below_it() {
    let rule = "@id(\"a\") permit (principal in Role::\"operator\", action in Action::\"write\", resource);";
    let decided = |role| Call { role, ..call() }.by(rule);
    assert_eq!(decided(Role::User), UNPERMITTED);
    assert_eq!(decided(Role::Operator), ALLOWED);
    assert_eq!(decided(Role::Admin), ALLOWED);
}

/// The lack of permissions on arguments is a known complaint about other systems.
#[test]
fn conditions_reach_every_type_of_argument() {
    let mut asked = call();
    asked.arguments = json!({
        "region": "eu-west-1", "rules": [{"cidr": "0.0.0.0/0", "port": 22}, "x"], "ports": 7.0,
        "limit": 2.25, "filters": {"vpc-id": ["vpc-1"], "n": null},
    });
    let holds = [
        "context.parameters.region like \"eu-*\"",
        "context.parameters.rules.length == 2",
        "context.parameters.rules.texts.contains(\"0.0.0.0/0\")",
        "context.parameters.rules.integers.contains(22)",
        "context.parameters.ports == 7",
        "context.parameters has limit && context.parameters.limit.lessThan(decimal(\"2.2501\"))",
        "context.parameters has filters && context.parameters.filters.keys.contains(\"vpc-id\")",
        "context.parameters has filters && context.parameters.filters.texts == [\"vpc-1\"]",
        "resource == Tool::\"aws.lock\" && resource.class == ToolClass::\"write\"",
        "action == Action::\"aws.lock\"",
        "principal == Caller::\"acme/alice\" && principal.tenant == \"acme\"",
        "resource has service && resource.service == \"ec2\" && resource.domain == \"security\"",
        "!context.dry_run",
    ];
    for condition in holds {
        assert_eq!(asked.by(&permit(condition)), ALLOWED, "{condition}");
        assert_eq!(
            asked.by(&permit(&format!("!({condition})"))),
            UNPERMITTED,
            "{condition}"
        );
    }
}

#[test]
fn an_absent_argument_is_absent_and_null_is_absent_too() {
    let rule = permit("!(context.parameters has limit)");
    assert_eq!(call().by(&rule), ALLOWED);
    let mut asked = call();
    asked.arguments["limit"] = Value::Null;
    assert_eq!(asked.by(&rule), ALLOWED);
    asked.arguments["limit"] = json!(1);
    assert_eq!(asked.by(&rule), UNPERMITTED);
}

#[test]
fn policy_looks_at_the_runs_history() {
    let rule = permit(
        "context.run.kind == RunKind::\"playbook\" && context.run.subject == \"security.remediate\" \
         && context.run.approved && !context.run.approvers.contains(principal.user) \
         && context.run.hasTag(\"aws.scan\") && context.run.getTag(\"aws.scan\") < 3 \
         && context.run.calls < 4 && context.run.approvals == 1",
    );
    let mut asked = call();
    assert_eq!(asked.by(&rule), UNPERMITTED);
    asked.run.approvers = vec![UserId::parse("bob").unwrap()];
    asked.run.approvals = 1;
    asked.run.calls = BTreeMap::from([(ToolId::parse("aws.scan").unwrap(), 2)]);
    assert_eq!(asked.by(&rule), ALLOWED);
    asked
        .run
        .calls
        .insert(ToolId::parse("aws.other").unwrap(), 2);
    assert_eq!(asked.by(&rule), UNPERMITTED);
    asked.run.calls.clear();
    asked
        .run
        .calls
        .insert(ToolId::parse("aws.scan").unwrap(), 3);
    assert_eq!(asked.by(&rule), UNPERMITTED);
}

/// B002-5: a rule may depend on a mission's risk and sensitivity, and must test whether the run is a mission.
#[test]
fn policy_looks_at_what_a_mission_says_of_itself() {
    let rule = permit(
        "context.run has mission && context.run.mission.risk_level == RiskLevel::\"low\" \
         && context.run.mission.sensitivity_class == \"public\"",
    );
    let mut asked = call();
    assert_eq!(asked.by(&rule), UNPERMITTED);
    let mission = |risk_level, class: &str| {
        let sensitivity_class = Label::parse(class).unwrap();
        Some(MissionFacts {
            risk_level,
            sensitivity_class,
        })
    };
    asked.run.mission = mission(RiskLevel::Low, "public");
    assert_eq!(asked.by(&rule), ALLOWED);
    asked.run.mission = mission(RiskLevel::High, "public");
    assert_eq!(asked.by(&rule), UNPERMITTED);
    asked.run.mission = mission(RiskLevel::Low, "personal");
    assert_eq!(asked.by(&rule), UNPERMITTED);
}

/// Ruling 5, for policies: a tenant adds to the global ones and never replaces them.
#[test]
fn ruling_5_a_tenant_narrows_what_the_global_policies_allow_and_never_widens_it() {
    let operators = policy("p.one", "aws.*", &permit("principal in Role::\"operator\""));
    let nobody = policy("p.one", "aws.*", &permit("principal in Role::\"admin\""));
    let all = policy("p.one", "*", &permit("true"));
    let decided = |global: &[Policy], own: &[Policy]| {
        call().decide(&view(&[lock()], global, own)).to_string()
    };
    let both = "allowed by `p.one#a`, `p.one#a`";
    assert_eq!(
        decided(std::slice::from_ref(&operators), std::slice::from_ref(&all)),
        both
    );
    assert_eq!(
        decided(std::slice::from_ref(&nobody), std::slice::from_ref(&all)),
        UNPERMITTED
    );
    assert_eq!(
        decided(std::slice::from_ref(&all), std::slice::from_ref(&nobody)),
        UNPERMITTED
    );
    assert_eq!(decided(&[], &[operators]), ALLOWED);
}

#[test]
fn a_rule_that_fails_denies_whatever_else_permits() {
    let rules = format!(
        "{} @id(\"b\") forbid (principal, action, resource) \
         when {{ context.parameters.ports * 9223372036854775807 > 1 }};",
        permit("true")
    );
    assert_eq!(errors(&rules), Vec::<String>::new());
    assert_eq!(call().by(&rules), ALLOWED);
    let mut asked = call();
    asked.arguments["ports"] = json!(2);
    let PolicyDecision::Deny(denial) =
        asked.decide(&view(&[lock()], &[policy("p.one", "aws.*", &rules)], &[]))
    else {
        panic!("it is allowed");
    };
    assert_eq!(denial.failures.len(), 1);
    assert_eq!(
        denial.failures[0].policy_id.as_ref().unwrap().as_str(),
        "p.one"
    );
    assert!(denial.failures[0].message.contains("overflow"), "{denial}");
}

#[test]
fn what_cedar_cannot_hold_denies() {
    let cases = [
        (
            "limit",
            json!(0.12345),
            "the argument `limit` cannot be passed to policies: a number has at most 15 digits and four decimal places",
        ),
        (
            "limit",
            json!(1e300),
            "the argument `limit` cannot be passed to policies: a number has at most 15 digits and four decimal places",
        ),
        (
            "ports",
            json!(u64::MAX),
            "the argument `ports` cannot be passed to policies: an integer has at most 63 bits",
        ),
        ("extra", json!(1), "the argument `extra` is not declared"),
    ];
    for (name, value, why) in cases {
        let mut asked = call();
        asked.arguments[name] = value;
        assert_eq!(asked.by(&permit("true")), format!("denied: {why}"));
    }
    let mut asked = call();
    asked.arguments.as_object_mut().unwrap().remove("region");
    assert!(asked.by(&permit("true")).starts_with("denied: "));
}

/// Policies that fail on a missing attribute are a known complaint about other systems.
#[test]
fn what_may_be_absent_or_does_not_exist_is_refused_when_registered() {
    let refused = [
        (
            "context.parameters.limit.lessThan(decimal(\"1.0\"))",
            "limit",
        ),
        ("context.parameters.regin == \"x\"", "regin"),
        ("context.run.getTag(\"aws.scan\") < 3", "tag"),
        ("resource.service == \"ec2\"", "service"),
        ("principal.role == Role::\"admn\"", "admn"),
        ("context.parameters.region == 3", "type"),
        ("context.nothing", "nothing"),
        ("action == Action::\"aws.unlock\"", "aws.unlock"),
        ("Group::\"x\" == principal", "Group"),
    ];
    for (condition, named) in refused {
        let found = errors(&permit(condition));
        assert!(!found.is_empty(), "{condition} is accepted");
        assert!(found[0].contains(named), "{condition}: {found:?}");
    }
}

#[test]
fn a_text_that_decides_nothing_is_refused() {
    let template = "@id(\"a\") permit (principal == ?principal, action, resource);";
    let cases = [
        (" ", "the Cedar text has no rule"),
        (
            "permit (principal, action, resource);",
            "rule 1 has no name",
        ),
        (
            template,
            "templates (`?principal`, `?resource`) are not supported",
        ),
        (
            "@id(\"a\") permit (principal, action == Action::\"write\", resource);",
            "the scope of the rule `a` matches no tool that this policy governs",
        ),
        (
            "@id(\"a\") permit (principal, action in Action::\"read\", resource);",
            "the scope of the rule `a` matches no tool that this policy governs",
        ),
    ];
    for (cedar, message) in cases {
        assert_eq!(errors(cedar), [message], "{cedar}");
    }
    let twice = format!("{} {}", permit("true"), permit("false"));
    assert_eq!(errors(&twice), ["the rule `a` is duplicated"]);
    let long = permit(&format!("\"{}\" == \"x\"", "y".repeat(CEDAR_BYTES)));
    assert!(
        errors(&long)[0].ends_with("the limit is 65536"),
        "a long text is accepted"
    );
    assert!(!errors(&permit(&"(".repeat(20_000))).is_empty());
}

#[test]
fn every_parse_error_has_its_place() {
    let cedar = "@id(\"a\")\npermit (principal, action, resource)\nwhen { context. };\n";
    let faults = rules::parse(&charter_contract::ids::PolicyId::parse("p").unwrap(), cedar);
    let faults = faults.unwrap_err();
    let span = faults[0].span.clone().unwrap();
    assert_eq!(&cedar[span.start..=span.start], "}", "{faults:?}");
}

#[test]
fn a_rule_is_checked_for_each_tool_that_its_scope_takes_in() {
    let scan = tool("aws.scan", "readonly", &json!([]));
    let tools = [lock(), scan];
    let found = |cedar: &str| {
        let policy = policy("p.one", "aws.*", cedar);
        let view = view(&tools, &[], &[]);
        misfits_of(&policy, &view)
            .map(|misfit| match misfit {
                Misfit::Error(fault) | Misfit::Warning(fault) => fault.message,
            })
            .collect::<Vec<_>>()
    };
    let writes = "@id(\"a\") permit (principal, action in Action::\"write\", resource) \
                  when { context.parameters.region == \"x\" };";
    assert_eq!(found(writes), Vec::<String>::new());
    let any = found(&permit("context.parameters.region == \"x\""));
    assert_eq!(any.len(), 1);
    assert!(any[0].starts_with("for the tool `aws.scan`: "), "{any:?}");
}

#[test]
fn a_run_is_judged_by_the_tool_that_it_pinned() {
    let policies = [policy(
        "p.one",
        "aws.*",
        &permit("context.parameters.rules.length > 0"),
    )];
    let changed = tool(
        "aws.lock",
        "write",
        &json!([{"name": "rules", "type": "string", "required": true}]),
    );
    assert_eq!(
        call()
            .decide(&view(std::slice::from_ref(&changed), &policies, &[]))
            .to_string(),
        ALLOWED
    );
    assert_eq!(
        call().decide(&view(&[], &policies, &[])).to_string(),
        ALLOWED
    );
    let now = Call {
        tool: changed.clone(),
        arguments: json!({"rules": "x"}),
        ..call()
    };
    let decided = now.decide(&view(&[changed], &policies, &[])).to_string();
    assert!(decided.starts_with("denied: `p.one` failed: "), "{decided}");
}

#[test]
fn a_tool_with_the_name_of_a_group_is_denied_where_it_is_governed() {
    let odd = tool("write", "write", &json!([]));
    let policies = [policy("p.one", "*", &permit("true"))];
    let asked = Call {
        tool: odd.clone(),
        arguments: json!({}),
        ..call()
    };
    assert_eq!(
        asked.decide(&view(&[odd], &policies, &[])).to_string(),
        "denied: the tool `write` cannot be governed: its id is reserved for a group of tools in policies"
    );
}

#[test]
fn a_decision_is_the_same_every_time_and_survives_the_journal() {
    let rules = format!(
        "{} @id(\"z\") permit (principal, action, resource); @id(\"b\") permit (principal, action, resource);",
        permit("true")
    );
    let policies = [
        policy("p.two", "aws.lock", &rules),
        policy("p.one", "aws.*", &rules),
    ];
    let view = view(&[lock()], &policies, &[]);
    let first = call().decide(&view);
    assert_eq!(
        first.to_string(),
        "allowed by `p.one#a`, `p.one#b`, `p.one#z`, `p.two#a`, `p.two#b`, `p.two#z`"
    );
    for _ in 0..10 {
        assert_eq!(call().decide(&view), first);
    }
    let written = serde_json::to_string(&first).unwrap();
    assert_eq!(
        serde_json::from_str::<PolicyDecision>(&written).unwrap(),
        first
    );
    let denied = call().decide(&self::view(
        &[lock()],
        &[policy("p.one", "*", &permit("false"))],
        &[],
    ));
    let written = serde_json::to_value(&denied).unwrap();
    let expected =
        json!({"decision": "deny", "unpermitted": [{"scope": "global", "governed_by": ["p.one"]}]});
    assert_eq!(written, expected);
}

#[test]
fn the_shipped_schema_names_what_the_contracts_name() {
    let (fragment, warnings) = cedar_policy::SchemaFragment::from_cedarschema_str(SCHEMA).unwrap();
    assert_eq!(warnings.count(), 0);
    let json = fragment.to_json_value().unwrap();
    let words = |name: &str| json[""]["entityTypes"][name]["enum"].clone();
    use charter_contract::catalogue::tool::ToolClass;
    use charter_contract::catalogue::vocabulary::PermissionLevel;
    let texts = |all: Vec<&str>| json!(all);
    assert_eq!(
        words("Role"),
        texts(Role::ALL.iter().map(|v| v.as_str()).collect())
    );
    assert_eq!(
        words("RunKind"),
        texts(RunKind::ALL.iter().map(|v| v.as_str()).collect())
    );
    assert_eq!(
        words("RiskLevel"),
        texts(RiskLevel::ALL.iter().map(|v| v.as_str()).collect())
    );
    assert_eq!(
        words("ToolClass"),
        texts(ToolClass::ALL.iter().map(|v| v.as_str()).collect())
    );
    assert_eq!(
        words("PermissionLevel"),
        texts(PermissionLevel::ALL.iter().map(|v| v.as_str()).collect())
    );
    let shown = actions_text([&lock()]).unwrap();
    assert!(
        shown.contains("action \"aws.lock\" in [Action::\"write\"]"),
        "{shown}"
    );
}
