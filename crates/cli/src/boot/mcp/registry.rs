//! The package registry of an MCP server's program, from the settings of npm and pip on this machine: the hosts that the
//! program may reach, and the settings that it gets. Credentials of a registry are passed on only if its address contains
//! them. Must not know the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use charter_effects::HostPattern;
use reqwest::Url;

use crate::config::RegistryConfig;
use crate::text_file;

/// Largest file of settings, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The registry of npm without a setting.
const NPM_DEFAULT: &str = "https://registry.npmjs.org/";
/// The index of pip without a setting, and the host that it refers to for the files.
const PYPI_DEFAULT: &str = "https://pypi.org/simple";
const PYPI_FILES: &str = "files.pythonhosted.org";
/// Variables with the file of certificates of the machine's programs.
const NODE_CERTIFICATES: &str = "NODE_EXTRA_CA_CERTS";
const CERTIFICATES: &str = "SSL_CERT_FILE";
/// Settings that keep npm from requests that installing does not need.
const NPM_QUIET: [(&str, &str); 3] = [
    ("npm_config_audit", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_update_notifier", "false"),
];
/// The same for pip and uv. The certificates are those of the system.
const PYPI_QUIET: [(&str, &str); 3] = [
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("UV_NATIVE_TLS", "true"),
    ("UV_PYTHON_DOWNLOADS", "never"),
];

/// The access that a program needs to install packages.
#[derive(Debug, Default)]
pub(super) struct RegistryAccess {
    /// The hosts of the registry.
    pub(super) egress: Vec<HostPattern>,
    /// Variables with the registry's settings.
    pub(super) settings: Vec<(String, String)>,
    /// Variables whose values contain a password.
    pub(super) secrets: Vec<(String, String)>,
    /// Files that the settings refer to.
    pub(super) files: Vec<PathBuf>,
}

impl RegistryAccess {
    /// Reads the settings of this machine.
    ///
    /// # Errors
    /// When a file of settings cannot be read, or an address in it is invalid.
    pub(super) fn read(registry: RegistryConfig) -> anyhow::Result<Self> {
        Settings::of_this_process().access(registry)
    }

    /// Grants the host of an address, and passes the address on in these variables.
    fn add_address(&mut self, address: &str, variables: &[&str]) -> anyhow::Result<()> {
        let url =
            Url::parse(address).with_context(|| format!("the address {:?}", bare(address)))?;
        self.egress.push(host_of(&url)?);
        let is_secret = !url.username().is_empty() || url.password().is_some();
        let list = match is_secret {
            true => &mut self.secrets,
            false => &mut self.settings,
        };
        let pairs = variables
            .iter()
            .map(|name| ((*name).to_owned(), address.to_owned()));
        list.extend(pairs);
        Ok(())
    }

    /// Grants a file of certificates, and passes its path on in these variables.
    fn add_certificates(&mut self, file: Option<String>, variables: &[&str]) {
        if let Some(file) = file {
            let pairs = variables
                .iter()
                .map(|name| ((*name).to_owned(), file.clone()));
            self.settings.extend(pairs);
            self.files.push(PathBuf::from(file));
        }
    }
}

/// An address without a password, for messages.
fn bare(address: &str) -> &str {
    address.rsplit('@').next().unwrap_or_default()
}

fn host_of(url: &Url) -> anyhow::Result<HostPattern> {
    let host = url.host_str().context("an address without a host")?;
    ensure!(
        matches!(url.scheme(), "http" | "https"),
        "the address of {host} is neither http nor https"
    );
    let pattern = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.trim_matches(['[', ']']).to_owned(),
    };
    pattern
        .parse()
        .with_context(|| format!("the host {pattern:?}"))
}

/// The sources of settings: the environment, and files.
struct Settings {
    variables: BTreeMap<String, String>,
}

impl Settings {
    fn of_this_process() -> Self {
        let variables = std::env::vars_os();
        let text = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self {
            variables: text.collect(),
        }
    }

    fn access(&self, registry: RegistryConfig) -> anyhow::Result<RegistryAccess> {
        match registry {
            RegistryConfig::Npm => self.npm(),
            RegistryConfig::Pypi => self.pypi(),
        }
    }

    fn npm(&self) -> anyhow::Result<RegistryAccess> {
        let mut access = RegistryAccess::default();
        let mut settings = BTreeMap::new();
        // Later files take precedence.
        let user = self.variable("NPM_CONFIG_USERCONFIG").map(PathBuf::from);
        let user = user.or_else(|| self.home(".npmrc"));
        let global = self.variable("NPM_CONFIG_GLOBALCONFIG").map(PathBuf::from);
        let system = ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"];
        let files = system.into_iter().map(PathBuf::from);
        for file in files.chain(global).chain(user) {
            let lines = self.lines(&file)?;
            settings.extend(lines.into_iter().map(|(_, name, value)| (name, value)));
        }
        let setting = |name: &str| {
            let variable = self.variable(&format!("npm_config_{name}"));
            variable.or_else(|| settings.get(name).cloned())
        };
        let registry = setting("registry").unwrap_or_else(|| NPM_DEFAULT.to_owned());
        access.add_address(&registry, &["npm_config_registry"])?;
        let scoped = settings.iter();
        for (name, address) in scoped.filter(|(name, _)| is_scoped_registry(name)) {
            access.add_address(address, &[format!("npm_config_{name}").as_str()])?;
        }
        access.add_certificates(setting("cafile"), &["npm_config_cafile"]);
        access.add_certificates(self.variable(NODE_CERTIFICATES), &[NODE_CERTIFICATES]);
        access.settings.extend(pairs(&NPM_QUIET));
        Ok(access)
    }

    fn pypi(&self) -> anyhow::Result<RegistryAccess> {
        let mut access = RegistryAccess::default();
        let mut settings = BTreeMap::new();
        let configured = self.variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let configured = configured.or_else(|| self.home(".config"));
        let user = configured.map(|folder| folder.join("pip/pip.conf"));
        let named = self.variable("PIP_CONFIG_FILE").map(PathBuf::from);
        let system = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf"].into_iter();
        let files = system.map(PathBuf::from).chain(self.home(".pip/pip.conf"));
        for file in files.chain(user).chain(named) {
            for (section, name, value) in self.lines(&file)? {
                if matches!(section.as_str(), "global" | "install") {
                    settings.insert(name.replace('_', "-"), value);
                }
            }
        }
        let index = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"];
        let index = index.into_iter().find_map(|name| self.variable(name));
        let index = index.or_else(|| settings.get("index-url").cloned());
        let address = index.clone().unwrap_or_else(|| PYPI_DEFAULT.to_owned());
        access.add_address(&address, &["UV_DEFAULT_INDEX", "PIP_INDEX_URL"])?;
        if index.is_none() {
            access.egress.push(PYPI_FILES.parse()?);
        }
        let certificates = self
            .variable("PIP_CERT")
            .or_else(|| self.variable(CERTIFICATES));
        let certificates = certificates.or_else(|| settings.get("cert").cloned());
        access.add_certificates(certificates, &[CERTIFICATES, "PIP_CERT"]);
        access.settings.extend(pairs(&PYPI_QUIET));
        Ok(access)
    }

    /// A variable by its name, in upper or lower case, as npm and pip read them.
    fn variable(&self, name: &str) -> Option<String> {
        let names = [name.to_owned(), name.to_uppercase(), name.to_lowercase()];
        let value = names.iter().find_map(|name| self.variables.get(name));
        value.filter(|value| !value.is_empty()).cloned()
    }

    fn home(&self, path: &str) -> Option<PathBuf> {
        self.variables
            .get("HOME")
            .map(|home| Path::new(home).join(path))
    }

    /// The settings of a file, with their sections; none if it does not exist.
    fn lines(&self, file: &Path) -> anyhow::Result<Vec<(String, String, String)>> {
        if !file.is_file() {
            return Ok(Vec::new());
        }
        let reading = || format!("reading {}", file.display());
        let text = text_file::read(file, MAX_FILE_BYTES).with_context(reading)?;
        let mut section = String::new();
        let mut lines = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'))
            {
                section = name.trim().to_owned();
            } else if let Some((name, value)) = line.split_once('=') {
                let value = value.trim().trim_matches(['"', '\'']);
                let name = name.trim().to_owned();
                lines.push((section.clone(), name, self.expanded(value)));
            }
        }
        Ok(lines)
    }

    /// Replaces `${NAME}` by variables; an unknown one stays.
    fn expanded(&self, value: &str) -> String {
        let mut text = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else {
                break;
            };
            text.push_str(before);
            match self.variables.get(name) {
                Some(value) => text.push_str(value),
                None => text.push_str(&format!("${{{name}}}")),
            }
            rest = behind;
        }
        text + rest
    }
}

/// Whether a setting of npm is the registry of a scope, such as `@example:registry`.
fn is_scoped_registry(name: &str) -> bool {
    name.starts_with('@') && name.ends_with(":registry")
}

fn pairs(constants: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = constants.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(home: &Path, variables: &[(&str, &str)]) -> Settings {
        let mut all: BTreeMap<String, String> = pairs(variables).into_iter().collect();
        all.insert("HOME".to_owned(), home.display().to_string());
        // The files of the machine that runs the tests do not count.
        let nothing = home.join("nothing").display().to_string();
        all.entry("NPM_CONFIG_GLOBALCONFIG".to_owned())
            .or_insert(nothing);
        Settings { variables: all }
    }

    fn setting<'a>(access: &'a RegistryAccess, name: &str) -> Option<&'a str> {
        let mut settings = access.settings.iter();
        settings.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    #[test]
    fn the_registry_of_npm_is_the_one_of_its_settings() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        std::fs::write(
            home.join(".npmrc"),
            "; mine\nregistry = http://127.0.0.1:${PORT}/npm/\n@own:registry=\"https://npm.own.example/\"\n\
             cafile=/etc/own/ca.pem\n//127.0.0.1/:_authToken=t0ken\n",
        )
        .unwrap();
        let access = settings(home, &[("PORT", "4873")]).npm().unwrap();
        let expected: Vec<HostPattern> = ["127.0.0.1:4873", "npm.own.example"]
            .map(|host| host.parse().unwrap())
            .to_vec();
        assert_eq!(access.egress, expected);
        assert_eq!(
            setting(&access, "npm_config_registry"),
            Some("http://127.0.0.1:4873/npm/")
        );
        assert_eq!(
            setting(&access, "npm_config_@own:registry"),
            Some("https://npm.own.example/")
        );
        assert_eq!(access.files, [PathBuf::from("/etc/own/ca.pem")]);
        assert!(!format!("{access:?}").contains("t0ken"));
        let variable = [("npm_config_registry", "https://other.example/")];
        let access = settings(home, &variable).npm().unwrap();
        assert_eq!(
            setting(&access, "npm_config_registry"),
            Some("https://other.example/")
        );
    }

    #[test]
    fn the_index_of_pip_is_the_one_of_its_settings_and_a_password_counts_as_secret() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        std::fs::create_dir_all(home.join(".config/pip")).unwrap();
        let index = "https://user:pass@pypi.own.example/simple";
        let file =
            format!("[global]\nindex-url = {index}\n[list]\nindex-url = https://no.example\n");
        std::fs::write(home.join(".config/pip/pip.conf"), file).unwrap();
        let access = settings(home, &[]).pypi().unwrap();
        assert_eq!(access.egress.len(), 1);
        let secret =
            ["UV_DEFAULT_INDEX", "PIP_INDEX_URL"].map(|name| (name.to_owned(), index.to_owned()));
        assert_eq!(access.secrets, secret);
        let certificates = [
            ("UV_INDEX_URL", "https://uv.example/simple"),
            ("SSL_CERT_FILE", "/etc/own/ca.pem"),
        ];
        let access = settings(home, &certificates).pypi().unwrap();
        assert_eq!(
            setting(&access, "UV_DEFAULT_INDEX"),
            Some("https://uv.example/simple")
        );
        assert_eq!(access.files, [PathBuf::from("/etc/own/ca.pem")]);
        let broken = settings(home, &[("PIP_INDEX_URL", "file:///srv/pip")]);
        assert!(broken.pypi().is_err());
    }
}
