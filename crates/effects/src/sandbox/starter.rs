//! Starts processes on a dedicated thread, which lives as long as the sandbox: the kernel ends a confined process with
//! the thread that started it (`child.rs`), and threads of a runtime come and go. The keeper and the reaper learn the
//! group of each process. Must not know the programs, or how they are confined.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::child;
use super::group::{Group, GroupGuard, pid_of};
use super::keeper::Keeper;
use super::reap::Reaper;

/// The thread that starts processes; it stops when this is dropped.
#[derive(Debug)]
pub(super) struct Starter {
    orders: mpsc::Sender<SpawnRequest>,
}

/// A process to start.
#[derive(Debug)]
struct SpawnRequest {
    command: Command,
    /// The runtime that awaits its streams and its end.
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Group>>,
}

impl Starter {
    /// Starts the thread, with the keeper's program and arguments if there is one.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(super) fn new(keeper: Option<(PathBuf, Vec<String>)>) -> io::Result<Self> {
        let (orders, ordered) = mpsc::channel::<SpawnRequest>();
        let reaper = Reaper::new()?;
        let mut keeper = keeper.map(Keeper::new);
        let thread = thread::Builder::new().name("starter".to_owned());
        thread.spawn(move || {
            for order in ordered {
                let SpawnRequest {
                    command,
                    runtime,
                    answer,
                } = order;
                let group = Group::start(command, &runtime, &reaper, keeper.as_mut());
                // The caller is gone: the process ends here.
                drop(answer.send(group));
            }
            if let Some(keeper) = keeper {
                keeper.stop();
            }
        })?;
        Ok(Self { orders })
    }

    /// Starts a process that makes itself the leader of a group.
    ///
    /// # Errors
    /// The kernel's error, or that the process ended before it executed anything.
    pub(super) async fn start(&self, command: Command) -> io::Result<Group> {
        let (answer, answered) = oneshot::channel();
        let runtime = Handle::current();
        let order = SpawnRequest {
            command,
            runtime,
            answer,
        };
        let ended = || io::Error::other("the thread that starts processes ended");
        self.orders.send(order).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

impl Group {
    fn start(
        mut command: Command,
        runtime: &Handle,
        reaper: &Reaper,
        keeper: Option<&mut Keeper>,
    ) -> io::Result<Self> {
        let _entered = runtime.enter();
        if let Some(keeper) = keeper {
            let channel = keeper.channel(&reaper.groups());
            reaper.leave_keeper(keeper.pid());
            if let Some(channel) = channel {
                child::announce_group(&mut command, channel);
            }
        }
        let leader = command.spawn()?;
        // Dropping the command closes the child's ends of pipes and sockets in this process.
        let guard = GroupGuard::for_leader(&leader)?;
        reaper.add(pid_of(&leader)?);
        Ok(Self { guard, leader })
    }
}
