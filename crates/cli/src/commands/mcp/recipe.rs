//! The needs of programs that serve tools: the registry that `npx` and `uvx` install from, the files of a script,
//! the paths in its arguments. A recipe grants no network and no write. Must not know where the server comes from.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::config::{McpServerConfig, RegistryConfig};
use crate::platform;

/// Start timeout of a program that installs itself, in milliseconds.
const INSTALL_TIMEOUT_MS: u64 = 180_000;
/// Programs that install from npm, and from pip's index, before they run.
const NPM: [&str; 6] = ["npx", "npm", "pnpm", "pnpx", "yarn", "bunx"];
const PYPI: [&str; 4] = ["uvx", "uv", "pipx", "poetry"];
/// Programs whose first argument is a script.
const INTERPRETERS: [&str; 5] = ["node", "bun", "deno", "python", "ruby"];
/// Programs that ask a daemon to run a container.
const CONTAINERS: [&str; 2] = ["docker", "podman"];
/// The usual socket of the Docker daemon.
pub(in crate::commands) const DOCKER_SOCKET: &str = "/var/run/docker.sock";
/// Files that mark the folder of a script's package.
const PACKAGE_MARKS: [&str; 3] = ["package.json", "pyproject.toml", "setup.py"];
/// Longest name of a server, in bytes.
const MAX_NAME: usize = 32;

/// Why a container cannot be registered without a grant.
const CONTAINER_REASON: &str = "the Docker daemon runs a container outside of the sandbox, with every right on this \
    machine: grant the daemon with --docker, or run the container yourself and register its address with --url";

/// The note for a container with a grant.
const CONTAINER_NOTE: &str = "the Docker daemon runs its container outside of the sandbox, with every right on this \
    machine; the hosts that the container reaches are not limited";

/// Adds the usual needs of a program to its server; `folder` is where relative paths begin. Returns notes for the
/// operator.
///
/// # Errors
/// The reason why such a program cannot be registered.
pub(in crate::commands) fn apply(
    server: &mut McpServerConfig,
    folder: &Path,
) -> Result<Vec<String>, &'static str> {
    let Some(command) = server.command.clone() else {
        return Ok(Vec::new());
    };
    let program = command.file_name().and_then(OsStr::to_str).unwrap_or("");
    if is_container(&command) {
        // The daemon pulls the image, and reads the paths in the arguments.
        server.start_timeout_ms = server.start_timeout_ms.max(INSTALL_TIMEOUT_MS);
        let note = server
            .docker
            .as_ref()
            .map(|_| vec![CONTAINER_NOTE.to_owned()]);
        return note.ok_or(CONTAINER_REASON);
    }
    if command.components().count() > 1 && !command.is_absolute() {
        server.command = Some(folder.join(&command));
    }
    let registry = match program {
        name if NPM.contains(&name) => Some(RegistryConfig::Npm),
        name if PYPI.contains(&name) => Some(RegistryConfig::Pypi),
        _ => None,
    };
    if server.registry.is_none() {
        server.registry = registry;
    }
    if registry.is_some() {
        server.start_timeout_ms = server.start_timeout_ms.max(INSTALL_TIMEOUT_MS);
    }
    Ok(grant_arguments(server, folder, program))
}

/// Whether a program asks a daemon to run a container.
pub(in crate::commands) fn is_container(command: &Path) -> bool {
    let program = command.file_name().and_then(OsStr::to_str);
    program.is_some_and(|program| CONTAINERS.contains(&program))
}

/// Makes the paths in the arguments absolute, and lets the program read them.
fn grant_arguments(server: &mut McpServerConfig, folder: &Path, program: &str) -> Vec<String> {
    let installs = NPM.contains(&program) || PYPI.contains(&program);
    let first = server
        .args
        .iter()
        .position(|argument| !argument.starts_with('-'));
    let mut notes = Vec::new();
    let arguments = std::mem::take(&mut server.args);
    for (at, argument) in arguments.into_iter().enumerate() {
        let is_first = first == Some(at);
        let is_package = is_first && installs && !argument.starts_with(['/', '.']);
        let path = path_of(&argument, folder).filter(|_| !is_package);
        let Some(path) = path else {
            server.args.push(argument);
            continue;
        };
        server.args.push(path.display().to_string());
        let is_script = is_first && is_interpreter(program) && path.is_file();
        let granted = if is_script { script_files(&path) } else { path };
        if is_granted(server, &granted) {
            continue;
        }
        if !is_script {
            notes.push(format!(
                "it may read {0}; to let it write there, name {0} in `writable`",
                granted.display()
            ));
        }
        server.readable.push(granted);
    }
    notes
}

/// Whether a program runs scripts, in any version of it.
fn is_interpreter(program: &str) -> bool {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    INTERPRETERS.contains(&program.trim_end_matches(version))
}

/// The existing file or folder that an argument names. A bare name is one only if it exists in `folder`.
fn path_of(argument: &str, folder: &Path) -> Option<PathBuf> {
    if argument.is_empty() || argument.starts_with('-') || argument.contains("://") {
        return None;
    }
    let path = folder.join(argument).canonicalize().ok()?;
    // The root of all files is no argument that a program needs whole.
    path.parent().map(|_| path.clone())
}

/// Whether the server may already read a path.
fn is_granted(server: &McpServerConfig, path: &Path) -> bool {
    let mut granted = server.readable.iter().chain(&server.writable);
    granted.any(|folder| {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        path.starts_with(folder)
    })
}

/// The files that a script runs with: the modules around it, the folder of its package, or itself alone.
fn script_files(script: &Path) -> PathBuf {
    let is_modules = |folder: &&Path| folder.file_name() == Some(OsStr::new("node_modules"));
    if let Some(modules) = script.ancestors().filter(is_modules).last() {
        return modules.to_owned();
    }
    let home = std::env::var_os(platform::HOME).map(PathBuf::from);
    let mut folders = script.ancestors().skip(1);
    let package = folders.find(|folder| {
        let is_package = PACKAGE_MARKS.iter().any(|mark| folder.join(mark).is_file());
        is_package && folder.parent().is_some() && Some(*folder) != home.as_deref()
    });
    package.unwrap_or(script).to_owned()
}

/// The name of a server from its program: `filesystem` of `npx -y @modelcontextprotocol/server-filesystem@1`.
pub(in crate::commands) fn name_of(command: &str, arguments: &[String]) -> String {
    let file = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let program = file(command);
    let runs_others = NPM.contains(&program.as_str())
        || PYPI.contains(&program.as_str())
        || is_interpreter(&program);
    let runner_words = ["exec", "run", "tool", "dlx", "x"];
    let mut words = arguments.iter().filter(|argument| {
        !argument.starts_with('-') && !runner_words.contains(&argument.as_str())
    });
    let named = words.next().filter(|_| runs_others);
    let package = named.map(|named| package_name(named));
    label(&package.unwrap_or(program))
}

/// The package's own name in an argument: without scope, version, path and the words that every server has.
fn package_name(argument: &str) -> String {
    let parts: Vec<&str> = argument.split('/').collect();
    let modules = parts.iter().rposition(|part| *part == "node_modules");
    let name = match modules {
        // A script of an installed package: the package is named after `node_modules`, perhaps with a scope.
        Some(at) => {
            let scoped = parts.get(at + 1).is_some_and(|part| part.starts_with('@'));
            parts.get(at + 1 + usize::from(scoped)).copied()
        }
        None => parts.last().copied(),
    };
    let name = name.unwrap_or(argument);
    let name = name.split(['@', '=']).next().unwrap_or(name);
    let name = name
        .strip_suffix(".py")
        .or_else(|| name.strip_suffix(".js"))
        .unwrap_or(name);
    let mut short = name;
    for word in ["mcp-server-", "mcp_server_", "server-", "mcp-"] {
        short = short.strip_prefix(word).unwrap_or(short);
    }
    for word in ["-mcp-server", "-mcp", "-server"] {
        short = short.strip_suffix(word).unwrap_or(short);
    }
    let scope = parts.iter().rev().find_map(|part| part.strip_prefix('@'));
    match (short, scope) {
        ("" | "mcp" | "server", Some(scope)) => scope,
        ("", None) => name,
        (short, _) => short,
    }
    .to_owned()
}

/// Any name as the name of a server: lower-case letters, digits, `-` and `_`.
pub(in crate::commands) fn label(name: &str) -> String {
    let mut label = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        let known = letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        if known {
            label.push(letter);
        } else if !label.ends_with('-') && !label.is_empty() {
            label.push('-');
        }
    }
    label.truncate(MAX_NAME);
    let label = label.trim_start_matches('_').trim_end_matches('-');
    if label.is_empty() { "server" } else { label }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(command: &str, arguments: &[&str], folder: &Path) -> (McpServerConfig, usize) {
        let mut server = McpServerConfig {
            command: Some(command.into()),
            args: arguments.iter().map(ToString::to_string).collect(),
            ..McpServerConfig::new("a".to_owned())
        };
        let notes = apply(&mut server, folder).unwrap();
        (server, notes.len())
    }

    #[test]
    fn npx_gets_its_registry_and_reads_the_folders_in_its_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("docs")).unwrap();
        std::fs::create_dir(root.join("package")).unwrap();
        let (server, notes) = applied("npx", &["-y", "package", "./docs"], &root);
        let docs = root.join("docs");
        assert_eq!(server.args, ["-y", "package", docs.to_str().unwrap()]);
        assert_eq!(server.readable, [docs]);
        assert_eq!(server.registry, Some(RegistryConfig::Npm));
        assert_eq!((server.start_timeout_ms, notes), (INSTALL_TIMEOUT_MS, 1));
        assert_eq!((server.writable.len(), server.egress.len()), (0, 0));
        let (server, _) = applied("/opt/uv/uvx", &["mcp-server-time"], &root);
        assert_eq!(server.registry, Some(RegistryConfig::Pypi));
    }

    #[test]
    fn a_script_reads_its_package_and_a_lone_script_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in [
            "node_modules/@a/b/dist/index.js",
            "app/package.json",
            "app/src/main.py",
            "one.py",
        ] {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        for (program, script, readable) in [
            ("node", "node_modules/@a/b/dist/index.js", "node_modules"),
            ("/usr/bin/python3.11", "app/src/main.py", "app"),
            ("python3", "one.py", "one.py"),
        ] {
            let (server, notes) = applied(program, &[script], &root);
            assert_eq!(server.readable, [root.join(readable)], "{script}");
            assert_eq!((server.registry, notes), (None, 0));
        }
    }

    #[test]
    fn a_container_needs_a_grant_of_the_daemon() {
        let mut server = McpServerConfig {
            command: Some("docker".into()),
            ..McpServerConfig::new("a".to_owned())
        };
        assert_eq!(apply(&mut server, Path::new("/")), Err(CONTAINER_REASON));
        server.docker = Some("/var/run/docker.sock".into());
        let notes = vec![CONTAINER_NOTE.to_owned()];
        assert_eq!(apply(&mut server, Path::new("/")), Ok(notes));
    }

    #[test]
    fn a_server_is_named_after_its_package() {
        for (line, name) in [
            (
                "npx -y @modelcontextprotocol/server-filesystem /srv",
                "filesystem",
            ),
            ("npx @playwright/mcp@latest --headless", "playwright"),
            ("uvx mcp-server-time==1.0", "time"),
            ("uv tool run mcp-server-git", "git"),
            (
                "node /x/node_modules/@upstash/context7-mcp/dist/index.js",
                "context7",
            ),
            ("node /x/node_modules/server-github/dist/index.js", "github"),
            ("/opt/notes/bin/Notes.Server --root", "notes-server"),
            ("python3.11 weather.py", "weather"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(name_of(&words[0], &words[1..]), name, "{line}");
        }
        assert_eq!(label("Ünser / Server!"), "nser-server");
        assert_eq!(label("é"), "server");
    }
}
