//! The differences between operating systems: the engine runs on Linux only, and files, signals and limits are those of
//! Unix or Windows. Other files have no cases for systems, except for a socket (`commands/mcp/socket.rs`).

#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

use charter_contract::error_code::ErrorCode;

use crate::failure::ReportedFailure;

#[cfg(unix)]
pub(crate) use unix::{HOME, file_mode, is_socket, raise_open_files, set_mode, terminated};
#[cfg(not(unix))]
pub(crate) use windows::{HOME, file_mode, is_socket, raise_open_files, set_mode, terminated};

/// The system that the engine runs on.
const ENGINE_SYSTEM: &str = "linux";

/// Refuses to run an engine, or to open its store, on another system than Linux.
///
/// # Errors
/// `invalid_request`, with the command that starts the container, and how to name its server.
pub(crate) fn require_engine_system() -> anyhow::Result<()> {
    check_engine_system(std::env::consts::OS)
}

fn check_engine_system(system: &str) -> anyhow::Result<()> {
    if system == ENGINE_SYSTEM {
        return Ok(());
    }
    let name = match system {
        "macos" => "macOS",
        "windows" => "Windows",
        other => other,
    };
    let message = format!(
        "the engine does not run on {name}: it confines tools with Landlock, seccomp and namespaces of the Linux kernel"
    );
    let version = env!("CARGO_PKG_VERSION");
    // On one line: shells differ in how a line continues.
    let hint = format!(
        "Run the server in a container, with an API key in charter.toml (docs/operate/install.md): `docker run \
         --volume charter:/data --volume ./charter.toml:/etc/charter.toml:ro --env CHARTER_CONFIG=/etc/charter.toml \
         --publish 127.0.0.1:7407:7407 charter:{version}`. Other commands use it with \
         `--server http://127.0.0.1:7407` and CHARTER_API_KEY."
    );
    let refused = ReportedFailure::new(ErrorCode::InvalidRequest, message);
    Err(refused.with_hint(hint).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_runs_on_linux_and_other_systems_name_the_container() {
        assert!(require_engine_system().is_ok());
        for (system, name) in [
            ("macos", "macOS"),
            ("windows", "Windows"),
            ("freebsd", "freebsd"),
        ] {
            let refused = check_engine_system(system).unwrap_err();
            let refused: ReportedFailure = refused.downcast().unwrap();
            let expected = format!(
                "the engine does not run on {name}: it confines tools with Landlock, seccomp and namespaces of the \
                 Linux kernel"
            );
            assert_eq!(
                (refused.code.as_str(), refused.message),
                ("invalid_request", expected)
            );
            let hint = refused.hint.unwrap();
            for part in [
                "docker run --volume charter:/data",
                concat!(" charter:", env!("CARGO_PKG_VERSION"), "`"),
                "`--server http://127.0.0.1:7407`",
            ] {
                assert!(hint.contains(part), "{part}: {hint}");
            }
        }
    }
}
