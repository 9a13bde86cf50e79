//! The seccomp filters: the system calls that a script may not make.
//!
//! Landlock restricts files and ports; these filters close its gaps. Must not know processes or calls.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// The sockets that a script may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// No sockets.
    None,
    /// TCP, which reaches only the egress proxy.
    Tcp,
}

/// How changes of modes, owners, times and attributes are confined to a call's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetadataEnforcement {
    /// All other folders are mounted read-only.
    Mounts,
    /// The server makes each change of a mode or of times (`metadata.rs`). Other changes fail.
    Server,
    /// Each change fails, in the call's folders too.
    Refusal,
}

const SOCKET_TYPE_MASK: u64 = 0xf;
/// The bit that marks the number of a system call of the x32 ABI.
const X32: u32 = 0x4000_0000;
/// Instructions of classic BPF: load a word, compare it with a constant, end.
const LOAD: u16 = 0x20;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
/// Offset of the system call's number in the data of a filter program.
const NUMBER_AT: u32 = 0;
/// The default protocol of a stream socket, and TCP by name. Multipath TCP is another protocol, which Landlock's rules
/// for TCP do not cover.
const TCP_PROTOCOLS: [libc::c_int; 2] = [0, libc::IPPROTO_TCP];

/// The types of socket pairs whose ends are bound to each other: the kernel ignores addresses of their messages, and
/// connects them to nothing else, even after one end was closed. A socket of another pair type can send to any address,
/// including a socket in the file system, and no rule of Landlock prevents it. Rust's standard library creates a packet
/// pair to start a program, and so do tools such as uv.
const BOUND_PAIRS: [libc::c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];

/// Compiles the filters for this machine; `None` for an unsupported architecture.
pub(super) fn compile(
    sockets: Sockets,
    metadata: MetadataEnforcement,
) -> Option<Result<Vec<BpfProgram>, seccompiler::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    Some(build(sockets, metadata, arch).map_err(seccompiler::Error::Backend))
}

/// Compiles the filter whose calls the kernel passes on to the server; `None` as for [`compile`].
pub(super) fn notification_filter() -> Option<Result<BpfProgram, seccompiler::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    Some(build_notification_filter(arch).map_err(seccompiler::Error::Backend))
}

fn build_notification_filter(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let numbers = MODES_AND_TIMES.iter();
    let rules = numbers.map(|number| (*number, Vec::new())).collect();
    // The compiler lacks the action of notifications: compile another one, and replace it.
    let action = SeccompAction::Trace(0);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?;
    let mut program: BpfProgram = filter.try_into()?;
    for instruction in &mut program {
        if (instruction.code, instruction.k) == (RETURN, libc::SECCOMP_RET_TRACE) {
            instruction.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    Ok(program)
}

fn build(
    sockets: Sockets,
    metadata: MetadataEnforcement,
    arch: TargetArch,
) -> Result<Vec<BpfProgram>, BackendError> {
    let mut denied = denied(sockets)?;
    denied.extend(denied_changes(metadata)?);
    // glibc falls back from clone3, whose flags a filter cannot read, to clone.
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    [(denied, libc::EPERM), (absent, libc::ENOSYS)]
        .into_iter()
        .map(|(rules, errno)| {
            let action = SeccompAction::Errno(errno.unsigned_abs());
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?;
            Ok(without_x32(filter.try_into()?, arch))
        })
        .collect()
}

/// Prepends a refusal of all calls of the x32 ABI. Their numbers differ, so no rule matches them, but the kernel
/// reports the same architecture for them and runs the same functions.
fn without_x32(program: BpfProgram, arch: TargetArch) -> BpfProgram {
    if !matches!(arch, TargetArch::x86_64) {
        return program;
    }
    let refused = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let instruction = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let mut whole = vec![
        instruction(LOAD, 0, NUMBER_AT),
        instruction(JUMP_IF_AT_LEAST, 1, X32),
        instruction(RETURN, 0, refused),
    ];
    whole.extend(program);
    whole
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn denied(sockets: Sockets) -> Result<Rules, BackendError> {
    let mut rules: Rules = DENIED.iter().map(|number| (*number, Vec::new())).collect();
    rules.insert(libc::SYS_socket, socket_rules(sockets)?);
    rules.insert(libc::SYS_socketpair, socketpair_rules()?);
    // TCP fast open connects without the hook that Landlock listens on.
    for (number, flags_at) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        rules.insert(
            number,
            vec![all_of(vec![has_bits(
                flags_at,
                libc::MSG_FASTOPEN.unsigned_abs().into(),
            )?])?],
        );
    }
    let mut clone = Vec::new();
    for flag in CLONE_FLAGS {
        clone.push(all_of(vec![has_bits(0, flag.unsigned_abs().into())?])?);
    }
    rules.insert(libc::SYS_clone, clone);
    // A script may limit itself, but not other processes of its user.
    rules.insert(
        libc::SYS_prlimit64,
        vec![all_of(vec![compare(0, SeccompCmpOp::Ne, 0)?])?],
    );
    Ok(rules)
}

fn denied_changes(metadata: MetadataEnforcement) -> Result<Rules, BackendError> {
    let (owners, modes): (&[i64], &[i64]) = match metadata {
        MetadataEnforcement::Mounts => return Ok(Rules::new()),
        MetadataEnforcement::Server => (OWNERS_AND_ATTRIBUTES, &[]),
        MetadataEnforcement::Refusal => (OWNERS_AND_ATTRIBUTES, MODES_AND_TIMES),
    };
    let numbers = owners.iter().chain(modes);
    let mut rules: Rules = numbers.map(|number| (*number, Vec::new())).collect();
    let requests = FLAG_REQUESTS.iter();
    let requests = requests.map(|request| all_of(vec![compare(1, SeccompCmpOp::Eq, *request)?]));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    Ok(rules)
}

fn socket_rules(sockets: Sockets) -> Result<Vec<SeccompRule>, BackendError> {
    match sockets {
        Sockets::None => Ok(Vec::new()),
        Sockets::Tcp => {
            let [inet, inet6] =
                [libc::AF_INET, libc::AF_INET6].map(|family| u64::from(family.unsigned_abs()));
            let [any, tcp] = TCP_PROTOCOLS.map(|protocol| u64::from(protocol.unsigned_abs()));
            let mut rules = vec![
                all_of(vec![
                    compare(0, SeccompCmpOp::Ne, inet)?,
                    compare(0, SeccompCmpOp::Ne, inet6)?,
                ])?,
                all_of(vec![
                    compare(2, SeccompCmpOp::Ne, any)?,
                    compare(2, SeccompCmpOp::Ne, tcp)?,
                ])?,
            ];
            rules.extend(any_type_but(&[libc::SOCK_STREAM])?);
            Ok(rules)
        }
    }
}

fn socketpair_rules() -> Result<Vec<SeccompRule>, BackendError> {
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    let mut rules = vec![all_of(vec![compare(0, SeccompCmpOp::Ne, unix)?])?];
    rules.extend(any_type_but(&BOUND_PAIRS)?);
    Ok(rules)
}

/// Matches every type except `allowed`; flags in the same argument are ignored.
fn any_type_but(allowed: &[libc::c_int]) -> Result<Vec<SeccompRule>, BackendError> {
    let numbers = allowed.iter().map(|kind| u64::from(kind.unsigned_abs()));
    let allowed: Vec<u64> = numbers.collect();
    let types = (0..=SOCKET_TYPE_MASK).filter(|kind| !allowed.contains(kind));
    let is = SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK);
    types
        .map(|kind| all_of(vec![compare(1, is.clone(), kind)?]))
        .collect()
}

fn all_of(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

fn has_bits(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::MaskedEq(bits), bits)
}

fn compare(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Flags refused for new processes: namespaces, and a parent other than their creator, which would have to reap them.
const CLONE_FLAGS: [libc::c_int; 8] = [
    libc::CLONE_PARENT,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Numbers that all architectures share and that libc does not define for each.
const SYS_STATMOUNT: i64 = 457;
const SYS_LISTMOUNT: i64 = 458;
const SYS_OPEN_TREE_ATTR: i64 = 467;

pub(super) const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

/// Changes of modes and times, in every form.
pub(super) const MODES_AND_TIMES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Changes of owners and attributes, in every form but ioctl.
const OWNERS_AND_ATTRIBUTES: &[i64] = &[
    libc::SYS_fchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SYS_SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

/// Requests of ioctl that change the flags of a file that is open for reading: FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR,
/// FS_IOC_SETVERSION, FS_IOC_ENABLE_VERITY, FS_IOC_SET_ENCRYPTION_POLICY.
const FLAG_REQUESTS: [u64; 5] = [
    0x4008_6602,
    0x401c_5820,
    0x4008_7602,
    0x4080_6685,
    0x800c_6613,
];

const DENIED: &[i64] = &[
    // Calls that leave the process group, which is killed as one.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Calls that reach into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Calls that make system calls that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Calls that change or bypass the view of the file system.
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    SYS_STATMOUNT,
    SYS_LISTMOUNT,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    // Kernel surface that no tool needs.
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_perf_event_open,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

#[cfg(test)]
mod tests;
