//! The services of missions, built on those of execution and below.

use std::sync::Arc;

use super::Ports;
use super::execution_services::ExecutionServices;
use crate::missions::MissionViewService;

/// The services of missions.
pub(crate) struct MissionServices {
    pub(crate) views: Arc<MissionViewService>,
}

impl MissionServices {
    /// Builds the services on those of the lower storeys.
    pub(crate) fn new(ports: &Ports, execution: &ExecutionServices) -> Self {
        let views = MissionViewService::new(
            Arc::clone(&ports.store),
            Arc::clone(&execution.journals),
            Arc::clone(&execution.views),
        );
        Self {
            views: Arc::new(views),
        }
    }
}
