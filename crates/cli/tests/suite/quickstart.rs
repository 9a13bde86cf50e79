//! The shipped packages against the simulated account and simulated services: the quickstart's question, checked against
//! an independent count, and every example of theirs.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::home::{Home, Server, ids, project, request, target};

/// The simulator with its estate; stopped when it goes out of scope.
pub(crate) struct Simulator {
    python: PathBuf,
    endpoint: String,
    state: TempDir,
}

impl Simulator {
    pub(crate) fn start() -> Self {
        let python = target().join("quickstart-venv/bin/python");
        assert!(
            python.is_file(),
            "this test needs {} with quickstart/requirements.txt installed: `make ready` installs it",
            python.display()
        );
        let mut simulator = Self {
            python,
            endpoint: String::new(),
            state: TempDir::new().unwrap(),
        };
        simulator.endpoint = simulator.control("start").trim().to_owned();
        simulator.script("estate.py", &[]);
        simulator
    }

    /// The address of the account's APIs.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn host(&self) -> &str {
        self.endpoint.trim_start_matches("http://")
    }

    fn control(&self, command: &str) -> String {
        let state = self.state.path().to_str().unwrap();
        self.script("simulator.py", &[command, "--port", "0", "--state", state])
    }

    /// A home whose tools may reach the simulator.
    pub(crate) fn granted_to(&self, home: Home) -> Home {
        home.with("CHARTER_TOOLS__PYTHON", self.python.to_str().unwrap())
            .with(
                "CHARTER_TOOLS__ENVIRONMENT",
                "AWS_ENDPOINT_URL,AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY",
            )
            .with("CHARTER_TOOLS__EGRESS", self.host())
            .with("AWS_ENDPOINT_URL", &self.endpoint)
            .with("AWS_ACCESS_KEY_ID", "simulated")
            .with("AWS_SECRET_ACCESS_KEY", "simulated")
    }

    /// The current findings of the independent script.
    pub(crate) fn expected(&self, region: &str) -> Compared {
        let expected = self.script("expected_findings.py", &["--region", region]);
        compared(&serde_json::from_str(&expected).unwrap())
    }

    /// Runs one of the quickstart's scripts; returns its output.
    fn script(&self, name: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(&self.python);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.state.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("AWS_ENDPOINT_URL", &self.endpoint)
            .env("AWS_ACCESS_KEY_ID", "simulated")
            .env("AWS_SECRET_ACCESS_KEY", "simulated")
            .arg(project().join("quickstart").join(name))
            .args(arguments)
            .stderr(Stdio::inherit());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        if self.state.path().join("simulator.pid").exists() {
            self.control("stop");
        }
    }
}

/// A stand-in server of the quickstart on a free port; killed when it goes out of scope.
pub(crate) struct StandIn {
    child: Child,
    pub(crate) port: String,
}

impl StandIn {
    pub(crate) fn start(script: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new("python3")
            .arg(project().join("quickstart").join(script))
            .args(["--port", "0"])
            .args(arguments)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let port = line.trim().rsplit_once(':').expect("it listens").1;
        Self {
            port: port.to_owned(),
            child,
        }
    }

    /// Sends one request to it.
    pub(crate) fn send(&self, request: &str, headers: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.0\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The number of examples of the packages. Each is tested, so none may be removed to pass.
const EXAMPLES: usize = 264;

/// The credentials of the packages that call services.
const CREDENTIALS: &str = r#"
[credentials.definitions.github]
kind = "static"
hosts = ["127.0.0.1:*"]
secret = { variable = "SIMULATED_TOKEN" }

[credentials.definitions.kubernetes]
kind = "static"
hosts = ["127.0.0.1:*"]
secret = { variable = "SIMULATED_TOKEN" }
"#;

/// The compared fields of a finding.
const COMPARED: [&str; 7] = [
    "rule_id",
    "resource_type",
    "resource_id",
    "protocol",
    "port",
    "cidr",
    "severity",
];

pub(crate) type Compared = BTreeSet<[String; 7]>;

pub(crate) fn compared(findings: &Value) -> Compared {
    let one = |finding: &Value| {
        COMPARED.map(|field| {
            let found = finding.get(field).or_else(|| finding["fields"].get(field));
            found
                .and_then(Value::as_str)
                .unwrap_or_else(|| panic!("no {field}: {finding:#}"))
                .to_owned()
        })
    };
    findings.as_array().unwrap().iter().map(one).collect()
}

/// Puts the quickstart's packages in force.
pub(crate) fn register(home: &Home) {
    for package in ["aws-security", "cost-hygiene"] {
        register_shipped(home, package);
    }
}

/// Puts one of the shipped packages in force.
pub(crate) fn register_shipped(home: &Home, package: &str) {
    let folder = project().join("packages").join(package);
    let registered = home.run(&["package", "register", folder.to_str().unwrap()]);
    assert_eq!(registered.code, Some(0), "{registered:?}");
}

/// The findings equal those of a plain boto3 script over the same estate; each has evidence.
fn finds_what_an_independent_script_finds(simulator: &Simulator, home: &Home, server: &Server) {
    for (region, question) in [
        (
            "us-east-1",
            "Which of my security groups are open to the internet?",
        ),
        (
            "eu-west-1",
            "Which of my security groups in eu-west-1 are open to the internet?",
        ),
    ] {
        let answer = home.run(&["ask", question, "--output", "json"]).json(0);
        let metadata = &answer["metadata"];
        assert_eq!(metadata["verdict"]["kind"], "narrow", "{answer:#}");
        let expected = simulator.expected(region);
        let found = compared(&metadata["findings"]);
        assert!(!expected.is_empty());
        let missing: Vec<_> = expected.difference(&found).collect();
        let extra: Vec<_> = found.difference(&expected).collect();
        assert!(
            missing.is_empty() && extra.is_empty(),
            "{region}: missing {missing:#?}, extra {extra:#?}"
        );
        assert_eq!(
            metadata["findings"].as_array().unwrap().len(),
            expected.len()
        );
        for finding in metadata["findings"].as_array().unwrap() {
            let id = finding["evidence_ids"][0].as_str().unwrap();
            assert!(
                metadata["evidence_ids"].to_string().contains(id),
                "{finding:#}"
            );
            assert!(finding["rendered"]["title"].is_string(), "{finding:#}");
        }
        for id in metadata["evidence_ids"].as_array().unwrap() {
            let record = server
                .api
                .get(&format!("/v1/evidence/{}", id.as_str().unwrap()))
                .expect(200);
            let href = record["console_links"][0]["href"].as_str().unwrap();
            assert!(
                href.starts_with("https://") && href.contains(region),
                "{href}"
            );
        }
        assert_eq!(metadata["evidence_ids"].as_array().unwrap().len(), 3);
    }
}

/// The documents of a folder of a package.
fn documents(package: &Path, folder: &str) -> Vec<Value> {
    let Ok(files) = std::fs::read_dir(package.join(folder)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        match charter_domain::source::read(&text).unwrap().value {
            Value::Array(documents) => found.extend(documents),
            document => found.push(document),
        }
    }
    found
}

/// Each example of a package's documents of one kind, with the id of its document.
fn examples(package: &Path, folder: &str, id: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for document in documents(package, folder) {
        for example in document["examples"].as_array().unwrap() {
            let id = document[id].as_str().unwrap();
            found.push((id.to_owned(), example.as_str().unwrap().to_owned()));
        }
    }
    found
}

/// The messages that a package's guardrails add to answers.
fn guardrail_messages(package: &Path) -> BTreeSet<String> {
    let guardrails = documents(package, "guardrails").into_iter();
    let message = |guardrail: Value| {
        let text = |field: &str| guardrail[field].as_str().unwrap().to_owned();
        format!("{}: {}", text("guardrail_id"), text("message"))
    };
    guardrails.map(message).collect()
}

/// Sends every example of a package without parameters: those of a skill are answered, those of a playbook end in its
/// plan or name its missing parameters. Returns their number.
fn every_example_is_answered(
    server: &Server,
    package: &Path,
    expected: &BTreeSet<String>,
) -> usize {
    let skills = examples(package, "skills", "skill_id");
    for (skill, example) in &skills {
        let answer = server.api.ask(&request(example)).expect(200);
        let metadata = &answer["metadata"];
        assert_ne!(metadata["flow"], "write", "{example}: {answer:#}");
        let candidates = ids(&metadata["verdict"]["candidates"], "id");
        assert_eq!(candidates.first(), Some(skill), "{example}: {candidates:?}");
        for warning in metadata["warnings"].as_array().unwrap() {
            let warning = warning.as_str().unwrap();
            assert!(expected.contains(warning), "{example}: {warning}");
        }
        for finding in metadata["findings"].as_array().unwrap() {
            let title = &finding["rendered"]["title"];
            assert!(title.is_string(), "{example}: {finding:#}");
        }
    }
    let playbooks = examples(package, "playbooks", "playbook_id");
    for (playbook, example) in &playbooks {
        let answer = server.api.ask(&request(example)).expect(200);
        let metadata = &answer["metadata"];
        let first = &metadata["verdict"]["candidates"][0]["id"];
        assert_eq!(first, playbook.as_str(), "{example}: {answer:#}");
        let missing = metadata["missing_parameters"].as_array().unwrap();
        let content = answer["content"].as_str().unwrap();
        let named = |name: &Value| content.contains(name.as_str().unwrap());
        assert!(missing.iter().all(named), "{example}: {content}");
        assert!(metadata["plan_digest"].is_string(), "{example}: {answer:#}");
    }
    skills.len() + playbooks.len()
}

/// The values of a field of all findings, in order.
fn numbers(answer: &Value, field: &str) -> Vec<f64> {
    let findings = answer["metadata"]["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["fields"][field].as_f64().unwrap())
        .collect()
}

/// Summaries agree with their findings: the highest score comes first, and a total is the sum of its parts.
fn summaries_are_right(server: &Server) {
    let ask = |text: &str| server.api.ask(&request(text)).expect(200);
    let answer = ask("What should I fix first?");
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.contains("First: 1. demo-bastion (critical, 100: "),
        "{content}"
    );
    let scores = numbers(&answer, "score");
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    for (question, field) in [
        ("find idle resources that waste money", "monthly_cost_usd"),
        (
            "how much would we save with gp3 volumes",
            "monthly_saving_usd",
        ),
    ] {
        let answer = ask(question);
        let costs = numbers(&answer, field);
        let total: f64 = costs.iter().sum();
        let content = answer["content"].as_str().unwrap();
        assert!(total > 1.0, "{content}");
        assert!(
            content.contains(&format!("about {total:.2} US dollars a month")),
            "{content}"
        );
        assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
    }
    let answer = ask("which leads have the highest intent");
    let content = answer["content"].as_str().unwrap();
    let first = "First: Marina Holdings (94), Al Noor Family Office (88), Creek Capital (83).";
    assert!(content.contains(first), "{content}");
}

/// Writes a copy of the package github whose tools call a server on this machine: GitHub's host is fixed in their URLs.
fn github_package_at(port: &str, copy: &Path) {
    let original = project().join("packages/github");
    let mut command = Command::new("cp");
    let copied = command.arg("-r").arg(&original).arg(copy).status();
    assert!(copied.unwrap().success());
    for tool in std::fs::read_dir(copy.join("tools")).unwrap() {
        let path = tool.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text
            .replace(
                "https://api.github.com",
                &format!("http://127.0.0.1:{port}"),
            )
            .replace("[api.github.com]", &format!("[\"127.0.0.1:{port}\"]"));
        std::fs::write(&path, text).unwrap();
    }
}

/// The stand-ins of the services that the packages call.
struct Services {
    crm: StandIn,
    github: StandIn,
    kubernetes: StandIn,
}

impl Services {
    fn start(home: &Home) -> Self {
        let database = home.path("crm.db");
        let token = ["--token", "simulated"];
        Self {
            crm: StandIn::start("crm.py", &["--database", database.to_str().unwrap()]),
            github: StandIn::start("github_server.py", &token),
            kubernetes: StandIn::start("kubernetes_server.py", &token),
        }
    }

    /// A home whose tools may reach the simulated account and these services.
    fn granted_to(&self, home: Home, simulator: &Simulator) -> Home {
        let granted = "AWS_ENDPOINT_URL,AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY,CRM_PORT,GITHUB_OWNER,\
                       KUBERNETES_PROXY_PORT";
        simulator
            .granted_to(home)
            .with("CHARTER_TOOLS__ENVIRONMENT", granted)
            .with("CHARTER_TOOLS__EGRESS", "127.0.0.1:*")
            // Evidence of a cluster links to the page of its run.
            .with("CHARTER_A2A__PUBLIC_URL", "https://charter.example")
            .with("SIMULATED_TOKEN", "simulated")
            .with("GITHUB_OWNER", "acme-platform")
            .with("CHARTER_TOOLS__PLAIN", "GITHUB_OWNER,KUBERNETES_PROXY_PORT")
            .with("KUBERNETES_PROXY_PORT", &self.kubernetes.port)
            .with("CRM_PORT", &self.crm.port)
    }

    /// The folders of the shipped packages, in order of their names. That of GitHub is a copy for its stand-in.
    fn packages(&self, home: &Home) -> Vec<PathBuf> {
        let shipped = std::fs::read_dir(project().join("packages")).unwrap();
        let mut packages: Vec<PathBuf> = shipped.map(|folder| folder.unwrap().path()).collect();
        packages.sort();
        let copy = home.path("github");
        github_package_at(&self.github.port, &copy);
        for package in &mut packages {
            if package.ends_with("github") {
                package.clone_from(&copy);
            }
        }
        packages
    }
}

/// The shipped packages, and the one that `charter init` creates, answer their examples, on one server. The tenant's own
/// skill does not answer the examples of the global ones (ruling 66).
#[test]
fn shipped_packages_find_what_is_there_and_answer_their_examples() {
    let simulator = Simulator::start();
    let home = Home::new().configured(CREDENTIALS);
    let services = Services::start(&home);
    let home = services.granted_to(home, &simulator);
    let server = home.serve();
    let begun = home.path("service-owners");
    let init = home.run(&["init", "service-owners", "--dir", begun.to_str().unwrap()]);
    assert_eq!(init.code, Some(0), "{init:?}");
    let packages = services.packages(&home);
    let put_in_force = |package: &Path| {
        let registered = home.run(&["package", "register", package.to_str().unwrap()]);
        assert_eq!(registered.code, Some(0), "{registered:?}");
    };
    for package in &packages {
        put_in_force(package);
    }
    finds_what_an_independent_script_finds(&simulator, &home, &server);
    let messages = packages
        .iter()
        .flat_map(|package| guardrail_messages(package));
    let mut expected: BTreeSet<String> = messages.collect();
    put_in_force(&begun);
    expected.extend(guardrail_messages(&begun));
    let examples = packages
        .iter()
        .map(|package| every_example_is_answered(&server, package, &expected));
    assert_eq!(examples.sum::<usize>(), EXAMPLES);
    summaries_are_right(&server);
    assert!(every_example_is_answered(&server, &begun, &expected) >= 3);
    for (question, service) in [
        ("who owns the payments service?", "payments"),
        ("whom do I call when checkout is down", "checkout"),
        ("which team looks after search", "search"),
    ] {
        let answer = server.api.ask(&request(question)).expect(200);
        let findings = &answer["metadata"]["findings"];
        assert_eq!(ids(findings, "resource_id"), [service], "{answer:#}");
    }
}
