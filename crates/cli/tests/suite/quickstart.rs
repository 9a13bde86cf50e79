//! The quickstart's question against the simulated account, judged by an independent count.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::home::{Home, project, target};

/// The simulator with its estate; stopped when it goes out of scope.
pub(crate) struct Simulator {
    python: PathBuf,
    port: String,
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
        let probe = TcpListener::bind("127.0.0.1:0").unwrap();
        let simulator = Self {
            python,
            port: probe.local_addr().unwrap().port().to_string(),
            state: TempDir::new().unwrap(),
        };
        drop(probe);
        simulator.control("start");
        simulator.script("estate.py", &[]);
        simulator
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn control(&self, command: &str) {
        let state = self.state.path().to_str().unwrap();
        let place = [command, "--port", &self.port, "--state", state];
        self.script("simulator.py", &place);
    }

    /// A home whose tools may reach the simulator.
    pub(crate) fn granted_to(&self, home: Home) -> Home {
        home.with("CHARTER_TOOLS__PYTHON", self.python.to_str().unwrap())
            .with(
                "CHARTER_TOOLS__ENVIRONMENT",
                "AWS_ENDPOINT_URL,AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY",
            )
            .with("CHARTER_TOOLS__EGRESS", &self.host())
            .with("AWS_ENDPOINT_URL", &format!("http://{}", self.host()))
            .with("AWS_ACCESS_KEY_ID", "simulated")
            .with("AWS_SECRET_ACCESS_KEY", "simulated")
    }

    /// What the independent script finds in the estate as it is now.
    pub(crate) fn expected(&self, region: &str) -> Compared {
        let expected = self.script("expected_findings.py", &["--region", region]);
        compared(&serde_json::from_str(&expected).unwrap())
    }

    /// Runs one of the quickstart's scripts; its output.
    fn script(&self, name: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(&self.python);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.state.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("AWS_ENDPOINT_URL", format!("http://{}", self.host()))
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

/// What is compared of a finding.
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
        let folder = project().join("packages").join(package);
        let registered = home.run(&["package", "register", folder.to_str().unwrap()]);
        assert_eq!(registered.code, Some(0), "{registered:?}");
    }
}

/// The findings are those that a plain boto3 script counts over the same estate; each is proven.
#[test]
fn the_quickstart_finds_what_an_independent_script_finds() {
    let simulator = Simulator::start();
    let home = simulator.granted_to(Home::new());
    let server = home.serve();
    register(&home);
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
