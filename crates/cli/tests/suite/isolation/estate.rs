//! A tenant's data before another one arrives: something of every kind, created by real calls, with a mark in every
//! text and each id under the path parameter or field that takes it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::candidates::{READ, with_kitchen};
use crate::expert_graph;
use crate::home::{Api, Home, Server, eventually, ids, request_of};
use crate::lenses::{LENS, LENS_FILE, handbook, lens};
use crate::mcp::knowledge::skill_md;
use crate::missions::{GOAL, KIND, KIND_FILE, OTHER_RUNS, POLICY_FILE, order, review};
use crate::packages::{Package, SKILL, guardrail};
use crate::playbooks::{PLAYBOOK, decide, purge, settled, waiting};
use crate::service::Service;
use crate::site::Site;
use crate::tools::definition;

/// A mark in every text of the tenant, and in nothing that another one sends.
pub(crate) const MARK: &str = "amethyst-of-acme";

/// The owner, a colleague who decides on approvals, the stranger, who is admin of another tenant, a user and an
/// operator of the owner's tenant.
pub(crate) const KEYS: [(&str, &str, &str, &str); 5] = [
    ("ann", "acme", "ann", "admin"),
    ("bob", "acme", "bob", "admin"),
    ("eve", "umbra", "eve", "admin"),
    ("ulf", "acme", "ulf", "user"),
    ("opa", "acme", "opa", "operator"),
];

/// Fields for ids that belong to a user of the tenant.
const OF_A_USER: [&str; 15] = [
    "runs",
    "run",
    "run_id",
    "approvals",
    "approval_id",
    "evidence",
    "evidence_id",
    "proof",
    "missions",
    "mission_id",
    "mission-assignments",
    "diff",
    "requests",
    "schedules",
    "sessions",
];

/// Its call runs as long as its lease, so it is still running after all calls were tried.
const CLIENT_TOOL: &str = "tool_id: vault.ask_desktop\nname: ask_desktop\nprovider: aws\ntool_class: readonly\n\
    domain: reliability\ndescription: Asks the desktop.\nparameters: []\nexecution_target: client\nlanguage: bash\n\
    implementation: {type: script, path: scripts/ask.sh}\ntimeout_ms: 600000\n";

const PROMPT: &str = "prompt_id: reliability.worker\ndomain: reliability\ntitle: Worker\nrole_type: worker\n\
    system_prompt: You look after backups.\ntask_prompt: 'Look after this: ${objective}'\nmodel_route: tier_high_reasoning\n";

/// A credential of this tenant alone.
const CREDENTIAL: &str = "\n[credentials.tenants.acme.definitions.acme-vault]\nkind = \"authorization_code\"\n\
    hosts = [\"vault.example.com\"]\nauthorization_url = \"https://vault.example.com/authorize\"\n\
    token_url = \"https://vault.example.com/token\"\nclient_id = \"charter\"\n";

/// A channel of this tenant alone, at an address that is not granted, so that nothing is sent.
const CHANNEL: &str = "\n[notifications.tenants.acme.channels.acme-hook]\nkind = \"webhook\"\n\
    url = \"https://127.0.0.1:9/hook\"\nsecrets = [{ variable = \"ACME_HOOK\" }]\n";
const CHANNEL_SECRET: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl3jVB2m4jVB2m4jVB2m4=";

/// The ids of a tenant, by the path parameter or field that takes them.
pub(crate) type KnownIds = BTreeMap<&'static str, Vec<String>>;

/// The tenant and its server.
pub(crate) struct Estate {
    pub(crate) server: Server,
    pub(crate) known: KnownIds,
    pub(crate) home: Home,
    _service: Service,
    _site: Site,
}

/// Everything in one package, for one registration.
fn package(service: &Service, site: &Site) -> Package {
    let playbooks = purge(service);
    let package = review(service).edit(POLICY_FILE, "cedar: |\n", OTHER_RUNS);
    let package = ["tools/purge.yaml", "playbooks/purge.yaml"]
        .iter()
        .fold(package, |package, path| {
            package.with(path, playbooks.text(path))
        });
    let assigned = package.text(KIND_FILE).replace(
        "mission_type: backup_review",
        "mission_type: backup_assignment\nroles: {worker: {by: external}}",
    );
    let package = package.with("missions/assigned.yaml", &assigned);
    let rule = guardrail("reliability.look", "skill", SKILL, "soft_warn", "");
    expert_graph::graph(with_kitchen(package, service))
        .with("guardrails/look.yaml", &rule)
        .with("tools/client.yaml", CLIENT_TOOL)
        .with("scripts/ask.sh", &format!("echo '\"{MARK}\"'\n"))
        .with("prompts/worker.yaml", PROMPT)
        .with(
            LENS_FILE,
            &lens(LENS, "url", &site.url("/handbook"))
                .replace("domain: security", "domain: reliability"),
        )
        .marked(MARK)
}

impl Estate {
    pub(crate) fn new() -> Self {
        let site = Site::at("127.0.0.1");
        site.put("/handbook", handbook(&["backups", MARK]));
        let home = Home::with_keys(&KEYS)
            .with("CHARTER_LENSES__EGRESS", site.address())
            .with("CHARTER_TOOLS__CLIENT_TOOLS", "executor")
            .with("CHARTER_TOOLS__EXECUTOR_LEASE_MS", "600000")
            .with("ACME_HOOK", CHANNEL_SECRET);
        let file = home.path("config.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("role = ", "tier = \"advanced\"\nrole = ") + CREDENTIAL + CHANNEL;
        std::fs::write(&file, text).unwrap();
        let server = home.serve();
        let service = Service::start();
        let ann = server.key("ann");
        ann.register(&package(&service, &site));
        let mut known = catalogue();
        add(&mut known, &["channels", "channel"], "acme-hook");
        defined(&ann, &mut known);
        asked(&ann, &mut known);
        scheduled(&ann, &mut known);
        change(&server, &mut known);
        missions(&ann, &server.key("bob"), &mut known);
        assigned(&ann, &mut known);
        remembered(&ann, &mut known);
        skills(&ann, &mut known);
        keys(&ann, &mut known);
        candidate(&ann, &mut known);
        leased(&ann, &mut known);
        Self {
            server,
            known,
            home,
            _service: service,
            _site: site,
        }
    }

    pub(crate) fn owner(&self) -> Api {
        self.server.key("ann")
    }

    pub(crate) fn stranger(&self) -> Api {
        self.server.key("eve")
    }

    /// The ids of the owner's own data, which other users of the tenant do not see.
    pub(crate) fn started(&self) -> Vec<&str> {
        let owned = self.known.iter().filter(|(place, _)| is_of_a_user(place));
        let ids = owned.flat_map(|(_, ids)| ids.iter().map(String::as_str));
        ids.collect()
    }

    /// Texts that only the tenant may read: the mark, and every id that a stranger cannot guess.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        let named = self.known.iter().filter(|(place, _)| !is_shared(place));
        let ids = named.flat_map(|(_, ids)| ids.iter().map(String::as_str));
        // A short one is a version or a word.
        ids.filter(|id| id.len() > 8).chain([MARK]).collect()
    }
}

pub(crate) fn is_of_a_user(place: &str) -> bool {
    OF_A_USER.contains(&place)
}

/// Fields whose values are words of the API, not of a tenant.
pub(crate) fn is_shared(place: &str) -> bool {
    let shared = [
        "list",
        "documents",
        "artifacts",
        "schemas",
        "versions",
        "version",
        "domain",
        "query",
        "text",
        "kind",
        "output_type",
        "file",
    ];
    shared.contains(&place)
}

fn add(known: &mut KnownIds, places: &[&'static str], id: impl Into<String>) {
    let id = id.into();
    for place in places {
        let ids = known.entry(place).or_default();
        if !ids.contains(&id) {
            ids.push(id.clone());
        }
    }
}

/// The ids of the package, and the words of the API.
fn catalogue() -> KnownIds {
    let mut known = KnownIds::new();
    add(&mut known, &["skill", "skill_id", "document"], SKILL);
    add(
        &mut known,
        &["playbook", "playbooks", "playbook_id", "document"],
        PLAYBOOK,
    );
    add(
        &mut known,
        &["agent", "agent_id", "document"],
        "domain.reliability.recovery",
    );
    add(
        &mut known,
        &["tool", "tool_id", "document"],
        "vault.list_backups",
    );
    add(&mut known, &["mission_type", "document"], KIND);
    add(
        &mut known,
        &["prompt_template", "document"],
        "reliability.worker",
    );
    add(&mut known, &["lenses", "lens_ids", "document"], LENS);
    add(&mut known, &["at"], "1");
    let nothing = format!("sha256:{}", "0".repeat(64));
    add(&mut known, &["contents"], &nothing);
    add(&mut known, &["credentials"], "acme-vault");
    add(&mut known, &["node", "from", "to", "document"], "iso.a8.13");
    add(&mut known, &["document"], "reliability.look");
    add(&mut known, &["packages"], "backups");
    add(&mut known, &["framework"], "ISO27001");
    add(&mut known, &["domain"], "reliability");
    add(&mut known, &["schemas"], "skill");
    add(&mut known, &["output_type"], "finding");
    add(&mut known, &["version"], "1.0.0");
    add(
        &mut known,
        &["query", "text"],
        "which backups have grown stale",
    );
    for kind in [
        "skill",
        "tool",
        "guardrail",
        "domain_lens",
        "template",
        "playbook",
        "agent",
        "graph_node",
        "graph_edge",
        "policy",
        "mission_type",
        "prompt_template",
    ] {
        add(&mut known, &["list", "documents"], kind);
    }
    known
}

/// A tool that was registered by its definition.
fn defined(ann: &Api, known: &mut KnownIds) {
    let id = "tool-ask-the-porter";
    let mut definition = definition(id);
    definition["description"] = json!(format!("Asks the porter. {MARK}"));
    definition["tool_class"] = json!("readonly");
    ann.post("/v1/tools", &definition).expect(201);
    add(known, &["tools", "tool_definition"], id);
}

/// A question with its session, run, findings, evidence and tags.
fn asked(ann: &Api, known: &mut KnownIds) {
    let session = ann.post("/v1/sessions", &json!({})).expect(201);
    let session = session["session_id"].as_str().unwrap().to_owned();
    let mut asked = request_of(SKILL, json!({}));
    asked["input"] = json!(format!("Which backups have grown stale? {MARK}"));
    asked["session_id"] = json!(session);
    let answer = ann.ask(&asked).expect(200);
    let request = asked["id"].as_str().unwrap();
    add(known, &["requests", "tasks", "id", "taskId"], request);
    add(known, &["sessions", "session_id", "contextId"], session);
    let uuid = request.trim_start_matches("req-").replace('-', "");
    add(known, &["tags", "request_id"], format!("req_{uuid}"));
    let metadata = &answer["metadata"];
    let path = format!("/v1/requests/{request}/confirm");
    let confirmed = ann.post(&path, &json!({})).expect(200);
    add(
        known,
        &["examples"],
        confirmed["example_id"].as_str().unwrap(),
    );
    add(
        known,
        &["runs", "run_id", "run"],
        metadata["run_ids"][0].as_str().unwrap(),
    );
    for found in ids(&metadata["findings"], "finding_id") {
        add(known, &["finding_id"], found);
    }
    // A task that waits for its parameters.
    let open = crate::home::request("purge the vault for good");
    ann.ask(&open).expect(200);
    add(
        known,
        &["requests", "tasks", "taskId"],
        open["id"].as_str().unwrap(),
    );
    let evidence = ann.get("/v1/evidence").expect(200);
    for id in ids(&evidence["entries"], "id") {
        add(known, &["evidence", "proof", "evidence_id"], id);
    }
}

/// A schedule that does not fire.
fn scheduled(ann: &Api, known: &mut KnownIds) {
    let schedule = json!({
        "schedule_id": "reliability.look_later", "title": format!("Looks later. {MARK}"),
        "when": {"at": "2999-01-01T00:00:00Z"}, "run": {"skill": SKILL},
    });
    let order = json!({"schedule": schedule});
    ann.post("/v1/schedules", &order).expect(201);
    add(
        known,
        &["schedules", "schedule_id"],
        "reliability.look_later",
    );
    add(known, &["occurrences"], "2999-01-01T00:00:00Z");
    add(
        known,
        &["hooks"],
        "hook-01930000-0000-7000-8000-000000000001",
    );
}

/// A playbook's run that waits for an approval, and one that waits for a confirmation.
fn change(server: &Server, known: &mut KnownIds) {
    let ann = server.key("ann");
    let run = waiting(server);
    let approval = &run["approvals"][0];
    add(
        known,
        &["runs", "run_id", "run"],
        run["run_id"].as_str().unwrap(),
    );
    add(
        known,
        &["approvals", "approval_id"],
        approval["approval_id"].as_str().unwrap(),
    );
    add(
        known,
        &["approval_digest"],
        approval["digest"].as_str().unwrap(),
    );
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let body = |vault: &str| json!({"parameters": {"vault": vault}});
    let open = ann.post(&path, &body("open")).expect(201);
    add(
        known,
        &["runs", "run_id", "run"],
        open["run_id"].as_str().unwrap(),
    );
    add(
        known,
        &["plan_digest"],
        open["plan_digest"].as_str().unwrap(),
    );
    // One that was rejected: it has ended.
    let ended = ann.post(&path, &body("ended")).expect(201);
    let shown = settled(&ann, &ended, "awaiting_approval");
    decide(&server.key("bob"), &shown["approvals"][0], "reject").expect(200);
    let path = format!("/v1/runs/{}", ended["run_id"].as_str().unwrap());
    eventually("the rejected run's end", || {
        let shown = ann.get(&path).expect(200);
        let goes_on = ["working", "awaiting_approval", "stopping", "rolling_back"];
        (!goes_on.contains(&shown["status"].as_str().unwrap())).then_some(())
    });
    add(known, &["runs"], ended["run_id"].as_str().unwrap());
}

/// Two missions that have ended: a proposal of each was rejected.
fn missions(ann: &Api, bob: &Api, known: &mut KnownIds) {
    for id in ["m-of-acme-1", "m-of-acme-2"] {
        let mut order = order(id);
        order["goal"] = json!(format!("{GOAL} {MARK}"));
        ann.post("/v1/missions", &order).expect(201);
        let approval = eventually("the proposal's approval", || {
            let found = ann.get("/v1/approvals?state=pending").expect(200);
            let mut entries = found["entries"].as_array().unwrap().clone().into_iter();
            entries.find(|one| one["call"]["tool"] == "vault.expire")
        });
        decide(bob, &approval, "reject").expect(200);
        let path = format!("/v1/missions/{id}");
        eventually("the mission's end", || {
            let shown = ann.get(&path).expect(200);
            let over = ["completed", "rejected", "failed"];
            over.contains(&shown["state"].as_str().unwrap())
                .then_some(())
        });
        add(known, &["missions", "diff", "mission_id", "tasks"], id);
    }
    let artifacts = ann.get("/v1/missions/m-of-acme-1/artifacts?kind=worker_result");
    let worker = &artifacts.expect(200)["entries"][0];
    add(known, &["artifacts", "kind"], "worker_result");
    add(
        known,
        &["artifact"],
        worker["artifact_id"].as_str().unwrap(),
    );
}

/// A mission whose worker is an outside agent, and its assignment, which the owner holds.
fn assigned(ann: &Api, known: &mut KnownIds) {
    let mut order = order("m-of-acme-3");
    order["mission_type"] = json!("backup_assignment");
    ann.post("/v1/missions", &order).expect(201);
    let id = eventually("the assignment", || {
        let found = ann.get("/v1/mission-assignments").expect(200);
        let first = &found["entries"][0]["assignment_id"];
        first.as_str().map(str::to_owned)
    });
    let claimed = ann
        .post(&format!("/v1/mission-assignments/{id}/claim"), &json!({}))
        .expect(200);
    add(known, &["mission-assignments", "assignment_id"], &id);
    add(
        known,
        &["assignment_lease"],
        claimed["lease_id"].as_str().unwrap(),
    );
}

/// One memory in force and a proposal.
fn remembered(ann: &Api, known: &mut KnownIds) {
    let memory = |agent: Value| {
        json!({"visibility": "shared", "agent_id": agent, "memory": {
            "title": format!("Region {MARK}"), "content": format!("We deploy to eu-west-1. {MARK}"),
            "tags": ["aws", MARK], "metadata": {"source": "user_statement", "importance": 5},
        }})
    };
    for agent in [Value::Null, json!("domain.reliability.recovery")] {
        let shown = ann.post("/v1/memories", &memory(agent)).expect(201);
        let id = shown["memory_id"].as_str().unwrap();
        add(known, &["memories", "related_memories"], id);
    }
    add(known, &["versions"], "1");
}

/// A key of the tenant.
fn keys(ann: &Api, known: &mut KnownIds) {
    let order = json!({"name": format!("{MARK} key"), "role": "operator"});
    let made = ann.post("/v1/keys", &order).expect(201);
    let id = made["key_id"].as_str();
    add(known, &["keys"], id.unwrap());
}

/// Imported skills with files, and a folder that was written.
fn skills(ann: &Api, known: &mut KnownIds) {
    let text = skill_md("migration").replace("The migration", &format!("{MARK} migration"));
    let files = json!({"files": [
        {"path": "sql/migration/SKILL.md", "text": text},
        {"path": "sql/migration/scripts/run.sh", "text": format!("echo {MARK}\n"), "executable": true},
    ]});
    ann.post("/v1/agent-skills/import", &files).expect(200);
    let written = json!({
        "skill_id": "restore_of_acme", "summary": format!("The restoring {MARK}"), "is_folder": false,
        "instruction": format!("INSTRUCTION {MARK}"),
    });
    crate::skills::put(ann, &written).expect(201);
    for id in ["sql.migration", "sql", "restore_of_acme"] {
        add(known, &["agent-skills"], id);
    }
    add(known, &["file"], "SKILL.md");
    add(known, &["files"], "scripts/run.sh");
}

/// A candidate of a miss, and a run of it.
fn candidate(ann: &Api, known: &mut KnownIds) {
    let answer = ann.ask(&crate::home::request(READ)).expect(200);
    let candidate = answer["metadata"]["candidate"]["id"].as_str().unwrap();
    let ran = ann
        .ask(&request_of(candidate, json!({"machine": "m"})))
        .expect(200);
    add(known, &["candidates", "skill"], candidate);
    add(
        known,
        &["candidate_run"],
        ran["metadata"]["run_ids"][0].as_str().unwrap(),
    );
}

/// A call that an executor holds, and a waiting one.
fn leased(ann: &Api, known: &mut KnownIds) {
    for n in 1..=2 {
        let id = format!("01930000-0000-7000-8000-00000000000{n}");
        let plan = json!({"execution_plan": {
            "id": format!("plan-{id}"), "request_id": format!("req-{id}"),
            "steps": [{"id": "step-001", "tool": "vault.ask_desktop", "parameters": {}}],
            "error_handling": {"on_step_failure": "abort_plan"},
        }});
        let run = ann.post("/v1/runs", &plan).expect(201);
        add(known, &["runs"], run["run_id"].as_str().unwrap());
    }
    let wanted = json!({"executor": "office", "wait_ms": 30_000});
    let call = ann.post("/v1/executor/leases", &wanted).expect(200);
    let lease = call["lease_id"].as_str().unwrap();
    ann.post(&format!("/v1/executor/leases/{lease}/renew"), &json!({}))
        .expect(200);
    add(known, &["leases"], lease);
}
