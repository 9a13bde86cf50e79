//! Notices in PostgreSQL, by LISTEN and NOTIFY on a dedicated connection.
//!
//! A writer does not notify in its transaction: the commit of a notifying transaction takes a cluster-wide lock, so
//! that all writers would commit in sequence. Instead it announces its commit here, and announcements within a short
//! time share one NOTIFY. If the process dies in between, its messages stay unannounced; readers also poll at
//! intervals.

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

/// The channel, shared by all processes on a database.
const CHANNEL: &str = "charter_outbox";

/// How long announcements are collected.
const GATHER: Duration = Duration::from_millis(5);

/// First and longest pause between reconnects.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The connection of one process, for incoming and outgoing notices.
#[derive(Debug)]
pub(super) struct Announcer {
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Debug, Default)]
struct Shared {
    /// This process committed messages that other processes need to know about.
    committed: Notify,
    /// Another process may have published messages.
    heard: Notify,
}

impl Announcer {
    /// Starts listening, and reconnects whenever the connection is lost.
    pub(super) fn start(mut config: Config, tls: MakeRustlsConnect) -> Self {
        config.application_name("charter notices");
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(keep_listening(config, tls, Arc::clone(&shared)));
        Self {
            shared,
            task: task.abort_handle(),
        }
    }

    /// Notifies the other processes soon.
    pub(super) fn announce(&self) {
        self.shared.committed.notify_one();
    }

    /// Closes the connection.
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

/// Whether a connection was open before it was lost.
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
    // Notices during the interruption were missed.
    shared.heard.notify_one();
    before
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts listening, then notifies the others after commits of this process.
async fn speak(client: Client, shared: Arc<Shared>) {
    if client
        .batch_execute(&format!("LISTEN {CHANNEL}"))
        .await
        .is_err()
    {
        return;
    }
    // Messages from before this connection listened have to be read.
    shared.heard.notify_one();
    loop {
        shared.committed.notified().await;
        tokio::time::sleep(GATHER).await;
        if client
            .batch_execute(&format!("NOTIFY {CHANNEL}"))
            .await
            .is_err()
        {
            // The next connection sends it again.
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
        self.engine.announcer.shared.heard.notified().await;
    }
}
