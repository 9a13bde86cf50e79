//! Errors of commands that use no server, or cannot reach one.

use charter_testkit::http_stub::{HttpStub, Reply};

use super::Transcript;
use crate::packages::backups;

/// Command lines that cannot be parsed.
#[test]
fn errors_of_usage_are_as_recorded() {
    let mut shown = Transcript::new();
    for line in [
        "charter frobnicate",
        "charter missons list",
        "charter runs lst",
        "charter help frobnicate",
        "charter runs show",
        "charter runs list --colour",
        "charter runs list --sttus open",
        "charter runs list --output jsn",
        "charter runs list --server",
        "charter runs show run-1 --at zero",
        "charter package validate",
        "charter package rollback backups",
        "charter package history backups --scope everywhere",
        "charter ask",
        "charter ask which backups are stale",
        "charter ask 'Which backups are stale?' -p vault",
        "charter ask 'Which backups are stale?' -p days=18446744073709551616",
        "charter ask 'Which backups are stale?' --param",
        "charter gate explain",
        "charter gate explain vault.list_backups --run run-1",
        "charter evidence attach ev_1",
        "charter graph query paths",
        "charter resolve policies",
        "charter resolve",
        "charter memory add",
        "charter memory add 'We deploy to eu-west-1.' --title Region --tag aws --importance high",
        "charter mission start",
        "charter mission start 'Look at the backups' --model clever",
        "charter approvals approve apr-1",
        "charter candidate promote reliability.stale",
        "charter completions tcsh",
        "charter init 'My Package'",
        "charter key create",
        "charter lens ask keys --top-k many",
        "charter model test 'the fast one'",
        "charter serve --listen 7407",
        "charter serve --role leader",
        "charter tenant export acme",
        "charter route eval --parts a,b",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/usage.txt");
}

/// `--server` for commands that use none.
#[test]
fn errors_of_the_server_flag_are_as_recorded() {
    let mut shown = Transcript::new();
    shown.file("plan.yaml", "id: plan-1\n");
    for line in [
        "charter --server http://127.0.0.1:7407 doctor",
        "charter --server http://127.0.0.1:7407 model list",
        "charter --server http://127.0.0.1:7407 package validate plan.yaml",
        "charter --server http://127.0.0.1:7407 policy schema",
        "charter --server http://127.0.0.1:7407 reindex",
        "charter --server http://127.0.0.1:7407 schema list",
        "charter --server http://127.0.0.1:7407 tenant erase acme",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/server_flag.txt");
}

/// A server that does not answer, and one that is not Charter.
#[test]
fn errors_of_an_unreachable_server_are_as_recorded() {
    let mut shown = Transcript::new();
    shown.package("package", &backups());
    shown.part("Nothing listens at the address");
    for line in [
        "charter --server http://127.0.0.1:1 runs list",
        "charter --server http://127.0.0.1:1 ask 'Which backups are stale?'",
        "charter --server http://127.0.0.1:1 package register package",
        "charter --server http://127.0.0.1:1 events --follow",
        "charter --server http://127.0.0.1:1 health",
        "charter --server 127.0.0.1:7407 runs list",
        "charter --server nowhere runs list",
        "charter executor",
    ] {
        shown.fails(line);
    }
    shown.part("Another program answers");
    let page = "<html><body>Welcome</body></html>";
    let other = HttpStub::start(move |_, _| Reply::new(200, "text/html", page)).unwrap();
    shown.home.set("CHARTER_SERVER", &other.url(""));
    shown.fails("charter runs list");
    shown.fails("charter package register package");
    shown.compare("errors/unreachable.txt");
}

/// Configurations that cannot be read or are refused.
#[test]
fn errors_of_the_configuration_are_as_recorded() {
    let mut shown = Transcript::new();
    shown.file("syntax.toml", "listen = \n");
    shown.file("unknown.toml", "lisen = \"127.0.0.1:7407\"\n");
    shown.file("type.toml", "[limits]\ntimeout_ms = \"soon\"\n");
    let key = "[[auth.keys]]\nsha256 = \"aa\"\ntenant = \"acme\"\nuser = \"ann\"\n";
    shown.file("role.toml", format!("{key}role = \"king\"\n"));
    shown.file("text", "not a directory\n");
    for line in [
        "charter --config missing.toml config show",
        "charter --config syntax.toml config show",
        "charter --config unknown.toml config show",
        "charter --config type.toml config show",
        "charter --config role.toml config show",
        "CHARTER_LIMITS__TIMEOUT_MS=soon charter config show",
        "CHARTER_LIMITS__TIMEOUT=1 charter config show",
        "CHARTER_LISTEN=here charter config show",
        "CHARTER_REPLICA__RUNS=0 charter serve",
        "CHARTER_MODEL__SOURCE=remote charter serve",
        "charter serve --role worker",
        "charter serve --listen 0.0.0.0:7407",
        "charter --store mysql://db.example.com/charter runs list",
        "charter --data-dir text runs list",
        "CHARTER_LISTEN=127.0.0.1:1 charter health",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/configuration.txt");
}

/// Files and directories that commands read and write.
#[test]
fn errors_of_files_are_as_recorded() {
    let mut shown = Transcript::new();
    shown.package("package", &backups());
    shown.file("text.txt", "a text\n");
    shown.file("broken.json", "{\"id\": \"plan-1\",}\n");
    shown.file("full/file", "");
    for line in [
        "charter schema show tol",
        "charter schema show invoice",
        "charter runs start missing.yaml",
        "charter runs start broken.json",
        "charter runs start text.txt",
        "charter evidence verify missing.jsonl",
        "charter evidence verify text.txt",
        "charter mission verify missing.bundle",
        "charter mission verify text.txt",
        "charter mission import missing.bundle",
        "charter policy test missing",
        "charter policy test package",
        "charter policy test text.txt",
        "charter init package --dir package",
        "charter skills import missing",
        "charter skills import full",
        "charter skills export full",
        "charter backup",
        "charter backup full",
        "charter backup verify missing",
        "charter backup verify full",
        "charter restore missing",
        "charter tenant erase acme --confirm umbra",
        "charter route eval",
        "charter route eval --queries missing.jsonl",
        "charter model test",
        "charter model test fast",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/files.txt");
}
