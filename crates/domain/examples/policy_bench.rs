//! Measures how long a policy decision takes: `cargo run --release -p charter-domain --example policy_bench`.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use charter_contract::catalogue::policy::{Policy, RunKind};
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{PackageName, TenantId, UserId};
use charter_contract::scope::Scope;
use charter_domain::catalogue::{Origin, View};
use charter_domain::policy::{PolicyQuestion, PolicySet, Principal, RunFacts};
use serde_json::json;

const TIMES: u32 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let tool: Tool = serde_json::from_value(json!({
        "tool_id": "aws.lock", "name": "lock", "provider": "aws", "service": "ec2",
        "tool_class": "write", "domain": "security", "description": "d", "language": "python",
        "parameters": [
            {"name": "region", "type": "string", "required": true},
            {"name": "rules", "type": "array", "required": true},
        ],
    }))?;
    let policy: Policy = serde_json::from_value(json!({
        "policy_id": "p", "title": "t", "governs": ["aws.*"],
        "cedar": "@id(\"a\") permit (principal in Role::\"operator\", action in Action::\"write\", resource) \
                  when { context.run.approved }; \
                  @id(\"b\") forbid (principal, action in Action::\"write\", resource) \
                  when { context.parameters.rules.length == 0 };",
    }))?;
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("p")?,
        version: String::new(),
    });
    let documents = [
        (tool.clone().into(), String::new()),
        (policy.into(), String::new()),
    ];
    let set = PolicySet::compile(View::default().with_package(&origin, documents));
    let arguments = json!({"region": "eu-west-1", "rules": [{"cidr": "0.0.0.0/0", "port": 22}]});
    let (tenant, user) = (TenantId::parse("acme")?, UserId::parse("alice")?);
    let run = RunFacts {
        kind: RunKind::Playbook,
        subject: "security.remediate".to_owned(),
        mission: None,
        approvers: vec![UserId::parse("bob")?],
        approvals: 1,
        calls: BTreeMap::new(),
    };
    let question = PolicyQuestion {
        principal: Principal {
            tenant: &tenant,
            user: &user,
            role: Role::Operator,
        },
        tool: &tool,
        arguments: arguments.as_object().ok_or("arguments are an object")?,
        dry_run: false,
        run: &run,
    };
    let start = Instant::now();
    println!("{}", set.decide(&question));
    println!("the first question, which compiles: {:?}", start.elapsed());
    let start = Instant::now();
    for _ in 0..TIMES {
        black_box(set.decide(black_box(&question)));
    }
    println!("each further one: {:?}", start.elapsed() / TIMES);
    Ok(())
}
