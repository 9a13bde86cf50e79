//! Probes of `/readyz` while a test runs.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::home::Api;

/// The allowed time for an answer, on a machine that runs other tests as well.
const WITHIN: Duration = Duration::from_secs(5);

/// The pause between an answer and the next probe.
const BETWEEN: Duration = Duration::from_millis(50);

/// Sends probes as long as it is held.
pub(super) struct Readiness {
    end: Sender<()>,
    asking: JoinHandle<Vec<String>>,
}

impl Readiness {
    /// Starts to send probes.
    pub(super) fn observed(api: &Api) -> Self {
        let api = api.clone();
        let (end, ended) = mpsc::channel();
        let asking = thread::spawn(move || {
            let mut faults = Vec::new();
            loop {
                let start = Instant::now();
                let (status, _) = api.raw("GET", "/readyz", &[], Vec::new());
                let took = start.elapsed();
                if status != 200 || took > WITHIN {
                    faults.push(format!("/readyz: {status} after {took:?}"));
                }
                if ended.recv_timeout(BETWEEN) != Err(RecvTimeoutError::Timeout) {
                    return faults;
                }
            }
        });
        Self { end, asking }
    }

    /// Stops; returns the wrong answers.
    pub(super) fn faults(self) -> Vec<String> {
        drop(self.end);
        self.asking.join().unwrap()
    }
}
