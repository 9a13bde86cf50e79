//! Cedar policies: registered, evaluated and explained. A policy that registration refuses is evaluated too, as if an
//! older version had stored it.

use std::collections::BTreeMap;
use std::str::from_utf8;
use std::sync::{Arc, LazyLock};

use charter_contract::catalogue::Document;
use charter_contract::catalogue::policy::{Policy, RunKind};
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{PackageName, TenantId, UserId};
use charter_contract::scope::Scope;
use charter_domain::catalogue::{Origin, View};
use charter_domain::policy::{PolicyQuestion, PolicySet, Principal, RunFacts};
use serde_json::{Map, Value, json};

use super::{Verdict, files};

pub(super) const WORDS: &[&str] = &[
    "@id(\"b\") ",
    "permit ",
    "forbid ",
    "(principal, action, resource)",
    " when { ",
    " unless { ",
    " };",
    "true",
    "context.parameters.rules",
    "context.run",
    ".contains(",
    ".containsAll(",
    " has ",
    ".hasTag(\"a\")",
    " like \"",
    "*",
    " in ",
    " && ",
    " || ",
    "!",
    "-",
    " + ",
    " == ",
    "if ",
    " then ",
    " else ",
    "[",
    "]",
    "{a: ",
    "}",
    "(",
    ")",
    "decimal(\"1.0\")",
    "Action::\"write\"",
    "Role::\"operator\"",
    "?principal",
    "//",
    "\"",
];

const MANIFEST: &str = "name: probe\nversion: 1.0.0\ntitle: Probe\n";

const POLICY: &str =
    "policy_id: p.one\ntitle: One\ngoverns: [\"aws.*\"]\nfile: policies/one.cedar\n";

/// The tool that the policies govern.
static TOOL: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "tool_id": "aws.lock", "name": "lock", "provider": "aws", "tool_class": "write", "domain": "security",
        "description": "Locks.", "language": "python", "implementation": {"type": "script", "path": "scripts/lock.py"},
        "parameters": [
            {"name": "region", "type": "string", "required": true},
            {"name": "rules", "type": "array", "required": true},
            {"name": "limit", "type": "number"},
            {"name": "ports", "type": "integer", "default": 0},
            {"name": "filters", "type": "object"},
        ],
    })
});

/// Registers a policy and evaluates it for a tool call.
pub(super) fn cedar(input: &[u8]) -> Verdict {
    let Ok(text) = from_utf8(input) else {
        return Verdict::Refused;
    };
    let files = [
        ("package.yaml", MANIFEST.to_owned()),
        ("policies/one.yaml", POLICY.to_owned()),
        ("policies/one.cedar", text.to_owned()),
        ("tools/lock.json", TOOL.to_string()),
        ("scripts/lock.py", "print('{}')\n".to_owned()),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text));
    let verdict = files::registered(BTreeMap::from(files));
    let policy = json!({"policy_id": "p.one", "title": "One", "governs": ["aws.*"], "cedar": text});
    if let Ok(policy) = serde_json::from_value::<Policy>(policy) {
        decide(policy);
    }
    verdict
}

fn decide(policy: Policy) {
    let tool: Tool = serde_json::from_value(TOOL.clone()).expect("a tool");
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("probe").expect("a name"),
        version: "1".to_owned(),
    });
    let documents = [Document::Tool(tool.clone()), Document::Policy(policy)];
    let documents = documents.map(|document| (document, String::new()));
    let policies = PolicySet::compile(View::default().with_package(&origin, documents));
    let (tenant, user) = (TenantId::parse("acme"), UserId::parse("ann"));
    let (tenant, user) = (tenant.expect("an id"), user.expect("an id"));
    let rules: Vec<Value> = (0..200)
        .map(|at| json!({"cidr": "0.0.0.0/0", "port": at}))
        .collect();
    let mut arguments = Map::new();
    arguments.insert("region".to_owned(), json!("eu-west-1"));
    arguments.insert("rules".to_owned(), Value::Array(rules));
    arguments.insert("ports".to_owned(), json!(0));
    let run = RunFacts {
        kind: RunKind::Playbook,
        subject: "security.remediate".to_owned(),
        mission: None,
        approvers: Vec::new(),
        approvals: 0,
        calls: BTreeMap::new(),
    };
    let question = PolicyQuestion {
        principal: Principal {
            tenant: &tenant,
            user: &user,
            role: Role::Operator,
        },
        tool: &tool,
        arguments: &arguments,
        dry_run: false,
        run: &run,
    };
    let (explained, _) = policies.explain(&question);
    assert_eq!(
        policies.decide(&question),
        explained,
        "the decision that was explained"
    );
}
