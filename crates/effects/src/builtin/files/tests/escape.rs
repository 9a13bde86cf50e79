//! Every known way out of a root, tried with both ways of resolution.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType as Special, RenameFlags};

use super::*;

/// Returns a call of every file tool on a path.
fn calls(path: &str) -> Vec<(Builtin, Value)> {
    let edits = json!([{"start_line": 1, "end_line": 1, "replacement": "x"}]);
    vec![
        (Builtin::FsRead, json!({"path": path})),
        (Builtin::FsWrite, json!({"path": path, "content": "x"})),
        (
            Builtin::FsCreate,
            json!({"path": path, "content": "x", "overwrite": true, "create_parents": true}),
        ),
        (Builtin::FsEdit, json!({"path": path, "edits": edits})),
        (
            Builtin::FsMove,
            json!({"path": path, "destination": "taken"}),
        ),
        (
            Builtin::FsMove,
            json!({"path": "own", "destination": path, "overwrite": true}),
        ),
        (
            Builtin::FsCopy,
            json!({"path": path, "destination": "copied", "recursive": true}),
        ),
        (
            Builtin::FsCopy,
            json!({"path": "own", "destination": path, "overwrite": true}),
        ),
        (Builtin::FsDelete, json!({"path": path, "recursive": true})),
        (Builtin::FsList, json!({"path": path})),
        (
            Builtin::FsSearch,
            json!({"path": path, "pattern": "secret"}),
        ),
        (
            Builtin::FsMakeDirectory,
            json!({"path": path, "create_parents": true}),
        ),
    ]
}

fn field(resolver: Resolver) -> FilesFixture {
    let mut field = FilesFixture::new(&[("own", "own"), ("dir/inner", "inner")]);
    field.resolver = resolver;
    std::fs::create_dir(field.outside("beside")).unwrap();
    std::fs::write(field.outside("beside/secret"), "secret").unwrap();
    symlink("../secret", field.path("link")).unwrap();
    symlink(field.outside("beside"), field.path("away")).unwrap();
    symlink("../..", field.path("dir/up")).unwrap();
    symlink("/", field.path("slash")).unwrap();
    symlink("dir", field.path("inside")).unwrap();
    field
}

fn untouched(field: &FilesFixture) {
    let outside = |path| std::fs::read_to_string(field.outside(path)).unwrap();
    assert_eq!(
        (outside("secret"), outside("beside/secret")),
        ("secret".into(), "secret".into())
    );
    assert_eq!(
        std::fs::read_dir(field.outside("beside")).unwrap().count(),
        1
    );
    assert_eq!(std::fs::read_dir(field.outside("")).unwrap().count(), 3);
}

#[test]
fn b003_no_path_leads_out_of_a_root() {
    let climbing = [
        "..",
        "../secret",
        "/etc/passwd",
        "dir/../../secret",
        "./own",
        "dir/.",
        "dir//inner",
        "a\\b",
        "own\0",
        "dir/",
        "",
    ];
    for resolver in RESOLVERS {
        let field = field(resolver);
        for (builtin, given) in climbing.iter().flat_map(|path| calls(path)) {
            let kind = field.call(builtin, given.clone()).map_err(|(kind, _)| kind);
            assert_eq!(kind, Err(ErrorType::InputError), "{builtin} {given}");
        }
        // Through links in the middle: to a directory beside the root, above it, to `/`, and to one inside it.
        let through = [
            "away/secret",
            "dir/up/secret",
            "slash/etc/passwd",
            "inside/inner",
            "away/new/x",
        ];
        for (builtin, given) in through.iter().flat_map(|path| calls(path)) {
            let refused = field.call(builtin, given.clone()).map_err(|(kind, _)| kind);
            assert_eq!(
                refused,
                Err(ErrorType::PermissionError),
                "{resolver:?} {builtin} {given}"
            );
        }
        untouched(&field);
    }
}

#[test]
fn b003_links_are_listed_and_removed_but_never_followed() {
    for resolver in RESOLVERS {
        let field = field(resolver);
        for (builtin, given) in calls("link").into_iter().chain(calls("away")) {
            // Replacing or removing a link affects only the link.
            if builtin == Builtin::FsDelete {
                continue;
            }
            let refused = field.call(builtin, given.clone()).map_err(|(kind, _)| kind);
            let expected = match builtin {
                Builtin::FsMakeDirectory => ErrorType::ExecutionError,
                _ => ErrorType::PermissionError,
            };
            assert_eq!(refused, Err(expected), "{resolver:?} {builtin} {given}");
        }
        let stat = field
            .call(Builtin::FsStat, json!({"path": "away"}))
            .unwrap();
        assert_eq!(stat["kind"], "link");
        for link in ["link", "away"] {
            field
                .call(Builtin::FsDelete, json!({"path": link, "recursive": true}))
                .unwrap();
        }
        // The content is removed without following `dir/up`.
        field
            .call(Builtin::FsDelete, json!({"path": "dir", "recursive": true}))
            .unwrap();
        let found = field.call(
            Builtin::FsSearch,
            json!({"path": ".", "pattern": "secret", "recursive": true}),
        );
        assert_eq!(found.unwrap()["matches"], json!([]));
        untouched(&field);
        assert_eq!(field.names(), ["inside", "own", "slash"]);
    }
}

/// Stops the other thread of a race, also when the test fails.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A directory and a link to another place swap names continuously, between every check and use.
#[test]
fn b003_a_link_planted_meanwhile_is_not_followed() {
    for resolver in RESOLVERS {
        let field = field(resolver);
        let stop = AtomicBool::new(false);
        std::fs::create_dir(field.path("swap")).unwrap();
        std::fs::write(field.path("swap/secret"), "harmless").unwrap();
        symlink(field.outside("beside"), field.path("planted")).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (one, other) = (field.path("swap"), field.path("planted"));
                while !stop.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE)
                        .unwrap();
                }
            });
            let _stopping = Stopping(&stop);
            let (mut read, mut refused) = (0, 0);
            for _ in 0..1_000 {
                match field.read("swap/secret") {
                    Ok(answer) => {
                        assert_eq!(answer["content"], "harmless");
                        read += 1;
                    }
                    Err((kind, message)) => {
                        // "Not a directory" if the link was gone again when its type was read.
                        let known = [ErrorType::PermissionError, ErrorType::InputError];
                        assert!(known.contains(&kind), "{message}");
                        refused += 1;
                    }
                }
                let given = json!({"path": "swap/new", "content": "x", "overwrite": true});
                drop(field.call(Builtin::FsCreate, given));
            }
            // Both counts are above zero: the race happened.
            assert!(read > 0 && refused > 0, "read {read}, refused {refused}");
        });
        untouched(&field);
    }
}

#[test]
fn b003_magic_links_of_proc_are_not_followed() {
    let cwd = std::env::current_dir().unwrap();
    assert!(cwd.join("Cargo.toml").exists());
    for resolver in RESOLVERS {
        for path in ["cwd/Cargo.toml", "root/etc/passwd", "exe", "fd/0", "task"] {
            let given = json!({"path": path});
            let root = PathBuf::from("/proc/self");
            let read = call_at(
                root,
                RootAccess::Read,
                resolver,
                Builtin::FsRead,
                &given,
                DryRun::No,
            );
            let expected = match path {
                "task" => ErrorType::InputError,
                _ => ErrorType::PermissionError,
            };
            assert_eq!(
                read.map_err(|(kind, _)| kind),
                Err(expected),
                "{resolver:?} {path}"
            );
        }
    }
}

#[test]
fn b003_pipes_sockets_and_devices_are_not_read() {
    let field = FilesFixture::new(&[]);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, field.path("pipe"), Special::Fifo, mode, 0).unwrap();
    let _listener = UnixListener::bind(field.path("socket")).unwrap();
    for path in ["pipe", "socket"] {
        for (builtin, given) in calls(path) {
            if matches!(builtin, Builtin::FsMove | Builtin::FsCopy) && given["path"] == "own" {
                continue;
            }
            let refused = field.call(builtin, given.clone()).map_err(|(kind, _)| kind);
            let expected = match builtin {
                Builtin::FsMakeDirectory => ErrorType::ExecutionError,
                _ => ErrorType::InputError,
            };
            assert_eq!(refused, Err(expected), "{builtin} {given}");
        }
    }
    let devices = PathBuf::from("/dev");
    for path in ["zero", "null", "full"] {
        let given = json!({"path": path});
        let read = call_at(
            devices.clone(),
            RootAccess::Read,
            Resolver::Kernel,
            Builtin::FsRead,
            &given,
            DryRun::No,
        );
        let message = format!("`work:{path}` is neither a file nor a directory");
        assert_eq!(read, Err((ErrorType::InputError, message)));
    }
}

/// A hard link cannot be distinguished from the first name: a write creates a new file, so the other name keeps the old
/// content.
#[test]
fn b003_writing_does_not_reach_through_a_hard_link() {
    let field = FilesFixture::new(&[]);
    std::fs::hard_link(field.outside("secret"), field.path("twin")).unwrap();
    let stat = field
        .call(Builtin::FsStat, json!({"path": "twin"}))
        .unwrap();
    assert_eq!(stat["links"], 2);
    field
        .call(
            Builtin::FsWrite,
            json!({"path": "twin", "content": "changed"}),
        )
        .unwrap();
    assert_eq!(field.content("twin"), "changed");
    assert_eq!(
        std::fs::read_to_string(field.outside("secret")).unwrap(),
        "secret"
    );
}
