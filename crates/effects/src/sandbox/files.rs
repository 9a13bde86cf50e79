//! The Landlock rules of one call: the files, ports and processes that it may access.
//!
//! Must not know what runs. Rights that the kernel lacks are left out; the sandbox's capabilities report them.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

/// The newest ABI whose rights are requested.
const NEWEST: ABI = ABI::V9;

/// Read and execute: programs and libraries of the system.
const PROGRAMS: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

/// Read: files of name services, TLS, time zones and the loader. Of TLS only certificates and settings: a server that
/// runs as root could also read the private keys in the folders beside them.
const SYSTEM_FILES: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/pki/tls/openssl.d",
    "/etc/services",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/var/lib/ca-certificates",
];

/// Read and write: devices that discard output.
const SINKS: &[&str] = &["/dev/null", "/dev/full"];

/// The paths of the system that every call may reach.
pub(super) fn system() -> impl Iterator<Item = &'static Path> {
    let lists = [PROGRAMS, SYSTEM_FILES, SINKS].into_iter().flatten();
    lists.map(|path| Path::new(*path))
}

/// The paths and ports that one call may access.
pub(super) struct Reach<'a> {
    /// Folders of the interpreter and its libraries.
    pub(super) interpreter: &'a [PathBuf],
    /// The package, and the paths that the caller granted for reading.
    pub(super) readable: &'a [&'a Path],
    /// The call's own folder, and the paths that the caller granted for writing.
    pub(super) writable: &'a [&'a Path],
    /// The egress proxy's port, the only one to connect to.
    pub(super) connect: Option<u16>,
}

/// Prepares the rules in the parent; the child only applies them.
pub(super) fn ruleset(reach: &Reach<'_>) -> Result<RulesetCreated, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = AccessFs::from_read(NEWEST);
    let write = AccessFs::from_all(NEWEST) & !AccessFs::Execute;
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(PROGRAMS, execute))?
        .add_rules(path_beneath_rules(reach.interpreter, execute))?
        .add_rules(path_beneath_rules(SYSTEM_FILES, read))?
        .add_rules(path_beneath_rules(SINKS, read | AccessFs::WriteFile))?
        .add_rules(path_beneath_rules(reach.readable, read))?
        .add_rules(path_beneath_rules(reach.writable, write))?;
    if let Some(port) = reach.connect {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_cannot_read_private_keys_of_the_system() {
        for key in [
            "/etc/ssl/private/server.key",
            "/etc/pki/tls/private/server.key",
            "/etc/pki/nssdb/key4.db",
            "/etc/pki/consumer/key.pem",
            "/etc/pki/ca-trust/source/key.pem",
            "/etc/letsencrypt/live/host/privkey.pem",
            "/etc/ssh/ssh_host_ed25519_key",
            "/etc/shadow",
        ] {
            let reached: Vec<_> = system()
                .filter(|path| Path::new(key).starts_with(path))
                .collect();
            assert_eq!(reached, Vec::<&Path>::new(), "{key}");
        }
    }
}
