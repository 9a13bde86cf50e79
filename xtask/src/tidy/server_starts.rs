//! Limits the number of tests in the end-to-end suite that start their own server. Starting a server takes longer than
//! most tests, so the limit may only decrease: tests share a server through `Tenants`
//! (`crates/cli/tests/suite/shared.rs`).
//!
//! A test starts a server if it calls `.serve()`, spawns a serving command, or calls a function of the suite that
//! does. Three cases do not count: a command that runs to completion (`home.run`), a server that lives as long as the test
//! process (`serve_to_the_end`), because tests share it, and an ignored test, which a make target starts by itself.
//!
//! Calls are followed by name, within the limits of `xtask/src/tidy/call_graph.rs`. The spawned command is determined
//! from the string literals of the function that spawns it. Servers that a shell or another program starts are not
//! detected.

use super::call_graph::{Function, functions, reaching};
use crate::finding::Finding;
use crate::workspace::TextFile;

/// Maximum number of tests that start their own server. Decrease it in the commit that makes tests share one.
const MOST_STARTS: usize = 214;

/// File with the limit.
const BOUND: &str = "xtask/src/tidy/server_starts.rs";

/// Directory of the suite.
pub(crate) const SUITE: &str = "crates/cli/tests/suite/";

/// Modules that start servers for all others and communicate with them: their calls are not followed.
const KEEPERS: [&str; 3] = ["home", "home::api", "shared"];

/// Methods of `Home` that start a long-running command, or prepare it for another program to start.
const STARTS: [&str; 3] = ["spawn", "startable", "watch"];

/// Commands that serve.
const SERVING: [&str; 3] = ["serve", "dev", "mcp"];

/// Reports a number of server-starting tests that differs from the limit.
pub(crate) fn check<'f>(suite: impl Iterator<Item = &'f TextFile>) -> Option<Finding> {
    compare(functions_that_start(suite).len(), MOST_STARTS)
}

fn compare(count: usize, most: usize) -> Option<Finding> {
    let message = if count > most {
        format!(
            "{count} tests start a server of their own, at most {most} may: share one by `Tenants`, or test below the server"
        )
    } else if count < most {
        format!(
            "{count} tests start a server of their own: lower `MOST_STARTS` from {most} to {count}"
        )
    } else {
        return None;
    };
    Some(Finding::error(BOUND, 1, message))
}

/// Returns the paths of the tests that start a server.
fn functions_that_start<'f>(suite: impl Iterator<Item = &'f TextFile>) -> Vec<String> {
    let functions = functions(SUITE, suite, &KEEPERS);
    let tests = reaching(&functions, &starts_server).into_iter();
    let tests = tests.filter(|function| function.is_test && !function.is_ignored);
    tests.map(|test| test.path.clone()).collect()
}

fn starts_server(function: &Function) -> bool {
    let calls = |name: &&str| function.calls_method(name);
    let serves = |command: &&str| function.has_literal(command);
    calls(&"serve") || STARTS.iter().any(calls) && SERVING.iter().any(serves)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(files: &[(&str, &str)]) -> Vec<TextFile> {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: format!("{SUITE}{path}"),
            text: (*text).to_owned(),
        };
        files.iter().map(file).collect()
    }

    const HOME: (&str, &str) = (
        "home.rs",
        "impl Home { fn serve(&self) { self.spawn(&SERVE) } fn run(&self) { self.serve() } }",
    );

    const SHARED: (&str, &str) = (
        "shared.rs",
        "impl Tenants { fn one() -> Self { home.serve() } }",
    );

    #[test]
    fn server_starts_are_found_directly_and_through_calls() {
        let gate = "use crate::home::Home;
            use crate::shared::Tenants;
            #[test] fn a() { Home::new().serve(); }
            #[test] fn b() { served(); }
            #[test] fn c() { Tenants::one(); home.run(&[\"serve\"]); }
            #[test] fn d() { /* home.serve() */ says(\"home.serve()\"); }
            fn served() { let home = Home::new(); home.serve() }";
        let mcp = "use crate::gate;
            #[tokio::test] async fn a() { gate::served(); }
            #[test] fn b() { home.spawn(&[\"serve\", \"--listen\", \"127.0.0.1:0\"]); }
            #[test] fn c() { home.spawn(&[\"executor\"]); }
            #[test] fn d() { home.startable(&[\"mcp\"]); }
            #[test] fn e() { home.serve_to_the_end(); }
            #[test] #[ignore = \"started by a target\"] fn f() { home.serve(); }
            #[test] fn g() { home.startable(&[\"mcp\"]); }";
        let files = suite(&[("gate.rs", gate), HOME, ("mcp/tasks.rs", mcp), SHARED]);
        assert_eq!(
            functions_that_start(files.iter()),
            [
                "gate::a",
                "gate::b",
                "mcp::tasks::a",
                "mcp::tasks::b",
                "mcp::tasks::d",
                "mcp::tasks::g"
            ]
        );
    }

    #[test]
    fn the_number_of_starts_is_the_bound() {
        let found = |count| compare(count, 2);
        let error = |message: &str| Some(Finding::error(BOUND, 1, message));
        assert_eq!(found(2), None);
        assert_eq!(
            found(3),
            error(
                "3 tests start a server of their own, at most 2 may: share one by `Tenants`, or test below the server"
            )
        );
        assert_eq!(
            found(1),
            error("1 tests start a server of their own: lower `MOST_STARTS` from 2 to 1")
        );
    }
}
