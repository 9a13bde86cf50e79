//! Finds the program of an MCP server, and the files of the interpreter that runs it: virtual environments, and
//! installations of Python and Node.js outside the system's folders. Must not know the server's other grants.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};

use crate::platform;

/// Folders of which the sandbox grants every program.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];
/// The file that marks a virtual environment.
const VENV_MARK: &str = "pyvenv.cfg";

/// A program, with the files that it runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// The program as it was named or found: a virtual environment is recognised by this path.
    pub(super) path: PathBuf,
    /// Files and folders outside the system's that it reads and executes.
    pub(super) runtime: Vec<PathBuf>,
    /// Folders outside the system's in which it finds other programs.
    pub(super) search_path: Vec<PathBuf>,
}

impl Program {
    /// Finds a program by its absolute path, or by its name on the `PATH` of this process.
    ///
    /// # Errors
    /// When no such program exists or may be executed.
    pub(super) fn find(command: &Path) -> anyhow::Result<Self> {
        Self::find_in(command, std::env::var_os("PATH").as_deref())
    }

    fn find_in(command: &Path, search: Option<&OsStr>) -> anyhow::Result<Self> {
        let is_name = command.components().count() == 1 && !command.is_absolute();
        let path = if is_name {
            match look_up(command, search) {
                Some(path) => path,
                None => bail!(
                    "PATH has no program `{}`: install it, or write its path",
                    command.display()
                ),
            }
        } else {
            ensure!(
                command.is_absolute(),
                "{} must be an absolute path, or a name on PATH",
                command.display()
            );
            ensure!(
                is_executable(command),
                "{} is not an executable file",
                command.display()
            );
            command.to_owned()
        };
        let mut found = Self {
            path: path.clone(),
            runtime: Vec::new(),
            search_path: Vec::new(),
        };
        found.add_runtime_of(&path);
        found.search_path.dedup();
        found.runtime.sort();
        found.runtime.dedup();
        Ok(found)
    }

    fn add_runtime_of(&mut self, path: &Path) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        for found in [path, &real] {
            if let Some(folder) = found.parent().filter(|folder| !is_of_system(folder)) {
                self.search_path.push(folder.to_owned());
            }
            if let Some(venv) = virtual_environment(found) {
                self.add_virtual_environment(&venv);
            }
        }
        if is_of_system(&real) {
            return;
        }
        match installation(&real) {
            Some(home) => self.add_installation(home),
            None => self.runtime.push(real.clone()),
        }
        if let Some(modules) = outermost_modules(&real) {
            self.runtime.push(modules.to_owned());
        }
        // uvx starts uv, which lies beside it.
        let sibling = real.with_file_name("uv");
        if real.file_name() == Some(OsStr::new("uvx")) && sibling.is_file() {
            self.runtime.push(sibling);
        }
    }

    /// Adds a virtual environment, and the installation of Python that it was made of.
    fn add_virtual_environment(&mut self, venv: &Path) {
        if !is_of_system(venv) {
            self.runtime.push(venv.to_owned());
        }
        if let Ok(python) = venv.join("bin/python").canonicalize()
            && let Some(home) = installation(&python)
        {
            self.add_installation(home);
        }
    }

    fn add_installation(&mut self, home: &Path) {
        if !is_of_system(home) {
            self.search_path.push(home.join("bin"));
            self.runtime.push(home.to_owned());
        }
    }
}

/// Finds a program by its name on the `PATH` of this process.
pub(crate) fn find_on_path(name: &str) -> Option<PathBuf> {
    look_up(Path::new(name), std::env::var_os("PATH").as_deref())
}

fn look_up(name: &Path, search: Option<&OsStr>) -> Option<PathBuf> {
    let folders = std::env::split_paths(search?).filter(|folder| folder.is_absolute());
    let mut candidates = folders.map(|folder| folder.join(name));
    candidates.find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|metadata| {
        let mode = platform::file_mode(&metadata);
        metadata.is_file() && mode.is_none_or(|mode| mode & 0o111 != 0)
    })
}

fn is_of_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// The virtual environment whose folder of programs contains a path.
fn virtual_environment(path: &Path) -> Option<PathBuf> {
    let venv = path.parent()?.parent()?;
    venv.join(VENV_MARK).is_file().then(|| venv.to_owned())
}

/// The installation of Python or Node.js that a file belongs to, recognised by its standard library or its npm.
fn installation(real: &Path) -> Option<&Path> {
    let mut folders = real.ancestors().skip(1);
    folders.find(|folder| folder.parent().is_some() && (is_python(folder) || is_node(folder)))
}

fn is_python(folder: &Path) -> bool {
    let Ok(entries) = folder.join("lib").read_dir() else {
        return false;
    };
    let mut libraries = entries.filter_map(Result::ok);
    libraries.any(|library| {
        let name = library.file_name();
        let is_python3 = name
            .to_str()
            .is_some_and(|name| name.starts_with("python3"));
        is_python3 && library.path().join("os.py").is_file()
    })
}

fn is_node(folder: &Path) -> bool {
    folder.join("bin/node").is_file() && folder.join("lib/node_modules/npm").is_dir()
}

/// The outermost folder `node_modules` that contains a file: packages there use each other.
fn outermost_modules(real: &Path) -> Option<&Path> {
    let folders = real.ancestors();
    let modules = folders.filter(|folder| folder.file_name() == Some(OsStr::new("node_modules")));
    modules.last()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder with empty executable files at these paths.
    fn folder(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in files {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        (folder, root)
    }

    fn found(root: &Path, command: &str, search: &[&str]) -> Result<Program, String> {
        let folders = search.iter().map(|folder| root.join(folder));
        let search = std::env::join_paths(folders).unwrap();
        Program::find_in(Path::new(command), Some(&search)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_is_looked_up_and_a_relative_path_is_refused() {
        let (_folder, root) = folder(&["a/tool", "b/tool"]);
        let plain = root.join("a/tool");
        std::fs::set_permissions(&plain, PermissionsExt::from_mode(0o644)).unwrap();
        let program = found(&root, "tool", &["a", "b"]).unwrap();
        assert_eq!(
            program,
            Program {
                path: root.join("b/tool"),
                runtime: vec![root.join("b/tool")],
                search_path: vec![root.join("b")],
            }
        );
        let refused = |command: &str| found(&root, command, &["a"]).unwrap_err();
        assert_eq!(
            refused("tool"),
            "PATH has no program `tool`: install it, or write its path"
        );
        assert_eq!(
            refused("a/tool"),
            "a/tool must be an absolute path, or a name on PATH"
        );
        assert_eq!(
            refused(plain.to_str().unwrap()),
            format!("{} is not an executable file", plain.display())
        );
    }

    #[test]
    fn a_console_script_runs_with_its_environment_and_the_python_of_it() {
        let (_folder, root) = folder(&[
            "venv/pyvenv.cfg",
            "venv/bin/mcp-server-time",
            "python/bin/python3.11",
            "python/lib/python3.11/os.py",
            "links/.keep",
        ]);
        let python = root.join("python/bin/python3.11");
        symlink(python, root.join("venv/bin/python")).unwrap();
        let script = root.join("venv/bin/mcp-server-time");
        symlink(script, root.join("links/time")).unwrap();
        for (search, command) in [("venv/bin", "mcp-server-time"), ("links", "time")] {
            let program = found(&root, command, &[search]).unwrap();
            let has = |folder: &str| program.runtime.contains(&root.join(folder));
            assert!(has("venv") && has("python"), "{program:?}");
            assert_eq!(program.path, root.join(search).join(command));
        }
    }

    /// Node.js of a version manager: npx is a link to a module, which starts `node` by its name.
    #[test]
    fn npx_runs_with_its_installation_of_node() {
        let (_folder, root) = folder(&[
            "node/bin/node",
            "node/lib/node_modules/npm/bin/npx-cli.js",
            "project/node_modules/server/dist/index.js",
            "project/node_modules/.bin/.keep",
        ]);
        let npx = root.join("node/bin/npx");
        symlink("../lib/node_modules/npm/bin/npx-cli.js", npx).unwrap();
        let server = root.join("project/node_modules/.bin/server");
        symlink("../server/dist/index.js", server).unwrap();
        let program = found(&root, "npx", &["node/bin"]).unwrap();
        assert!(program.runtime.contains(&root.join("node")), "{program:?}");
        assert_eq!(program.search_path[0], root.join("node/bin"));
        let program = found(&root, "server", &["project/node_modules/.bin"]).unwrap();
        let modules = root.join("project/node_modules");
        assert!(program.runtime.contains(&modules), "{program:?}");
    }

    #[test]
    fn a_program_beside_others_grants_only_itself() {
        let (_folder, root) = folder(&["bin/uvx", "bin/uv", "bin/other"]);
        let program = found(&root, "uvx", &["bin"]).unwrap();
        assert_eq!(program.runtime, [root.join("bin/uv"), root.join("bin/uvx")]);
    }
}
