//! Bounds the number of processes of each call.
//!
//! `RLIMIT_NPROC` counts all processes of a user and does not bind root, so it
//! cannot bound one call. This watch counts the members of each call's process
//! group instead. Must not know what the processes do.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Pid;
use tokio_util::sync::CancellationToken;

use super::child;

/// How often processes are counted while a call runs.
const INTERVAL: Duration = Duration::from_millis(25);

/// Counts the processes of running calls.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessWatch {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    groups: HashMap<i32, Watched>,
    /// Whether the counting task runs; it ends with the last group.
    counting: bool,
}

#[derive(Debug)]
struct Watched {
    limit: u32,
    exceeded: CancellationToken,
}

/// A watched process group, until dropped.
#[derive(Debug)]
pub(super) struct WatchedGroup {
    group: i32,
    state: Arc<Mutex<State>>,
    /// Fires once the group has too many members.
    pub(super) exceeded: CancellationToken,
}

impl ProcessWatch {
    pub(super) fn add(&self, leader: Pid, limit: u32) -> WatchedGroup {
        let group = leader.as_raw_nonzero().get();
        let exceeded = CancellationToken::new();
        let watched = Watched {
            limit,
            exceeded: exceeded.clone(),
        };
        let mut state = lock(&self.state);
        state.groups.insert(group, watched);
        if !std::mem::replace(&mut state.counting, true) {
            tokio::spawn(count(Arc::clone(&self.state)));
        }
        WatchedGroup {
            group,
            state: Arc::clone(&self.state),
            exceeded,
        }
    }
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        lock(&self.state).groups.remove(&self.group);
    }
}

async fn count(state: Arc<Mutex<State>>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let limits: HashMap<i32, u32> = {
            let mut state = lock(&state);
            if state.groups.is_empty() {
                state.counting = false;
                return;
            }
            state
                .groups
                .iter()
                .map(|(group, watched)| (*group, watched.limit))
                .collect()
        };
        let members = count_members(&limits);
        let state = lock(&state);
        for (group, watched) in &state.groups {
            if members
                .get(group)
                .is_some_and(|count| *count > watched.limit)
            {
                watched.exceeded.cancel();
            }
        }
    }
}

fn count_members(limits: &HashMap<i32, u32>) -> HashMap<i32, u32> {
    let mut members = HashMap::new();
    let Ok(processes) = fs::read_dir("/proc") else {
        return members;
    };
    for process in processes.flatten() {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        // The process may have ended since, and then has no group.
        if let Some(group) = pid.and_then(child::group_of)
            && limits.contains_key(&group)
        {
            *members.entry(group).or_insert(0) += 1;
        }
    }
    members
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
