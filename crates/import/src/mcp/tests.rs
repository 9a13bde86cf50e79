//! Configurations as their clients write them.

use std::collections::BTreeMap;

use super::*;

fn read_all(text: &str) -> ClientConfig {
    read(text, &Placeholders::default()).unwrap()
}

fn literal(value: &str) -> Setting {
    Setting::Literal(value.to_owned())
}

#[test]
fn servers_of_claude_and_cursor_are_read() {
    let config = read_all(
        r#"{"mcpServers": {
            "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"]},
            "github": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
                "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "x", "PORT": 8080}, "envFile": ".env", "autoApprove": []},
            "remote": {"type": "http", "url": "https://mcp.example.com/mcp",
                "headers": {"Authorization": "Bearer ${API_KEY}"}},
            "off": {"command": "x", "disabled": true},
            "old": {"type": "sse", "url": "https://old.example/sse"}
        }}"#,
    );
    let [files, github, remote] = config.servers.as_slice() else {
        panic!("{config:?}")
    };
    let arguments = ["-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"];
    assert_eq!(
        files.transport,
        ClientTransport::Program {
            command: "npx".to_owned(),
            arguments: arguments.map(str::to_owned).to_vec(),
            environment: BTreeMap::new(),
        }
    );
    let ClientTransport::Program { environment, .. } = &github.transport else {
        panic!("{github:?}")
    };
    assert_eq!(environment["PORT"], literal("8080"));
    assert_eq!(
        github.notes,
        ["`envFile` is not read: name its variables in `environment`"]
    );
    let ClientTransport::Link { url, headers } = &remote.transport else {
        panic!("{remote:?}")
    };
    assert_eq!(url, "https://mcp.example.com/mcp");
    let bearer = Setting::Mixed("Bearer ${API_KEY}".to_owned());
    assert_eq!(headers["Authorization"], bearer);
    let left_out: Vec<&str> = config.left_out.iter().map(|(name, _)| &**name).collect();
    assert_eq!(left_out, ["off", "old"]);
}

#[test]
fn servers_of_vs_code_are_read_with_comments_inputs_and_settings() {
    let servers = r#"{"servers": {
        // the organisation's
        "db": {"type": "stdio", "command": "uvx", "args": ["mcp-server-sqlite",],
            "env": {"DB_KEY": "${input:db-key}", "GONE": null}, "cwd": "${workspaceFolder}"},
    }, "inputs": [{"id": "db-key", "type": "promptString", "password": true}]}"#;
    for text in [servers.to_owned(), format!("{{\"mcp\": {servers}}}")] {
        let config = read_all(&text);
        assert_eq!(config.servers.len(), 1, "{config:?}");
        let ClientTransport::Program { environment, .. } = &config.servers[0].transport else {
            panic!("{config:?}")
        };
        let key = Setting::Input("db-key".to_owned());
        assert_eq!(*environment, BTreeMap::from([("DB_KEY".to_owned(), key)]));
        assert_eq!(config.servers[0].notes.len(), 1);
    }
}

/// A malformed server does not affect the others.
#[test]
fn a_server_that_cannot_be_read_is_left_out_with_the_reason() {
    let config = read_all(
        r#"{"mcpServers": {"a": 1, "b": {}, "c": {"command": "x", "url": "y"}, "d": {"command": "x", "args": "y"},
            "e": {"command": "x", "env": {"A": []}}, "f": {"command": "x", "args": ["${env:A}"]}, "g": {"command": "x"}}}"#,
    );
    assert_eq!(config.servers.len(), 1);
    let reasons: Vec<&str> = config
        .left_out
        .iter()
        .map(|(_, reason)| &**reason)
        .collect();
    assert_eq!(
        reasons[..5],
        [
            "it is not an object",
            "it has neither a `command` nor a `url`",
            "it has both a `command` and a `url`",
            "its `args` is not a list",
            "the value of A in `env` is not a text",
        ]
    );
    assert!(reasons[5].contains("`${env:A}`"), "{reasons:?}");
}

#[test]
fn another_file_is_refused() {
    let none = Placeholders::default();
    assert_eq!(read("{}", &none), Err(ClientConfigError::NoServers));
    assert_eq!(
        read("{\"servers\": []}", &none),
        Err(ClientConfigError::NoServers)
    );
    assert!(matches!(
        read("servers:", &none),
        Err(ClientConfigError::Json(_))
    ));
    let many: Vec<String> = (0..=MCP_CLIENT_SERVERS)
        .map(|n| format!("\"s{n}\": {{\"command\": \"x\"}}"))
        .collect();
    let many = format!("{{\"servers\": {{{}}}}}", many.join(","));
    let refused = ClientConfigError::TooMany(MCP_CLIENT_SERVERS + 1);
    assert_eq!(read(&many, &none), Err(refused));
}
