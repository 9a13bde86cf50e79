//! Addresses of servers: of operations, paths and the document, with the values of their variables.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{Dialect, ReadOptions};
use crate::documents::{DocumentSet, Location, Part, ServerAddress, parse_server};
use crate::text::shortened;

/// The address that is assumed where the document names none.
const ASSUMED: &str = "http://localhost";
/// Servers of one list that are considered.
const MAX_SERVERS: usize = 100;

/// Finds the server of each operation.
#[derive(Debug)]
pub(super) struct Servers<'d> {
    documents: &'d DocumentSet,
    dialect: Dialect,
    options: &'d ReadOptions,
    used: RefCell<BTreeMap<String, String>>,
    notes: RefCell<BTreeSet<String>>,
}

impl<'d> Servers<'d> {
    pub(super) fn new(
        documents: &'d DocumentSet,
        dialect: Dialect,
        options: &'d ReadOptions,
    ) -> Self {
        Self {
            documents,
            dialect,
            options,
            used: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// Returns the variables of all servers that were found, with their values.
    pub(super) fn used_variables(&self) -> BTreeMap<String, String> {
        self.used.borrow().clone()
    }

    /// Returns the notes on all servers that were found.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.borrow().iter().cloned().collect()
    }

    /// Returns the server of an operation: its own, that of its path, or that of the document.
    pub(super) fn of_operation(
        &self,
        item: Part<'d>,
        operation: Part<'d>,
    ) -> Result<ServerAddress, String> {
        if let Some(base) = &self.options.base_url {
            let refused = |error| format!("the base URL `{}` is {error}", shortened(base, 200));
            return parse_server(base).map_err(refused);
        }
        match self.dialect {
            Dialect::Swagger2 => self.of_swagger(operation),
            Dialect::OpenApi3 => {
                let levels = [operation, item, self.documents.root()];
                let lists = levels.iter().filter_map(|level| level.member("servers"));
                let named = lists
                    .map(|list| list.items().take(MAX_SERVERS).collect::<Vec<_>>())
                    .find(|servers| !servers.is_empty());
                match named {
                    Some(servers) => self.first_usable(&servers),
                    None => self.relative("/"),
                }
            }
        }
    }

    fn first_usable(&self, servers: &[Part<'d>]) -> Result<ServerAddress, String> {
        let mut reason = String::new();
        for server in servers {
            match self
                .with_variables(*server)
                .and_then(|url| self.absolute(&url))
            {
                Ok(address) => return Ok(address),
                Err(error) if reason.is_empty() => reason = error,
                Err(_) => {}
            }
        }
        Err(reason)
    }

    fn of_swagger(&self, operation: Part<'d>) -> Result<ServerAddress, String> {
        let root = self.documents.root();
        let base_path = root.text("basePath");
        let host = root.text("host");
        if host.is_empty() {
            return self.relative(base_path);
        }
        let schemes = match operation.member("schemes") {
            Some(_) => operation.texts("schemes").collect::<Vec<_>>(),
            None => root.texts("schemes").collect(),
        };
        let scheme = match schemes.as_slice() {
            [] => "https",
            some if some.contains(&"https") => "https",
            some if some.contains(&"http") => "http",
            _ => return Err("the server speaks neither http nor https".to_owned()),
        };
        let slash = if base_path.starts_with('/') { "" } else { "/" };
        self.absolute(&format!("{scheme}://{host}{slash}{base_path}"))
    }

    fn absolute(&self, url: &str) -> Result<ServerAddress, String> {
        let url = url.trim();
        if !url.contains("://") {
            // Many documents name a host without its scheme.
            if let Some(rest) = url.strip_prefix("//") {
                return parsed(&format!("https://{rest}"));
            }
            return self.relative(url);
        }
        parsed(url)
    }

    /// Resolves an address against that of the document.
    fn relative(&self, url: &str) -> Result<ServerAddress, String> {
        let path = url.trim_start_matches("./");
        let slash = if path.starts_with('/') { "" } else { "/" };
        match self.documents.root_location() {
            Location::Web(_) => {
                let root = self.documents.root_location().to_string();
                let address = parsed(&root)?;
                let origin = match address.base.find("://") {
                    Some(at) => {
                        let rest = &address.base[at + 3..];
                        let end = rest.find('/').unwrap_or(rest.len());
                        &address.base[..at + 3 + end]
                    }
                    None => address.base.as_str(),
                };
                parsed(&format!("{origin}{slash}{path}"))
            }
            Location::File(_) => {
                self.notes.borrow_mut().insert(format!(
                    "the document names no host: `{ASSUMED}` is assumed; name the server by `--base-url URL`"
                ));
                parsed(&format!("{ASSUMED}{slash}{path}"))
            }
        }
    }

    /// Returns the address of a server with the values of its variables.
    fn with_variables(&self, server: Part<'d>) -> Result<String, String> {
        let template = server.text("url");
        let mut url = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            let given = self.options.server_variables.get(name).cloned();
            let declared = server.member("variables").and_then(|all| all.member(name));
            let default = declared.and_then(default_of);
            let Some(value) = given.or(default) else {
                let name = shortened(name, 80);
                return Err(format!(
                    "the variable `{name}` of the server has no default; set it by `--server-variable {name}=VALUE`"
                ));
            };
            url.push_str(before);
            url.push_str(&value);
            self.used.borrow_mut().insert(shortened(name, 80), value);
            rest = after;
        }
        url.push_str(rest);
        Ok(url)
    }
}

fn default_of(variable: Part<'_>) -> Option<String> {
    let value = variable.value.get("default").or_else(|| {
        let listed = variable.value.get("enum")?.as_array()?;
        listed.first()
    })?;
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn parsed(url: &str) -> Result<ServerAddress, String> {
    parse_server(url).map_err(|error| format!("the server `{}` is {error}", shortened(url, 200)))
}
