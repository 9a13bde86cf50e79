//! Describes what the sandbox enforces here, for `charter doctor`.
//!
//! Must not decide anything: it reports what detection found.

use std::io;

use super::Sandbox;
use super::capability::{Capability, CapabilityState};
use super::filter::MetadataEnforcement;

/// The Landlock ABIs that first cover a right.
const FILES_ABI: u32 = 1;
const TRUNCATE_ABI: u32 = 3;
const TCP_ABI: u32 = 4;
const SIGNAL_ABI: u32 = 6;

impl Sandbox {
    /// Returns every guarantee, and whether it holds on this kernel and configuration.
    /// Runs the interpreters' probe if no call has done so yet.
    pub async fn capabilities(&self) -> Vec<Capability> {
        let python = self
            .python()
            .await
            .as_ref()
            .map(drop)
            .map_err(ToString::to_string);
        let bash = self.bash().as_ref().map(drop).map_err(ToString::to_string);
        vec![
            capability("python", "Python scripts can run", available(python)),
            capability("bash", "bash scripts can run", available(bash)),
            capability(
                "files",
                "scripts read the system, their interpreter, package and grants, and write their own folder only",
                self.files(),
            ),
            capability("data", "scripts do not see the server's data", self.data()),
            self.metadata(),
            capability("signals", "scripts cannot signal processes outside", self.landlock(SIGNAL_ABI)),
            capability(
                "group",
                "everything a script starts dies with it, and with the server; no kernel surface beyond what tools need",
                self.group(),
            ),
            capability("egress", "scripts reach listed hosts only", self.egress()),
            capability(
                "processes",
                "the number of processes of a call is limited",
                CapabilityState::Partial {
                    gap: "counted every 25 ms, so a burst may exceed the limit before the call is killed".to_owned(),
                },
            ),
            capability(
                "resources",
                "CPU time, memory, file size and open files of each process are limited",
                CapabilityState::Partial {
                    gap: "per process: a call's sum is at most the limit times its processes, and the total size of \
                          its temporary files is not limited"
                        .to_owned(),
                },
            ),
        ]
    }

    fn files(&self) -> CapabilityState {
        match self.support.landlock_abi {
            abi if (FILES_ABI..TRUNCATE_ABI).contains(&abi) => CapabilityState::Partial {
                gap: format!("Landlock ABI {abi} does not cover truncating files"),
            },
            _ => self.landlock(FILES_ABI),
        }
    }

    fn data(&self) -> CapabilityState {
        match &self.support.mounts {
            Ok(()) => CapabilityState::Enforced,
            Err(error) => CapabilityState::Partial {
                gap: format!(
                    "no mount namespace ({error}): names, sizes and times of the server's files are visible, but not \
                     their content"
                ),
            },
        }
    }

    /// The guarantee on metadata; its text names the mechanism that enforces it.
    fn metadata(&self) -> Capability {
        let (how, state) = match (self.support.metadata, self.filters()) {
            (MetadataEnforcement::Mounts, _) => (
                "modes, owners, times and attributes outside a call's folders do not change: all else is read-only",
                CapabilityState::Enforced,
            ),
            (MetadataEnforcement::Server, CapabilityState::Enforced) => (
                "modes, owners, times and attributes outside a call's folders do not change: the server makes each \
                 change of modes and times itself, and others fail",
                self.linked(),
            ),
            (MetadataEnforcement::Refusal, CapabilityState::Enforced) => (
                "modes, owners, times and attributes outside a call's folders do not change: changes fail everywhere",
                CapabilityState::Partial {
                    gap: format!(
                        "they also fail in a call's own folders, where git, tar, pip and others need them: no mount \
                         namespace{}, and no notifications of the kernel{}",
                        reason(&self.support.mounts),
                        reason(&self.support.notification_filter)
                    ),
                },
            ),
            (MetadataEnforcement::Server | MetadataEnforcement::Refusal, filters) => (
                "modes, owners, times and attributes outside a call's folders do not change",
                missing(format!(
                    "no mount namespace{}, system call filters {filters}",
                    reason(&self.support.mounts)
                )),
            ),
        };
        capability("metadata", how, state)
    }

    /// Whether a file from outside can be linked into a call's folders.
    fn linked(&self) -> CapabilityState {
        match self.landlock(FILES_ABI) {
            CapabilityState::Enforced => CapabilityState::Enforced,
            landlock => CapabilityState::Partial {
                gap: format!(
                    "files from outside can be linked into a call's folder: Landlock {landlock}"
                ),
            },
        }
    }

    fn landlock(&self, needed: u32) -> CapabilityState {
        match self.support.landlock_abi {
            0 => missing("this kernel has no Landlock"),
            abi if abi < needed => missing(format!("Landlock ABI is {abi}; {needed} is required")),
            _ => CapabilityState::Enforced,
        }
    }

    fn group(&self) -> CapabilityState {
        match (self.filters(), &self.options.keeper) {
            (CapabilityState::Enforced, None) => CapabilityState::Partial {
                gap: "no keeper: children of scripts survive a killed server".to_owned(),
            },
            (filters, _) => filters,
        }
    }

    fn filters(&self) -> CapabilityState {
        match &self.support.filters {
            Some(_) => CapabilityState::Enforced,
            None => missing("no system call filters for this architecture"),
        }
    }

    fn egress(&self) -> CapabilityState {
        match (
            &self.support.namespaces,
            self.filters(),
            self.landlock(TCP_ABI),
        ) {
            (Ok(()), CapabilityState::Enforced, _) => CapabilityState::Enforced,
            (Ok(()), filters, _) => CapabilityState::Partial {
                gap: format!("system call filters {filters}: sockets of the file system are open"),
            },
            (Err(error), CapabilityState::Enforced, CapabilityState::Enforced) => {
                CapabilityState::Partial {
                    gap: format!(
                        "no network namespace ({error}): a hostile script can reach any host on \
                         the one TCP port number that the egress proxy uses"
                    ),
                }
            }
            (Err(error), filters, landlock) => missing(format!(
                "no network namespace ({error}), system call filters {filters}, TCP rules {landlock}: only scripts \
                 that honour the proxy variables are limited to the list"
            )),
        }
    }
}

fn capability(name: &'static str, guarantee: &'static str, state: CapabilityState) -> Capability {
    Capability {
        name,
        guarantee,
        state,
    }
}

fn available(found: Result<(), String>) -> CapabilityState {
    match found {
        Ok(()) => CapabilityState::Enforced,
        Err(reason) => missing(reason),
    }
}

/// The reason of a failure, in brackets.
fn reason<T>(tried: &io::Result<T>) -> String {
    match tried {
        Ok(_) => String::new(),
        Err(error) => format!(" ({error})"),
    }
}

fn missing(reason: impl Into<String>) -> CapabilityState {
    CapabilityState::Missing {
        reason: reason.into(),
    }
}
