//! Notices in PostgreSQL, by LISTEN and NOTIFY on a connection of their own.
//!
//! A writer does not notify in its transaction: the commit of one that does takes a lock of the whole
//! cluster, so that all writers would commit one after the other. It says so here when it has committed,
//! and what comes together is one NOTIFY. Whoever dies in between leaves its messages unannounced; readers
//! look from time to time by themselves.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_store::notices::Notices;
use futures_util::StreamExt;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresStore;

/// The channel, known to all processes over a database.
const CHANNEL: &str = "charter_outbox";

/// Time for which announcements are gathered.
const GATHER: Duration = Duration::from_millis(5);

/// Time between attempts to connect again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The connection of one process, and what it is told and tells.
#[derive(Debug)]
pub(super) struct Announcer {
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Debug, Default)]
struct Shared {
    /// Something was committed here that others are to be told of.
    committed: Notify,
    /// Somebody may have published something.
    heard: Notify,
}

impl Announcer {
    /// Listens from now on, and connects again whenever the connection is lost.
    pub(super) fn start(mut config: Config, tls: MakeRustlsConnect) -> Self {
        config.application_name("charter notices");
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(keep_listening(config, tls, Arc::clone(&shared)));
        Self {
            shared,
            task: task.abort_handle(),
        }
    }

    /// Tells the other processes, soon.
    pub(super) fn announce(&self) {
        self.shared.committed.notify_one();
    }

    /// Ends the connection.
    pub(super) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn keep_listening(config: Config, tls: MakeRustlsConnect, shared: Arc<Shared>) {
    let mut pause = RETRY.0;
    loop {
        match listen(&config, &tls, &shared).await {
            LinkHistory::Something => pause = RETRY.0,
            LinkHistory::Nothing(error) => {
                tracing::warn!(error = %error, "notices of other processes cannot be received; retrying");
                pause = (pause * 2).min(RETRY.1);
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Whether a connection stood before it was lost.
enum LinkHistory {
    Something,
    Nothing(tokio_postgres::Error),
}

/// Listens on one connection until it is lost.
async fn listen(config: &Config, tls: &MakeRustlsConnect, shared: &Arc<Shared>) -> LinkHistory {
    let (client, mut connection) = match config.connect(tls.clone()).await {
        Ok(connected) => connected,
        Err(error) => return LinkHistory::Nothing(error),
    };
    let mut messages =
        futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    let speaking = tokio::spawn(speak(client, Arc::clone(shared)));
    let _ended = AbortOnDrop(speaking.abort_handle());
    let mut before = LinkHistory::Something;
    while let Some(message) = messages.next().await {
        match message {
            Ok(AsyncMessage::Notification(_)) => shared.heard.notify_one(),
            Ok(_) => {}
            Err(error) => {
                before = LinkHistory::Nothing(error);
                break;
            }
        }
    }
    // What was said meanwhile was missed.
    shared.heard.notify_one();
    before
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to listen, then tells the others whenever something was committed here.
async fn speak(client: Client, shared: Arc<Shared>) {
    if client
        .batch_execute(&format!("LISTEN {CHANNEL}"))
        .await
        .is_err()
    {
        return;
    }
    // What was published before this connection listened has to be looked for.
    shared.heard.notify_one();
    loop {
        shared.committed.notified().await;
        tokio::time::sleep(GATHER).await;
        if client
            .batch_execute(&format!("NOTIFY {CHANNEL}"))
            .await
            .is_err()
        {
            // Said again on the next connection.
            shared.committed.notify_one();
            return;
        }
    }
}

#[async_trait]
impl Notices for PostgresStore {
    fn is_shared(&self) -> bool {
        true
    }

    async fn notice(&self) {
        self.announcer.shared.heard.notified().await;
    }
}

impl PostgresStore {
    /// Tells the other processes that messages were committed, if there were any.
    pub(super) fn announce(&self, messages: usize) {
        if messages > 0 {
            self.announcer.announce();
        }
    }
}
