//! A granted value reaches only the script that requests it: no log, journal, answer, evidence, message or file of the
//! server contains it.

use std::path::Path;

use serde_json::{Value, json};

use crate::home::{Home, Server, ids, request_of};
use crate::packages::{SCRIPT_FILE, SKILL, TOOL_FILE, backups};

const SECRET: &str = "s3cr3t/of~the+vault=";

/// Another secret, which looks like a number.
const PIN: &str = "918273645546372819";

/// Uses the secret in every way that a careless script might. It also prints the secret backwards, which proves that it
/// has it.
const CARELESS: &str = r#"import base64, json, os, sys
from urllib.parse import quote, quote_plus
token = os.environ["VAULT_TOKEN"]
pair = f"user:{token}".encode()
ways = [quote(token), quote(token, safe=""), quote_plus(token), json.dumps(json.dumps(token)), token.encode().hex(),
        base64.b64encode(pair).decode(), base64.urlsafe_b64encode(pair).decode(), base64.encodebytes(3 * pair).decode()]
print("asking with", token, *ways, file=sys.stderr)
how = json.load(sys.stdin)["parameters"]["vault"]
if how == "raises": raise RuntimeError(f"https://vault/?token={token} did not answer")
if how == "reports":
    print(json.dumps({"error_type": "input_error", "message": f"the token {token} is wrong, as is {ways[1]}"}), file=sys.stderr)
    sys.exit(1)
if how == "prints": print("token", token)
pin = int(os.environ["VAULT_PIN"])
print(json.dumps({"backups": [{"id": token[::-1], "age_days": 40, token: f"used {token}", "ways": ways, "pin": pin}]}))
"#;

/// Keys outside the data directory.
const EVIDENCE_KEY: &str = "evidence.seed";
const CARD_KEY: &str = "card.seed";

fn with_own_keys(home: Home) -> Home {
    let file = |name| home.path(name).to_str().unwrap().to_owned();
    let (evidence, card) = (file(EVIDENCE_KEY), file(CARD_KEY));
    home.with("CHARTER_EVIDENCE__KEY_FILE", &evidence)
        .with("CHARTER_A2A__KEY_FILE", &card)
}

fn package() -> crate::packages::Package {
    backups().with(SCRIPT_FILE, CARELESS).edit(
        TOOL_FILE,
        "execution_target: server",
        "execution_target: server\nenvironment: [VAULT_TOKEN, VAULT_PIN]",
    )
}

/// Every file below a folder that contains the text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if std::fs::read(&path).is_ok_and(|bytes| {
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        }) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Prints which files a script sees, and which it can read.
const LOOKING: &str = r#"import json, os
def is_readable(path):
    try: open(path).close()
    except OSError: return False
    return True
seen = [f"{at} {os.path.isfile(path)} {is_readable(path)}" for at, path in enumerate(PATHS)]
print(json.dumps({"backups": [{"id": one, "age_days": 40} for one in seen]}))
"#;

/// Whether scripts see that a file of the server exists, as Python prints it: they do if the kernel does not allow
/// mount namespaces.
fn visibility_of_data(home: &Home) -> &'static str {
    let told = home.run(&["doctor", "--output", "json"]).out;
    let checks: Value = serde_json::from_str(&told).unwrap();
    let hidden = json!("data: scripts do not see the server's data");
    match checks
        .as_array()
        .unwrap()
        .iter()
        .any(|one| one["found"] == hidden)
    {
        true => "False",
        false => "True",
    }
}

/// The data directory and the keys are hidden from scripts wherever the configuration puts them.
#[track_caller]
fn check_that_own_files_are_hidden(home: &Home, server: &Server, seen: &str) {
    let keys = [home.path(EVIDENCE_KEY), home.path(CARD_KEY)];
    let data = ["charter.db", "charter.lock"].map(|file| home.data().join(file));
    let paths: Vec<_> = data.into_iter().chain(keys).collect();
    for path in &paths {
        assert!(path.is_file(), "{}", path.display());
    }
    let script = LOOKING.replace("PATHS", &json!(paths).to_string());
    let looking = backups()
        .version("1.0.0", "1.1.0")
        .with(SCRIPT_FILE, &script);
    server.api.register(&looking);
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    let mut found = ids(&answer["metadata"]["findings"], "resource_id");
    found.sort();
    let expected: Vec<String> = (0..paths.len())
        .map(|at| format!("{at} {seen} False"))
        .collect();
    assert_eq!(found, expected);
}

/// B003-3.
#[test]
fn b003_3_a_secret_reaches_its_script_and_no_log_journal_or_error() {
    let home = Home::new()
        .embedded()
        .with(
            "CHARTER_TOOLS__ENVIRONMENT",
            "VAULT_TOKEN,VAULT_PIN,NEVER_ASKED_FOR",
        )
        .with("VAULT_TOKEN", SECRET)
        .with("VAULT_PIN", PIN)
        .with("NEVER_ASKED_FOR", "another-secret")
        .with("CHARTER_LOG", "trace");
    let home = with_own_keys(home);
    let seen = visibility_of_data(&home);
    let server = home.serve();
    server.api.register(&package());
    for (how, says) in [
        ("raises", "token=[redacted:VAULT_TOKEN] did not answer"),
        (
            "reports",
            "the token [redacted:VAULT_TOKEN] is wrong, as is [redacted:VAULT_TOKEN]",
        ),
        ("prints", "it begins \"token [redacted:VAULT_TOKEN]"),
    ] {
        let answer = server.api.ask(&request_of(SKILL, json!({"vault": how})));
        assert_eq!(answer.status, 502, "{:#}", answer.body);
        let told = answer.body.to_string();
        assert!(!told.contains(SECRET), "{told}");
        let message = answer.body["user_message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
    let answer = server.api.ask(&request_of(SKILL, json!({"vault": "main"})));
    let told = answer.expect(200);
    let reversed: String = SECRET.chars().rev().collect();
    let finding = &told["metadata"]["findings"][0];
    assert_eq!(finding["resource_id"], reversed);
    let id = told["metadata"]["evidence_ids"][0].as_str().unwrap();
    let evidence = server.api.get(&format!("/v1/evidence/{id}")).expect(200);
    let evidence = evidence.to_string();
    assert!(
        evidence.contains("used [redacted:VAULT_TOKEN]"),
        "{evidence}"
    );
    // The name, its suffix, and each encoding, one of them three times.
    let marks = evidence.matches("[redacted:VAULT_TOKEN]").count();
    assert!(marks >= 12, "{marks}: {evidence}");
    assert!(evidence.contains("[redacted:VAULT_PIN]"), "{evidence}");
    for listed in server.api.get("/v1/runs").expect(200)["entries"]
        .as_array()
        .unwrap()
    {
        let path = format!("/v1/runs/{}", listed["run_id"].as_str().unwrap());
        let run = server.api.get(&path).expect(200).to_string();
        assert!(!run.contains(SECRET), "{run}");
    }
    let log = server.log();
    assert!(
        !log.contains(SECRET) && !log.contains("another-secret"),
        "{log}"
    );
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let ways = [
        "s3cr3t%2Fof~the%2Bvault%3D",
        "s3cr3t/of~the%2Bvault%3D",
        &hex,
    ];
    for secret in [SECRET, PIN, "another-secret"].iter().chain(&ways) {
        assert_eq!(holding(&home.data(), secret), Vec::<String>::new());
    }
    assert_ne!(holding(&home.data(), &reversed), Vec::<String>::new());
    check_that_own_files_are_hidden(&home, &server, seen);
}
