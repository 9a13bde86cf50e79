//! Connections to a server with the credential of a call: one for each secret, opened at the first call and closed when
//! no call has used it for a while. The server's own connection lists the tools for the catalogue; a call is made over
//! a personal one, so that the server sees the user's identity. Must not know whose a secret is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use charter_contract::agentic::error::ErrorType;
use charter_contract::ids::Label;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::keep::Keeper;
use super::secret_options::{check_hosts, with_secret};
use super::{Imports, McpServerOptions, Server, ServerCredential};
use crate::Sandbox;
use crate::call::ToolCall;
use crate::outcome::Failure;

/// Most personal connections of this process; a further one closes the one that was idle longest.
const MAX_CONNECTIONS: usize = 64;
/// How long an unused connection stays open.
const IDLE: Duration = Duration::from_secs(600);
/// Interval at which unused connections are closed.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// A server and the digest of a secret.
type ConnectionKey = (Label, [u8; 32]);

/// The personal connections to all servers.
pub(super) struct PersonalConnections {
    sandbox: Arc<Sandbox>,
    open: Mutex<HashMap<ConnectionKey, PersonalConnection>>,
}

struct PersonalConnection {
    server: Arc<PersonalServer>,
    last_used: Instant,
}

/// A server with a secret, and the task that keeps its connection. Dropping it closes the connection.
pub(super) struct PersonalServer {
    pub(super) server: Arc<Server>,
    _keeper: AbortOnDropHandle<()>,
}

impl PersonalConnections {
    pub(super) fn new(sandbox: Arc<Sandbox>) -> Arc<Self> {
        Arc::new(Self {
            sandbox,
            open: Mutex::default(),
        })
    }

    /// Returns the server for a call, connected or connecting with the call's secret.
    pub(super) fn for_call(
        &self,
        options: &McpServerOptions,
        credential: &ServerCredential,
        call: &ToolCall,
    ) -> Result<Arc<PersonalServer>, Failure> {
        let mut granted = call.environment.iter();
        let secret = granted.find(|(name, _)| *name == credential.variable);
        let Some((_, secret)) = secret else {
            let message = format!(
                "the MCP server `{}` needs the credential `{}`, which the call does not have",
                options.name, credential.name
            );
            return Err(Failure::new(ErrorType::PermissionError, message));
        };
        check_hosts(options, credential, &call.egress)
            .map_err(|message| Failure::new(ErrorType::PermissionError, message))?;
        let key: ConnectionKey = (options.name.clone(), Sha256::digest(secret).into());
        let mut open = self.lock();
        let now = Instant::now();
        if let Some(known) = open.get_mut(&key) {
            known.last_used = now;
            return Ok(Arc::clone(&known.server));
        }
        if open.len() >= MAX_CONNECTIONS {
            let idle = open.iter().min_by_key(|(_, one)| one.last_used);
            if let Some(idle) = idle.map(|(key, _)| key.clone()) {
                open.remove(&idle);
            }
        }
        let server = Arc::new(self.connect(with_secret(options, credential, secret)));
        let connection = PersonalConnection {
            server: Arc::clone(&server),
            last_used: now,
        };
        open.insert(key, connection);
        Ok(server)
    }

    /// Starts to connect. Each call checks the server's list of tools, which is not published.
    fn connect(&self, options: McpServerOptions) -> PersonalServer {
        let imports = Imports::connecting(std::iter::once(options.name.clone()));
        let unpublished = Arc::new(watch::channel(Arc::new(imports)).0);
        let server = Arc::new(Server::new(options, &self.sandbox));
        let keeper = Keeper::new(Arc::clone(&server), Arc::clone(&self.sandbox), unpublished);
        PersonalServer {
            server,
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.keep())),
        }
    }

    fn close_idle(&self) {
        self.lock().retain(|_, one| one.last_used.elapsed() < IDLE);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionKey, PersonalConnection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes unused connections, as long as there are any owners of them.
pub(super) async fn close_idle_forever(connections: Weak<PersonalConnections>) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        match connections.upgrade() {
            Some(connections) => connections.close_idle(),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use charter_contract::ids::ToolId;
    use serde_json::Map;

    use super::super::McpTransport;
    use super::super::fake::{options, sandbox};
    use super::*;
    use crate::ServerHome;
    use crate::call::{DryRun, Limits, McpTool, Repeat, Target, ToolImplementation};
    use crate::room::UnlimitedOutput;

    fn call(environment: &[(&str, &str)]) -> ToolCall {
        let granted = environment.iter();
        ToolCall {
            tool_id: ToolId::parse("mcp.files.read").unwrap(),
            implementation: ToolImplementation::Mcp(McpTool {
                server: Label::parse("files").unwrap(),
                name: "read".to_owned(),
                definition: String::new(),
                wire_names: BTreeMap::new(),
                repeat: Repeat::Safe,
                link: None,
            }),
            target: Target::Here,
            parameters: Map::new(),
            dry_run: DryRun::No,
            limits: Limits::default(),
            environment: granted
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            egress: Vec::new(),
            readable: Vec::new(),
            idempotency_key: "run-1/step-1".to_owned(),
            room: Arc::new(UnlimitedOutput),
        }
    }

    fn credential() -> ServerCredential {
        ServerCredential {
            name: Label::parse("files").unwrap(),
            variable: "FILES".to_owned(),
            header: "authorization".to_owned(),
        }
    }

    #[tokio::test]
    async fn each_secret_has_a_connection_of_its_own() {
        let (sandbox, _folder) = sandbox().await;
        let connections = PersonalConnections::new(sandbox);
        let options = options("http://127.0.0.1:1/");
        let server = |secret: &str| {
            let call = call(&[("FILES", secret)]);
            connections
                .for_call(&options, &credential(), &call)
                .unwrap()
        };
        let (mia, ben) = (server("of-mia"), server("of-ben"));
        assert!(Arc::ptr_eq(&mia, &server("of-mia")));
        assert!(!Arc::ptr_eq(&mia, &ben));
        let McpTransport::Http { headers, .. } = &mia.server.options.transport else {
            panic!("another transport");
        };
        let sent: Vec<_> = headers.iter().map(|header| header.value.as_str()).collect();
        assert_eq!(sent, ["Bearer of-mia"]);
        let refused = connections.for_call(&options, &credential(), &call(&[]));
        assert_eq!(
            refused.err().map(|refused| refused.kind),
            Some(ErrorType::PermissionError)
        );
    }

    #[test]
    fn a_program_with_the_secret_of_a_user_has_a_home_of_its_own() {
        let mut options = options("http://127.0.0.1:1/");
        options.transport = McpTransport::Stdio {
            home: ServerHome::Kept,
            command: "/bin/true".into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            settings: Vec::new(),
            runtime: Vec::new(),
            search_path: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            egress: Vec::new(),
            daemon: None,
        };
        let own = with_secret(&options, &credential(), "of-mia");
        let McpTransport::Stdio {
            home, environment, ..
        } = own.transport
        else {
            panic!("another transport");
        };
        let expected = [("FILES".to_owned(), "of-mia".to_owned())];
        assert_eq!(
            (home, &environment[..]),
            (ServerHome::OfProcess, &expected[..])
        );
    }

    #[tokio::test]
    async fn a_secret_is_sent_only_to_the_hosts_of_its_credential() {
        let (sandbox, _folder) = sandbox().await;
        let connections = PersonalConnections::new(sandbox);
        let options = options("http://127.0.0.1:1/");
        for (hosts, expected) in [
            (&["127.0.0.1:1"][..], None),
            (&["api.example.com"], Some(ErrorType::PermissionError)),
            (&[], None),
        ] {
            let mut call = call(&[("FILES", "of-mia")]);
            call.egress = hosts.iter().map(|host| host.parse().unwrap()).collect();
            let server = connections.for_call(&options, &credential(), &call);
            let refused = server.err().map(|refused| refused.kind);
            assert_eq!(refused, expected, "{hosts:?}");
        }
    }

    #[tokio::test]
    async fn personal_connections_are_bounded_in_number() {
        let (sandbox, _folder) = sandbox().await;
        let connections = PersonalConnections::new(sandbox);
        let options = options("http://127.0.0.1:1/");
        for number in 0..MAX_CONNECTIONS + 3 {
            let call = call(&[("FILES", &format!("secret-{number}"))]);
            drop(
                connections
                    .for_call(&options, &credential(), &call)
                    .unwrap(),
            );
        }
        assert_eq!(connections.lock().len(), MAX_CONNECTIONS);
    }
}
