//! The MCP servers in a configuration file: reads their names, and appends servers. The rest of the file, with its
//! comments, stays as it is. Must not know where a server comes from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use config::{ConfigError, File, FileFormat};

use super::file::MAX_FILE_BYTES;
use super::{McpConfig, McpServerConfig};
use crate::text_file;

/// The servers of a file that is to be changed.
#[derive(Debug)]
pub(crate) struct ServerList {
    file: PathBuf,
    text: String,
    names: BTreeSet<String>,
}

impl ServerList {
    /// Reads a configuration file, which need not exist.
    ///
    /// # Errors
    /// When it cannot be read, or its servers are invalid.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let reading = || format!("reading {}", file.display());
        // A link stays a link.
        let file = match file.try_exists().with_context(reading)? {
            true => file.canonicalize().with_context(reading)?,
            false => file.to_owned(),
        };
        let text = match file.is_file() {
            true => text_file::read(&file, MAX_FILE_BYTES).with_context(reading)?,
            false => String::new(),
        };
        let servers = servers(&text).with_context(reading)?;
        Ok(Self {
            names: servers.into_iter().map(|server| server.name).collect(),
            file,
            text,
        })
    }

    /// The file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether a server of this name is in the file.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Appends a server; nothing is written yet. Returns the added lines.
    ///
    /// # Errors
    /// When the file has the servers in a form to which nothing can be appended.
    pub(crate) fn append(&mut self, server: &McpServerConfig) -> anyhow::Result<String> {
        let lines = lines(server)?;
        let separator = match self.text.as_str() {
            "" => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let text = format!("{}{separator}{lines}", self.text);
        let known = servers(&text).ok();
        let added = known.is_some_and(|servers| servers.last() == Some(server));
        if !added {
            bail!(
                "{} has its MCP servers in a form to which none can be appended; add these lines by hand:\n{lines}",
                self.file.display()
            );
        }
        self.names.insert(server.name.clone());
        self.text = text;
        Ok(lines)
    }

    /// Writes the file at once, with the permissions that it had.
    ///
    /// # Errors
    /// When it cannot be written; then it is unchanged.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let writing = || format!("writing {}", self.file.display());
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder).with_context(writing)?;
        }
        let mut name = self.file.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let part = self.file.with_file_name(name);
        fs::write(&part, &self.text).with_context(writing)?;
        if let Ok(metadata) = self.file.metadata() {
            fs::set_permissions(&part, metadata.permissions()).with_context(writing)?;
        }
        fs::rename(&part, &self.file).with_context(writing)
    }
}

/// The servers of a configuration file's text.
fn servers(text: &str) -> Result<Vec<McpServerConfig>, ConfigError> {
    let source = File::from_str(text, FileFormat::Toml);
    let read = config::Config::builder().add_source(source).build()?;
    match read.get::<McpConfig>("mcp") {
        Ok(config) => Ok(config.servers),
        Err(ConfigError::NotFound(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The lines of a server, as a person would write them: without defaults.
fn lines(server: &McpServerConfig) -> anyhow::Result<String> {
    let defaults = McpServerConfig::new(server.name.clone());
    let given = serde_json::to_value(server).context("writing a server")?;
    let usual = serde_json::to_value(&defaults).context("writing a server")?;
    let mut text = format!("[[mcp.servers]]\nname = {}\n", value(&given["name"]));
    for field in FIELDS {
        let written = &given[field];
        if !written.is_null() && *written != usual[field] {
            text.push_str(&format!("{field} = {}\n", value(written)));
        }
    }
    Ok(text)
}

/// The fields of a server after its name, in the order of the documentation.
const FIELDS: [&str; 16] = [
    "command",
    "args",
    "environment",
    "registry",
    "docker",
    "readable",
    "writable",
    "url",
    "headers",
    "egress",
    "tools",
    "deny",
    "readonly",
    "start_timeout_ms",
    "timeout_ms",
    "refresh_s",
];

/// A value as TOML. Texts of JSON are texts of TOML, except that TOML also escapes the character DEL.
fn value(value: &serde_json::Value) -> String {
    use serde_json::Value::{Array, Object};
    match value {
        Array(values) => {
            let values: Vec<String> = values.iter().map(self::value).collect();
            format!("[{}]", values.join(", "))
        }
        Object(fields) => {
            let fields = fields.iter().map(|(name, field)| {
                let name = self::value(&serde_json::Value::String(name.clone()));
                format!("{name} = {}", self::value(field))
            });
            let fields: Vec<String> = fields.collect();
            format!("{{ {} }}", fields.join(", "))
        }
        plain => plain.to_string().replace('\u{7f}', "\\u007F"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::config::RegistryConfig;

    fn server(name: &str) -> McpServerConfig {
        McpServerConfig {
            command: Some("npx".into()),
            args: vec!["-y".to_owned(), "a \"b\" \\ \u{7f}é".to_owned()],
            environment: vec!["MODE=fast".to_owned()],
            registry: Some(RegistryConfig::Npm),
            headers: [("x-key".to_owned(), "KEY".to_owned())].into(),
            deny: vec!["drop".to_owned()],
            start_timeout_ms: 180_000,
            ..McpServerConfig::new(name.to_owned())
        }
    }

    #[test]
    fn a_server_is_appended_and_the_rest_of_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/config.toml");
        let mut list = ServerList::read(&file).unwrap();
        list.append(&server("one")).unwrap();
        list.write().unwrap();
        let before =
            "# mine\nlog = \"warn\" # loud\n".to_owned() + &fs::read_to_string(&file).unwrap();
        fs::write(&file, &before).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let mut list = ServerList::read(&file).unwrap();
        assert!(list.contains("one") && !list.contains("two"));
        let lines = list.append(&server("two")).unwrap();
        list.write().unwrap();
        let written = fs::read_to_string(&file).unwrap();
        assert_eq!(written, format!("{before}\n{lines}"));
        assert_eq!(
            lines,
            "[[mcp.servers]]\nname = \"two\"\ncommand = \"npx\"\nargs = [\"-y\", \"a \\\"b\\\" \\\\ \\u007Fé\"]\n\
             environment = [\"MODE=fast\"]\nregistry = \"npm\"\nheaders = { \"x-key\" = \"KEY\" }\ndeny = [\"drop\"]\n\
             start_timeout_ms = 180000\n"
        );
        assert_eq!(servers(&written).unwrap(), [server("one"), server("two")]);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_with_another_form_of_list_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, "mcp = { servers = [] }\n").unwrap();
        let mut list = ServerList::read(&file).unwrap();
        let refused = list.append(&server("one")).unwrap_err().to_string();
        assert!(
            refused.contains("add these lines by hand:\n[[mcp.servers]]"),
            "{refused}"
        );
    }
}
