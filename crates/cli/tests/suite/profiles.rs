//! Agents in requests (seed 000 §2.11): a key's profile limits the agents whose skills it gets, and conflicting agents
//! do not answer together.

use serde_json::{Value, json};

use crate::home::{Api, ids, request, request_of};
use crate::packages::{AGENT_FILE, Package, QUESTION, SKILL, backups, skill};
use crate::shared::Tenants;

/// The API with a new key of a profile.
fn of_profile(admin: &Api, profile: &Value) -> Api {
    let order = json!({"name": "narrowed", "role": "user", "profile": profile});
    let made = admin.post("/v1/keys", &order).expect(201);
    admin.with_key(made["secret"].as_str().unwrap())
}

/// An agent's skill is found, run and named with a profile that the agent lists, and without a profile; with another
/// one it is absent.
#[test]
fn the_profile_of_a_key_narrows_the_agents_of_a_request() {
    let server = Tenants::one();
    let night = "composition: {usable_in_profiles: [night]}\nskill_refs";
    let package = backups().edit(AGENT_FILE, "skill_refs", night);
    server.api.register(&package);
    for profile in [json!("night"), Value::Null] {
        let served = of_profile(&server.api, &profile);
        let answer = served.ask(&request(QUESTION)).expect(200);
        assert_eq!(answer["metadata"]["verdict"]["candidates"][0]["id"], SKILL);
        served.ask(&request_of(SKILL, json!({}))).expect(200);
    }
    let day = of_profile(&server.api, &json!("day"));
    assert!(!day.routed(QUESTION).contains(&SKILL.to_owned()));
    let answer = day.ask(&request(QUESTION));
    assert_eq!(answer.body["metadata"]["run_ids"], Value::Null);
    day.ask(&request_of(SKILL, json!({})))
        .fails(403, "permission_denied");
}

/// Two skills for the same words, each with its own agent; `first` is more YAML of the first agent.
fn twins(first: &str) -> Package {
    let agent = |name: &str, more: &str| {
        format!(
            "agent_id: domain.reliability.{name}\nname: {name}\ndisplay_name: {name}\nagent_type: domain\n\
             domain: reliability\ncapabilities:\n  - look after {name}\nskill_refs: [reliability.{name}]\n{more}"
        )
    };
    let twin = |name: &str| skill(&format!("reliability.{name}"), "count the tape drives");
    backups()
        .with("skills/alpha.yaml", &twin("alpha"))
        .with("skills/beta.yaml", &twin("beta"))
        .with("agents/alpha.yaml", &agent("alpha", first))
        .with("agents/beta.yaml", &agent("beta", ""))
}

/// The twins that answered a broad request.
fn answered(api: &Api) -> Vec<String> {
    let asked = request("count the tape drives");
    api.ask(&asked).expect(200);
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    let recorded = api.get(&path).expect(200);
    let candidates = ids(&recorded["verdict"]["verdict"]["candidates"], "id");
    let twins = ["reliability.alpha", "reliability.beta"].map(str::to_owned);
    assert!(twins.iter().all(|twin| candidates.contains(twin)));
    let skills = recorded["verdict"]["skills"].as_array().unwrap().iter();
    let skills = skills.map(|id| id.as_str().unwrap().to_owned());
    skills.filter(|id| twins.contains(id)).collect()
}

/// Skills whose agents conflict are never combined: only the better one answers.
#[test]
fn skills_of_conflicting_agents_do_not_answer_one_request() {
    let server = Tenants::one();
    server.api.register(&twins(""));
    assert_eq!(answered(&server.api).len(), 2);
    let conflict = "composition: {conflicts_with_agents: [domain.reliability.beta]}\n";
    server
        .api
        .register(&twins(conflict).version("1.0.0", "1.0.1"));
    assert_eq!(answered(&server.api).len(), 1);
}
