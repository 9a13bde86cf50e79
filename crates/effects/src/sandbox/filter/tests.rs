//! Interprets the compiled programs as the kernel would.

use super::*;

/// A system call as a program sees it.
struct Call {
    number: i64,
    arguments: [u64; 6],
}

fn call(number: i64, arguments: &[i32]) -> Call {
    let mut all = [0; 6];
    for (at, argument) in arguments.iter().enumerate() {
        all[at] = u64::from(argument.cast_unsigned());
    }
    Call {
        number,
        arguments: all,
    }
}

impl Call {
    fn bytes(&self) -> Vec<u8> {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => 0xc000_003e_u32,
            "aarch64" => 0xc000_00b7,
            other => panic!("no filters for {other}"),
        };
        let number = u32::try_from(self.number).unwrap();
        let mut bytes = [number.to_ne_bytes(), architecture.to_ne_bytes()].concat();
        bytes.extend(0_u64.to_ne_bytes());
        bytes.extend(
            self.arguments
                .iter()
                .flat_map(|argument| argument.to_ne_bytes()),
        );
        bytes
    }

    /// Returns the action of a program.
    fn run(&self, program: &BpfProgram) -> u32 {
        let (bytes, mut at, mut word) = (self.bytes(), 0, 0_u32);
        loop {
            let instruction = &program[at];
            let constant = instruction.k;
            at += 1;
            let mut jump = |holds: bool| {
                let by = if holds {
                    instruction.jt
                } else {
                    instruction.jf
                };
                at += usize::from(by);
            };
            match instruction.code {
                0x20 => {
                    let from = usize::try_from(constant).unwrap();
                    word = u32::from_ne_bytes(bytes[from..from + 4].try_into().unwrap());
                }
                0x54 => word &= constant,
                0x05 => at += usize::try_from(constant).unwrap(),
                0x15 => jump(word == constant),
                0x25 => jump(word > constant),
                0x35 => jump(word >= constant),
                0x06 => return constant,
                other => panic!("an instruction {other:#x}"),
            }
        }
    }

    /// Returns the error that the call fails with under all programs; 0 if it is allowed.
    fn error(&self, sockets: Sockets) -> i32 {
        self.error_with(sockets, MetadataEnforcement::Mounts)
    }

    fn error_with(&self, sockets: Sockets, metadata: MetadataEnforcement) -> i32 {
        let programs = compile(sockets, metadata).unwrap().unwrap();
        let answers = programs.iter().map(|program| self.run(program));
        let refusal = answers
            .filter(|answer| *answer != libc::SECCOMP_RET_ALLOW)
            .min();
        let Some(refusal) = refusal else { return 0 };
        assert_eq!(
            refusal & libc::SECCOMP_RET_ACTION_FULL,
            libc::SECCOMP_RET_ERRNO
        );
        (refusal & libc::SECCOMP_RET_DATA).cast_signed()
    }
}

#[test]
fn pairs_of_sockets_are_bound_to_each_other() {
    let (cloexec, nonblock) = (libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK);
    let cases = [
        (libc::AF_UNIX, libc::SOCK_STREAM, 0),
        (libc::AF_UNIX, libc::SOCK_STREAM | cloexec | nonblock, 0),
        (libc::AF_UNIX, libc::SOCK_DGRAM, libc::EPERM),
        (
            libc::AF_UNIX,
            libc::SOCK_DGRAM | cloexec | nonblock,
            libc::EPERM,
        ),
        (libc::AF_UNIX, libc::SOCK_SEQPACKET, 0),
        (libc::AF_UNIX, libc::SOCK_SEQPACKET | cloexec, 0),
        (libc::AF_UNIX, libc::SOCK_RAW, libc::EPERM),
        (libc::AF_TIPC, libc::SOCK_STREAM, libc::EPERM),
        (libc::AF_TIPC, libc::SOCK_SEQPACKET, libc::EPERM),
    ];
    for (family, kind, error) in cases {
        let pair = call(libc::SYS_socketpair, &[family, kind, 0]);
        for sockets in [Sockets::None, Sockets::Tcp] {
            assert_eq!(pair.error(sockets), error, "{family} {kind:#x} {sockets:?}");
        }
        let socket = call(libc::SYS_socket, &[libc::AF_UNIX, kind, 0]);
        assert_eq!(socket.error(Sockets::Tcp), libc::EPERM, "{kind:#x}");
        let inet = call(libc::SYS_socket, &[libc::AF_INET, kind, 0]);
        let is_stream = kind & 0xf == libc::SOCK_STREAM;
        let error = if is_stream { 0 } else { libc::EPERM };
        assert_eq!(inet.error(Sockets::Tcp), error, "{kind:#x}");
    }
}

#[test]
fn a_new_process_is_a_child_of_its_creator_in_the_same_namespaces() {
    let threads = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_FILES;
    let cases = [
        (libc::SIGCHLD, 0),
        (libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, 0),
        (threads, 0),
        (libc::CLONE_PARENT | libc::SIGCHLD, libc::EPERM),
        (threads | libc::CLONE_PARENT, libc::EPERM),
        (libc::CLONE_NEWUSER | libc::SIGCHLD, libc::EPERM),
        (libc::CLONE_NEWNS | libc::SIGCHLD, libc::EPERM),
    ];
    for (flags, error) in cases {
        let clone = call(libc::SYS_clone, &[flags]);
        assert_eq!(clone.error(Sockets::None), error, "{flags:#x}");
    }
    assert_eq!(
        call(libc::SYS_clone3, &[]).error(Sockets::None),
        libc::ENOSYS
    );
}

#[test]
fn calls_that_read_or_change_mounts_are_refused() {
    for number in [
        SYS_OPEN_TREE_ATTR,
        SYS_STATMOUNT,
        SYS_LISTMOUNT,
        libc::SYS_open_tree,
    ] {
        assert_eq!(
            call(number, &[]).error(Sockets::Tcp),
            libc::EPERM,
            "{number}"
        );
    }
}

/// These numbers call the same functions of the kernel.
#[test]
#[cfg(target_arch = "x86_64")]
fn calls_of_x32_are_refused() {
    for number in [libc::SYS_setsid, libc::SYS_ptrace, libc::SYS_getpid] {
        let plain = call(number, &[]).error(Sockets::None);
        let x32 = call(number | i64::from(X32), &[]).error(Sockets::None);
        let expected = if number == libc::SYS_getpid {
            0
        } else {
            libc::EPERM
        };
        assert_eq!((plain, x32), (expected, libc::ENOSYS), "{number}");
    }
}

#[test]
fn metadata_changes_are_allowed_forwarded_or_refused() {
    let notifications = notification_filter().unwrap().unwrap();
    let found = |number: i64| {
        let call = call(number, &[]);
        let errors = [
            MetadataEnforcement::Mounts,
            MetadataEnforcement::Server,
            MetadataEnforcement::Refusal,
        ]
        .map(|metadata| call.error_with(Sockets::None, metadata));
        (errors, call.run(&notifications))
    };
    let (passed_on, allowed) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_RET_ALLOW);
    for number in MODES_AND_TIMES {
        assert_eq!(found(*number), ([0, 0, libc::EPERM], passed_on), "{number}");
    }
    for number in OWNERS_AND_ATTRIBUTES {
        let errors = [0, libc::EPERM, libc::EPERM];
        assert_eq!(found(*number), (errors, allowed), "{number}");
    }
    for number in [libc::SYS_openat, libc::SYS_read, libc::SYS_execve] {
        assert_eq!(found(number), ([0; 3], allowed), "{number}");
    }
}

#[test]
fn file_flags_cannot_be_set_under_enforcement_by_the_server() {
    let ioctl = |request: u64| {
        let mut ioctl = call(libc::SYS_ioctl, &[3]);
        ioctl.arguments[1] = request;
        ioctl.error_with(Sockets::None, MetadataEnforcement::Server)
    };
    for request in FLAG_REQUESTS {
        assert_eq!(ioctl(request), libc::EPERM, "{request:#x}");
        // The kernel ignores the upper half.
        assert_eq!(ioctl(request | (1 << 32)), libc::EPERM, "{request:#x}");
    }
    // TCGETS and FIONREAD.
    assert_eq!((ioctl(0x5401), ioctl(0x541b)), (0, 0));
}
