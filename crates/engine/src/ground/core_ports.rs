//! The ports that most services need together.

use std::sync::Arc;

use charter_domain::clock::Clock;
use charter_store::SharedStore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ground::ids::IdSource;

/// Storage, time and ids.
#[derive(Clone)]
pub(crate) struct CorePorts {
    pub(crate) store: SharedStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
}

/// The tasks of this process, and the token that ends them.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundTasks {
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: TaskTracker,
}
