//! Renews tokens of users at authorization servers. At most one process renews a token at a time: some servers end all
//! access if a refresh token is used twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use charter_contract::bounds::TOKEN_WAIT_MS;
use charter_store::lease::Lease;
use tokio::task::JoinHandle;

use crate::EngineError;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::moments;

/// Interval at which a call checks whether another call has renewed its token.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How much longer than its requests the right to renew lasts.
const LEASE_MARGIN: Duration = Duration::from_secs(5);

/// A token that an authorization server renews.
#[async_trait]
pub(super) trait RenewableToken: Send + Sync + 'static {
    /// The result of reading or renewing it.
    type Value: Send + 'static;

    /// Returns the resource of the lease on the right to renew it.
    fn lease_name(&self) -> String;

    /// Returns how long the requests of a renewal take at most.
    fn longest_renewal(&self) -> Duration;

    /// Reads it from storage; `None` if it has to be renewed.
    async fn usable(&self) -> Result<Option<Self::Value>, EngineError>;

    /// Renews it. The caller has the right to do so.
    async fn renew(&self) -> Result<Self::Value, EngineError>;

    /// Returns the error for a call that waited too long for the renewal of another.
    fn busy(&self) -> EngineError;
}

/// A renewal that runs in a task of its own.
pub(super) type RunningRenewal<V> = JoinHandle<Result<V, EngineError>>;

/// Makes renewals take turns, in all processes of the store.
pub(super) struct RenewalTurns<'t> {
    pub(super) core: &'t CorePorts,
    pub(super) background: &'t BackgroundTasks,
}

impl RenewalTurns<'_> {
    /// Returns the value of a token, which is renewed before if necessary.
    pub(super) async fn value_of<R: RenewableToken>(
        &self,
        token: &Arc<R>,
    ) -> Result<R::Value, EngineError> {
        let began = Instant::now();
        let most = Duration::from_millis(u64::try_from(TOKEN_WAIT_MS).unwrap_or(u64::MAX));
        loop {
            if let Some(value) = token.usable().await? {
                return Ok(value);
            }
            if let Some(renewing) = self.begin(token).await? {
                return renewing
                    .await
                    .map_err(|error| EngineError::internal("renewing a token", error))?;
            }
            if began.elapsed() >= most {
                return Err(token.busy());
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Begins a renewal, in a task of its own: a cancelled call must not lose a refresh token that the server just
    /// replaced. Returns `None` while another call renews the token.
    pub(super) async fn begin<R: RenewableToken>(
        &self,
        token: &Arc<R>,
    ) -> Result<Option<RunningRenewal<R::Value>>, EngineError> {
        let Some(lease) = self.lease(token.as_ref()).await? else {
            return Ok(None);
        };
        let (token, store) = (Arc::clone(token), Arc::clone(&self.core.store));
        Ok(Some(self.background.tasks.spawn(async move {
            let renewed = renew_unless_usable(token.as_ref()).await;
            if let Err(error) = store.release(&lease).await {
                tracing::warn!(error = %error, "the right to renew a token is held until it expires");
            }
            renewed
        })))
    }

    async fn lease<R: RenewableToken>(&self, token: &R) -> Result<Option<Lease>, EngineError> {
        let holder = self.core.ids.uuid().simple().to_string();
        let now = self.core.clock.now();
        let end = moments::after(now, token.longest_renewal() + LEASE_MARGIN);
        let name = token.lease_name();
        Ok(self.core.store.acquire(&name, &holder, now, end).await?)
    }
}

/// Renews a token, unless the holder of the right before has.
async fn renew_unless_usable<R: RenewableToken>(token: &R) -> Result<R::Value, EngineError> {
    match token.usable().await? {
        Some(value) => Ok(value),
        None => token.renew().await,
    }
}
