//! Documents in the form of seed 000 against the simulated account: tools without an implementation, which an
//! executor's handlers execute; a question over them; and the playbook, with its missing fields added, run to its end
//! and rolled back. Once over the API and once by commands.

use std::fs;

use serde_json::{Value, json};

use crate::executor::Executor;
use crate::home::{Api, Home, request};
use crate::packages::Package;
use crate::playbooks::{decide, path_of, settled};
use crate::quickstart::Simulator;
use crate::shared::Tenants;

const SKILL: &str = include_str!("../../../contract/tests/seeds/skill.json");
const TOOL: &str = include_str!("../../../contract/tests/seeds/tool.json");
const PLAYBOOK: &str = include_str!("../../../contract/tests/seeds/playbook.json");

const CHANGE: &str = "security.remediate_public_exposure";
const QUESTION: &str = "security.detect_public_ingress";

const REGION: &str = "us-east-1";
const PROFILE: &str = "prod_infra";

/// The profile file on the executor's machine.
const PROFILES: &str =
    "[profile prod_infra]\naws_access_key_id = simulated\naws_secret_access_key = simulated\n";

/// Closes the first group whose desktops are open to the internet.
const LOCK: &str = r"import boto3, json
session = boto3.Session(profile_name='${user.profile}', region_name='${user.region}')
ec2 = session.client('ec2')

def rules(group):
    found = ec2.describe_security_groups(GroupIds=[group])['SecurityGroups'][0]['IpPermissions']
    kept = ('IpProtocol', 'FromPort', 'ToPort', 'IpRanges')
    return [{name: rule[name] for name in kept if name in rule} for rule in found if rule['IpRanges']]

def is_open(group):
    return any(rule.get('FromPort') == 3389 and rule['IpRanges'] for rule in group['IpPermissions'])

groups = json.loads('${step_1.SecurityGroups}')
sg_id = next(group['GroupId'] for group in groups if is_open(group))
before = rules(sg_id)
ec2.revoke_security_group_ingress(GroupId=sg_id, IpPermissions=before)
return {
    'sg_id': sg_id,
    'security_group_state_before': before,
    'security_group_state_after': rules(sg_id),
    'api_calls_made': ['RevokeSecurityGroupIngress'],
}
";

/// Opens it again.
const UNDO: &str = r"import boto3, json
session = boto3.Session(profile_name='${user.profile}', region_name='${user.region}')
rules = json.loads('${step_2.security_group_state_before}')
session.client('ec2').authorize_security_group_ingress(GroupId='${step_2.sg_id}', IpPermissions=rules)
";

/// The script of a handler that lists something.
fn lister(client: &str, operation: &str, field: &str) -> String {
    format!(
        "import json, sys\nimport boto3\ngiven = json.load(sys.stdin)['parameters']\n\
         session = boto3.Session(profile_name=given['profile'], region_name=given['region'])\n\
         found = session.client('{client}').{operation}()['{field}']\nprint(json.dumps(found, default=str))\n"
    )
}

/// The tools, and the handler of each. The playbook contains the scripts of two of them.
fn tools() -> [(&'static str, &'static str, String); 4] {
    let groups = lister("ec2", "describe_security_groups", "SecurityGroups");
    let balancers = lister("elbv2", "describe_load_balancers", "LoadBalancers");
    let unused = "raise SystemExit('the playbook has a script for it')\n".to_owned();
    [
        ("aws.describe_security_groups", "readonly", groups),
        ("aws.describe_load_balancers", "readonly", balancers),
        (
            "aws.describe_public_ingress_surface",
            "readonly",
            unused.clone(),
        ),
        ("aws.lock_security_group", "write", unused),
    ]
}

/// A tool in the seed's form.
fn tool(id: &str, class: &str) -> String {
    let mut tool: Value = serde_json::from_str(TOOL).unwrap();
    let (_, name) = id.split_once('.').unwrap();
    for field in ["_id", "tool_id"] {
        tool[field] = json!(id);
    }
    tool["name"] = json!(name);
    tool["description"] = json!(format!("Calls {name} in a region."));
    tool["tool_class"] = json!(class);
    tool.to_string()
}

/// The seed's playbook with the missing fields: the names, the evidence, the script of the rollback.
fn playbook() -> String {
    let mut playbook: Value = serde_json::from_str(PLAYBOOK).unwrap();
    let scripts = playbook["scripts"].as_array_mut().unwrap();
    scripts[1]["body"] = json!(LOCK);
    scripts.push(json!({
        "step_id": "step_2", "script_id": "step_2_rollback", "language": "python", "body": UNDO,
    }));
    playbook.to_string()
}

fn package() -> Package {
    let package = Package::new("seed000", "0.1.0", "tenant")
        .with("skills/skill.json", SKILL)
        .with("playbooks/playbook.json", &playbook());
    tools().iter().fold(package, |package, (id, class, _)| {
        package.with(&format!("tools/{id}.json"), &tool(id, class))
    })
}

/// An executor with the profile and the handlers.
fn executor(simulator: &Simulator, api: &Api) -> Executor {
    let home = simulator.granted_to(speaking_to(api));
    let (profiles, handlers) = (home.path("profiles"), home.path("handlers"));
    fs::write(&profiles, PROFILES).unwrap();
    fs::create_dir(&handlers).unwrap();
    for (id, _, handler) in tools() {
        fs::write(handlers.join(format!("{id}.py")), handler).unwrap();
    }
    let home = home
        .with("CHARTER_LOG", "info")
        .with(
            "CHARTER_TOOLS__ENVIRONMENT",
            "AWS_ENDPOINT_URL,AWS_CONFIG_FILE",
        )
        .with("AWS_CONFIG_FILE", profiles.to_str().unwrap());
    Executor::start_in(home, &["--handlers", handlers.to_str().unwrap()])
}

/// A home whose commands use a server.
pub(crate) fn speaking_to(api: &Api) -> Home {
    Home::new()
        .with("CHARTER_SERVER", &api.base)
        .with("CHARTER_API_KEY", api.key.as_deref().unwrap())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value:#}"))
}

/// The output of a step of a run.
fn output<'r>(run: &'r Value, step: &str) -> &'r Value {
    let mut events = run["events"].as_array().unwrap().iter();
    let done = |event: &&Value| event["event"] == "step_succeeded" && event["step"] == step;
    &events.find(done).unwrap()["output"]
}

/// A way to request and approve a change; returns the request and its run.
trait SeedClient {
    fn ask(&self, api: &Api) -> Value;
    fn approve(&self, api: &Api, approval: &Value);
    fn roll_back(&self, api: &Api, run: &Value) -> Value;
}

struct OverTheApi;

impl SeedClient for OverTheApi {
    fn ask(&self, api: &Api) -> Value {
        let mut asked = request("close what the internet reaches");
        let given = json!({"region": REGION, "profile": PROFILE});
        asked["metadata"] = json!({"playbook_id": CHANGE, "parameters": given});
        api.ask(&asked).expect(200)
    }

    fn approve(&self, api: &Api, approval: &Value) {
        decide(api, approval, "approve").expect(200);
    }

    fn roll_back(&self, api: &Api, run: &Value) -> Value {
        api.post(&path_of(run, "/rollback"), &json!({})).expect(201)
    }
}

struct ByCommands(Home);

impl ByCommands {
    fn run(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--output", "json"]].concat();
        self.0.run(&arguments).done_or_waiting()
    }
}

impl SeedClient for ByCommands {
    fn ask(&self, _: &Api) -> Value {
        let (region, profile) = (format!("region={REGION}"), format!("profile={PROFILE}"));
        self.run(&[
            "ask",
            "close what the internet reaches",
            "--playbook",
            CHANGE,
            "-p",
            &region,
            "-p",
            &profile,
        ])
    }

    fn approve(&self, _: &Api, approval: &Value) {
        let (id, digest) = (text(&approval["approval_id"]), text(&approval["digest"]));
        self.run(&["approvals", "approve", id, "--digest", digest]);
    }

    fn roll_back(&self, _: &Api, run: &Value) -> Value {
        self.run(&["runs", "rollback", text(&run["run_id"])])
    }
}

/// The change is executed with a person's approval, the request has its result, and it is rolled back with another.
fn changed_and_taken_back(simulator: &Simulator, api: &Api, desk: &dyn SeedClient) {
    let before = simulator.expected(REGION);
    let answer = desk.ask(api);
    let run = json!({"run_id": answer["metadata"]["run_ids"][0]});
    // The write depends on a read alone, so its approval is also the confirmation.
    let waiting = settled(api, &run, "awaiting_approval");
    assert_eq!(
        waiting["approvals"][0]["call"]["tool"], "aws.lock_security_group",
        "{waiting:#}"
    );
    assert_eq!(simulator.expected(REGION), before);
    desk.approve(api, &waiting["approvals"][0]);
    // It is not `incomplete`: the evidence that the playbook requires exists.
    let done = settled(api, &run, "completed");
    let after = simulator.expected(REGION);
    assert!(after.is_subset(&before) && after != before);

    let path = format!("/v1/requests/{}", text(&answer["request_id"]));
    let shown = api.get(&path).expect(200);
    let metadata = &shown["result"]["metadata"];
    let made = output(&done, "step_2");
    let change = &metadata["changes"][0];
    assert_eq!(
        (&change["tool_id"], &change["before"], &change["after"]),
        (
            &json!("aws.lock_security_group"),
            &json!({"security_group_state": made["security_group_state_before"]}),
            &json!({"security_group_state": []}),
        ),
        "{shown:#}"
    );
    assert_eq!(metadata["undone"], json!([]), "{shown:#}");

    let undoing = desk.roll_back(api, &done);
    let waiting = settled(api, &undoing, "awaiting_approval");
    desk.approve(api, &waiting["approvals"][0]);
    settled(api, &undoing, "completed");
    assert_eq!(simulator.expected(REGION), before);
}

#[test]
fn the_seeds_documents_answer_and_change_by_an_executors_handlers() {
    let simulator = Simulator::start();
    let server = Tenants::one();
    let api = &server.api;
    api.register(&package());
    let _executor = executor(&simulator, api);

    let desk = ByCommands(speaking_to(api));
    let profile = format!("profile={PROFILE}");
    let region = format!("region={REGION}");
    let answer = desk.run(&[
        "ask",
        "find cloud resources exposed to the public internet",
        "--skill",
        QUESTION,
        "-p",
        &region,
        "-p",
        &profile,
    ]);
    let run = json!({"run_id": answer["metadata"]["run_ids"][0]});
    let run = api.get(&path_of(&run, "")).expect(200);
    let groups = output(&run, "step_1").as_array().unwrap();
    assert!(
        groups.iter().any(|group| group["GroupName"] == "demo-web"),
        "{groups:#?}"
    );
    assert!(output(&run, "step_2").is_array(), "{run:#}");

    changed_and_taken_back(&simulator, api, &OverTheApi);
    changed_and_taken_back(&simulator, api, &desk);
}
