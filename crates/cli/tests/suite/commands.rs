//! The commands: exit codes, output formats, hidden secrets.

use std::process::Command;

use serde_json::{Value, json};

use crate::home::{Home, project};
use crate::packages::{QUESTION, SCRIPT_FILE, SKILL, TOOL_FILE, backups};
use crate::shared::Tenants;

/// `package validate` with documents: 0 valid, 1 invalid, 2 unreadable; the worst counts.
#[test]
fn documents_are_validated_with_three_exit_codes() {
    let home = Home::new();
    let validate = |arguments: &[&str]| {
        let command = &["package", "validate"][..];
        home.run(&[command, arguments].concat())
    };
    let examples = project().join("crates/contract/tests/examples");
    let valid = examples.join("agent_request.json");
    let valid = valid.to_str().unwrap();
    let invalid = home.path("invalid.yaml");
    std::fs::write(&invalid, "tool_id: a.b\nname: b\nprovider: aws\ntool_class: readonly\ndomain: cost\ndescription: d\nlanguage: cobol\n").unwrap();
    let invalid = invalid.to_str().unwrap();
    assert_eq!(validate(&[valid]).code, Some(0));
    let ran = validate(&["--schema", "tool", invalid]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("invalid.yaml:7:1") && ran.out.contains("^^^^^^^^"),
        "{}",
        ran.out
    );
    let unreadable = validate(&[valid, invalid, "/nowhere.json"]);
    assert_eq!(unreadable.code, Some(2), "{unreadable:?}");
    let unknown = validate(&["--schema", "no_such", valid]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let report = validate(&[valid, "--output", "json"]).json(0);
    assert_eq!(
        report,
        json!([{"file": valid, "schema": "agent_request", "problems": []}])
    );
    // A directory is a package, which goes alone.
    let folder = backups().write(&home.path("package"));
    let folder = folder.as_str();
    for arguments in [&[folder, valid][..], &[folder, "--schema", "tool"]] {
        let refused = validate(arguments);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.err.contains("Name the directory of one package"),
            "{refused:?}"
        );
    }
    let sound = validate(&[folder]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
}

/// `package diff`: 0 same, 1 differs, 2 error.
#[test]
fn package_diff_has_three_exit_codes() {
    let home = Home::new();
    let folder = backups().write(&home.path("package"));
    assert_eq!(home.run(&["package", "diff", &folder]).code, Some(1));
    let registered = home.run(&["package", "register", &folder]);
    assert_eq!(registered.code, Some(0), "{registered:?}");
    let same = home.run(&["package", "diff", &folder]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let next = backups()
        .version("1.0.0", "1.1.0")
        .edit(TOOL_FILE, "Lists", "Names")
        .write(&home.path("next"));
    let differs = home.run(&["package", "diff", &next]);
    assert_eq!(differs.code, Some(1), "{differs:?}");
    assert!(
        differs
            .out
            .contains("~ tool vault.list_backups /description"),
        "{}",
        differs.out
    );
    assert_eq!(home.run(&["package", "diff", "/nowhere"]).code, Some(2));
    let broken = backups()
        .with("tools/bad.yaml", "x: [\n")
        .write(&home.path("broken"));
    assert_eq!(home.run(&["package", "diff", &broken]).code, Some(2));
}

/// The package commands on a directory without a server.
#[test]
fn packages_are_registered_listed_rolled_back_and_removed() {
    let home = Home::new();
    let folder = backups().write(&home.path("package"));
    let json = |arguments: &[&str]| {
        home.run(&[arguments, &["--output", "json"]].concat())
            .json(0)
    };
    let dry = json(&["package", "register", &folder, "--dry-run"]);
    assert_eq!(dry["unchanged"], true);
    assert_eq!(json(&["package", "list"]), json!([]));
    assert_eq!(json(&["package", "register", &folder])["unchanged"], false);
    let next = backups()
        .version("1.0.0", "1.1.0")
        .write(&home.path("next"));
    json(&["package", "register", &next]);
    json(&["package", "rollback", "backups", "1.0.0"]);
    assert_eq!(json(&["package", "list"])[0]["version"], "1.0.0");
    assert_eq!(
        json(&["package", "history", "backups"])
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let resolved = json(&["resolve", "skill", SKILL]);
    assert_eq!(resolved["package_version"], "1.0.0");
    let routed = json(&["route", "which backups are stale"]);
    assert_eq!(
        (&routed["kind"], &routed["candidates"][0]["id"]),
        (&json!("narrow"), &json!(SKILL))
    );
    let asked = json(&["ask", QUESTION, "-p", "vault=tokyo"]);
    assert_eq!(asked["metadata"]["flow"], "skill");
    let run = asked["metadata"]["run_ids"][0].as_str().unwrap();
    assert_eq!(json(&["runs", "show", run])["status"], "completed");
    let first = json(&["runs", "show", run, "--at", "1"]);
    assert_eq!(
        (&first["sequence"], &first["run_id"]),
        (&json!(1), &json!(run))
    );
    assert_ne!(first["status"], "completed");
    let shown = home.run(&["runs", "show", run, "--at", "1", "--output", "table"]);
    assert!(
        shown.out.starts_with(&format!("{run} after event 1 (")),
        "{}",
        shown.out
    );
    let evidence = json(&["evidence", "list", "--run", run]);
    assert_eq!(evidence["entries"][0]["source"]["native_id"], "tokyo");
    json(&["package", "unregister", "backups"]);
    assert_eq!(json(&["list", "skill"])["entries"], json!([]));
    let gone = home.run(&["resolve", "skill", SKILL]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.err.starts_with("error[not_found]: "), "{gone:?}");
}

/// A relative data directory works.
#[test]
fn a_relative_data_directory_is_one() {
    let home = Home::new();
    let script = "import json, os, tempfile\nhandle, path = tempfile.mkstemp()\nimport beside\n\
                  print(json.dumps({'backups': beside.BACKUPS}))\n";
    let beside = "BACKUPS = [{'id': 'b-9', 'age_days': 99}]\n";
    let package = backups()
        .with("scripts/deep/main.py", script)
        .with("scripts/beside.py", beside)
        .edit(TOOL_FILE, SCRIPT_FILE, "scripts/deep/main.py");
    let folder = package.write(&home.path("package"));
    let there = |arguments: &[&str]| {
        let ran = home.run_in_home(&[&["--data-dir", "data"], arguments].concat());
        ran.json(0)
    };
    there(&["package", "register", &folder, "--output", "json"]);
    let asked = there(&["ask", QUESTION, "--output", "json"]);
    assert_eq!(asked["metadata"]["findings"][0]["resource_id"], "b-9");
}

/// `--output`: the same data as JSON, as YAML, and as a table for people; all on stdout.
#[test]
fn output_has_three_forms() {
    let home = Home::new();
    let list = |form: &str| home.run(&["schema", "list", "--output", form]);
    let json = list("json").json(0);
    let yaml = list("yaml");
    let read = charter_domain::source::read(&yaml.out).unwrap().value;
    assert_eq!(read, json);
    let table = list("table");
    assert!(
        table
            .out
            .lines()
            .any(|line| line.contains("agent_request") && line.contains("draft")),
        "{}",
        table.out
    );
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
}

#[test]
fn schema_show_prints_the_committed_schema() {
    let home = Home::new();
    let shown = home
        .run(&["schema", "show", "skill", "--output", "json"])
        .json(0);
    let committed = std::fs::read_to_string(project().join("schemas/skill.json")).unwrap();
    assert_eq!(shown, serde_json::from_str::<Value>(&committed).unwrap());
    let unknown = home.run(&["schema", "show", "skil"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.err.contains("error[not_found]") && unknown.err.contains("skill"),
        "{unknown:?}"
    );
}

/// Flags over environment over file over defaults; secrets are hidden.
#[test]
fn config_show_hides_secrets_and_says_what_is_in_force() {
    let mut home = Home::with_keys(&[("secret-of-ann", "acme", "ann", "user")]);
    home.set("CHARTER_API_KEY", "hush-hush");
    home.set("CHARTER_LIMITS__TIMEOUT_MS", "1234");
    home.set("CHARTER_TOOLS__ENVIRONMENT", "AWS_PROFILE,AWS_REGION");
    for form in ["json", "yaml", "table"] {
        let shown = home.run(&["config", "show", "--output", form]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(
            !shown.out.contains("hush-hush") && !shown.out.contains("secret-of-ann"),
            "{shown:?}"
        );
    }
    let shown = home.run(&["config", "show", "--output", "json"]).json(0);
    assert_eq!(shown["api_key"], "(hidden)");
    assert_eq!(shown["limits"]["timeout_ms"], 1234);
    let url = "postgres://charter:hush-hush@db.example.com/charter";
    home.set("CHARTER_STORE__URL", url);
    let shown_store = home.run(&["config", "show", "--output", "json"]).json(0);
    assert_eq!(shown_store["store"]["url"], "(hidden)");
    let flag = home.run(&["config", "show", "--store", url, "--output", "json"]);
    assert!(!flag.out.contains("hush-hush"), "{flag:?}");
    assert_eq!(
        shown["tools"]["environment"],
        json!(["AWS_PROFILE", "AWS_REGION"])
    );
    assert_eq!(shown["auth"]["keys"][0]["tenant"], "acme");
    assert_eq!(shown["data_dir"], home.data().to_str().unwrap());
    home.set("CHARTER_LIMITS__TIMEOUT", "1");
    let wrong = home.run(&["config", "show"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("timeout"), "{wrong:?}");
}

/// A credential's rights are set among its other settings; unknown settings are refused by name.
#[test]
fn a_credential_has_its_rights_among_its_settings_and_refuses_others() {
    let key = "[[auth.keys]]\nsha256 = \"aa\"\ntenant = \"acme\"\nuser = \"ann\"\n";
    let grant = "[[auth.oidc]]\nissuer = \"http://127.0.0.1:1\"\naudiences = [\"charter\"]\n\
                 tenant = \"acme\"\n[[auth.oidc.grants]]\n";
    let home = Home::new();
    let file = home.path("config.toml");
    let home = home.with("CHARTER_CONFIG", file.to_str().unwrap());
    let show = |credential: &str, settings: &str| {
        std::fs::write(&file, format!("{credential}{settings}")).unwrap();
        home.run(&["config", "show", "--output", "json"])
    };
    let least = json!({"role": "user", "tier": "basic", "agent_skills": null, "catalogue": null,
                       "scopes": ["*"]});
    let most = json!({"role": "admin", "tier": "advanced", "agent_skills": ["net"],
                      "catalogue": "viewer", "scopes": ["runs:read"]});
    let all = "role = \"admin\"\ntier = \"advanced\"\nagent_skills = [\"net\"]\n\
               catalogue = \"viewer\"\nscopes = [\"runs:read\"]\n";
    for (credential, at, place) in [
        (key, "/auth/keys/0", "auth.keys[0]"),
        (grant, "/auth/oidc/0/grants/0", "auth.oidc[0]grants[0]"),
    ] {
        for (settings, rights) in [("role = \"user\"\n", &least), (all, &most)] {
            let shown = show(credential, settings).json(0);
            for (setting, value) in rights.as_object().unwrap() {
                assert_eq!(
                    &shown.pointer(at).unwrap()[setting],
                    value,
                    "{place}: {setting}"
                );
            }
        }
        for (wrong, why) in [
            ("", "missing configuration field".to_owned()),
            (
                "role = \"king\"\n",
                format!("one of user, operator, admin for key `{place}"),
            ),
            (
                "role = \"user\"\nscope = []\n",
                format!("unknown field `scope` for key `{place}`"),
            ),
        ] {
            let refused = show(credential, wrong);
            assert_eq!(refused.code, Some(2), "{place}: {wrong}");
            assert!(refused.err.contains(&why), "{}", refused.err);
        }
    }
}

#[test]
fn completions_are_written_for_each_shell() {
    let home = Home::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = home.run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}: {}", ran.err);
        assert!(ran.out.contains("charter"), "{shell}: {}", ran.out);
    }
    let script = "source <(\"$0\" completions bash)\n\
                  COMP_WORDS=(charter runs sh) COMP_CWORD=2\n\
                  _charter charter sh runs\n\
                  echo \"${COMPREPLY[@]}\"";
    let completed = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_charter")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&completed.stdout), "show\n");
}

#[test]
fn doctor_finds_what_is_wrong() {
    let mut home = Home::new();
    let sound = home.run(&["doctor", "--output", "json"]).json(0);
    let states = sound
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["state"].as_str().unwrap());
    assert!(
        states.clone().count() > 4 && states.clone().all(|state| state == "ok"),
        "{sound:#}"
    );
    home.set("CHARTER_MODEL__DIRECTORY", "/nowhere");
    let wrong = home.run(&["doctor", "--output", "json"]).json(1);
    let model = wrong
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["check"] == "embedding model")
        .unwrap();
    assert_eq!(model["state"], "wrong");
}

/// `migrate --check`: 1 while a migration is pending, 0 after.
#[test]
fn migrate_says_what_it_would_do_and_does_it() {
    let home = Home::new();
    let pending = home
        .run(&["migrate", "--check", "--output", "json"])
        .json(1);
    assert!(pending["pending"].as_u64().unwrap() > 0, "{pending}");
    assert!(!home.data().join("charter.db").exists());
    assert_eq!(home.run(&["migrate"]).code, Some(0));
    let done = home
        .run(&["migrate", "--check", "--output", "json"])
        .json(0);
    assert_eq!(
        (&done["pending"], &done["schema_version"]),
        (&json!(0), &done["newest"])
    );
}

/// Probes, metrics, the description of the API and its page.
#[test]
fn a_server_describes_itself() {
    let server = Tenants::one();
    server.api.register(&backups());
    assert_eq!(
        server.api.get("/healthz").expect(200),
        json!({"status": "ok"})
    );
    assert_eq!(server.api.get("/readyz").expect(200)["status"], "ready");
    let metrics = server.api.get("/metrics").expect(200);
    assert!(metrics.as_str().unwrap().contains("charter_"), "{metrics}");
    let open = [("accept", "application/openmetrics-text; version=1.0.0")];
    let (_, open) = server.api.raw("GET", "/metrics", &open, Vec::new());
    assert!(open.ends_with("# EOF\n"), "{open}");
    let page = server.api.get("/reference").expect(200);
    assert!(page.as_str().unwrap().contains("<html"));
    let openapi = server.api.get("/v1/openapi.json").expect(200);
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    assert!(openapi["paths"]["/v1/requests"]["post"].is_object());
    server
        .api
        .call("DELETE", "/v1/requests", &[], Vec::new())
        .fails(405, "method_not_allowed");
}
