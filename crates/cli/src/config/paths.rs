//! Resolves paths. Those in the configuration file are relative to the file, so that it means the same from every
//! working directory. Paths from flags and the environment are relative to the working directory, as in a shell.
//!
//! A setting is a path if its schema is that of [`FilePath`] or [`ProgramPath`]; there is no list of such settings.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use config::{ConfigError, Map, Source, Value, ValueKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value as Json;

/// The schema of a file or directory.
pub(super) enum FilePath {}

/// The schema of a program: a name without `/` is not a path.
pub(super) enum ProgramPath {}

const FILE: &str = "path";
const PROGRAM: &str = "program";

impl JsonSchema for FilePath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FilePath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": FILE})
    }
}

impl JsonSchema for ProgramPath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ProgramPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": PROGRAM})
    }
}

/// A configuration source whose relative paths are resolved against its file's folder.
#[derive(Debug, Clone)]
pub(super) struct Located<S> {
    source: S,
    folder: String,
    schema: Json,
}

impl<S> Located<S> {
    /// Wraps the source of a file, with the schema of the whole configuration.
    ///
    /// # Errors
    /// When the file has no absolute path, or one that is not UTF-8.
    pub(super) fn new(file: &Path, source: S, schema: Schema) -> io::Result<Self> {
        let whole = std::path::absolute(file)?;
        let folder = whole.parent().and_then(Path::to_str);
        let folder =
            folder.ok_or_else(|| io::Error::other("its folder has a name that is not UTF-8"));
        Ok(Self {
            source,
            folder: folder?.to_owned(),
            schema: schema.into(),
        })
    }

    /// Resolves the paths of a value. The TOML reader has already limited its depth.
    fn resolve(&self, value: &mut Value, schema: &Json) {
        for part in self.parts(schema) {
            self.resolve(value, part);
        }
        match &mut value.kind {
            ValueKind::String(text) => {
                let is_path = match schema["format"].as_str() {
                    Some(FILE) => true,
                    Some(PROGRAM) => text.contains('/'),
                    Some(_) | None => false,
                };
                if is_path {
                    let whole = Path::new(&self.folder).join(&*text);
                    *text = whole.to_string_lossy().into_owned();
                }
            }
            ValueKind::Table(fields) => {
                for (name, field) in fields {
                    for part in of_field(schema, name) {
                        self.resolve(field, part);
                    }
                }
            }
            ValueKind::Array(items) => {
                for item in items {
                    self.resolve(item, &schema["items"]);
                }
            }
            _ => {}
        }
    }

    /// The schemas that a schema refers to for the same value.
    fn parts<'s>(&'s self, schema: &'s Json) -> impl Iterator<Item = &'s Json> {
        let reference = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
        let referred = reference.and_then(|to| self.schema.pointer(to));
        let several = ["anyOf", "oneOf", "allOf"];
        let several = several
            .into_iter()
            .filter_map(move |key| schema[key].as_array());
        referred.into_iter().chain(several.flatten())
    }
}

/// The schemas of a field. A map has one schema for all its keys, which are checked elsewhere.
fn of_field<'s>(schema: &'s Json, name: &str) -> impl Iterator<Item = &'s Json> + use<'s> {
    let known = schema["properties"].get(name);
    let patterns = schema["patternProperties"].as_object().into_iter();
    let of_keys = patterns.flat_map(|patterns| patterns.values());
    let of_keys = of_keys.chain(schema.get("additionalProperties"));
    known
        .into_iter()
        .chain(of_keys.filter(move |_| known.is_none()))
}

impl<S> Source for Located<S>
where
    S: Source + Clone + Send + Sync + 'static,
{
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        let mut whole = Value::new(None, ValueKind::Table(self.source.collect()?));
        self.resolve(&mut whole, &self.schema);
        whole.into_table()
    }
}

#[cfg(test)]
mod tests {
    use config::{File, FileFormat};

    use super::*;
    use crate::config::Config;

    /// Reads this text as a configuration file in `folder`, over the defaults.
    fn read(folder: &Path, text: &str) -> Json {
        let file = folder.join("config.toml");
        std::fs::write(&file, text).unwrap();
        let source = File::from(file.clone()).format(FileFormat::Toml);
        let located = Located::new(&file, source, schemars::schema_for!(Config)).unwrap();
        let defaults = config::Config::try_from(&Config::default()).unwrap();
        let built = config::Config::builder()
            .add_source(defaults)
            .add_source(located)
            .build()
            .unwrap();
        let config: Config = built.try_deserialize().unwrap();
        serde_json::to_value(config).unwrap()
    }

    const ALL: &str = r#"
data_dir = "data"
[store]
certificates = "tls/db.pem"
[model]
directory = "../model"
cache = "/var/cache/model"
[tools]
python = "venv/bin/python"
[tools.builtin.roots.site]
path = "site"
[tools.builtin.commands.tidy]
program = "./tidy"
[evidence]
key_file = "keys/evidence"
[a2a]
key_file = "keys/card"
[[mcp.servers]]
name = "files"
command = "bin/server"
args = ["not/a/path"]
readable = ["docs", "/usr/share/doc"]
writable = ["out"]
[models.providers.own]
api = "openai"
key = {file = "secrets/own"}
[models.tenants.acme.keys]
own = {file = "secrets/acme"}
[search]
key = {file = "secrets/search"}
[skill_index]
certificates = "tls/index.pem"
password = {file = "secrets/index"}
[webhooks.systems.crm]
url = "https://crm.example.com"
secrets = [{variable = "CRM"}, {file = "secrets/crm"}]
[webhooks.tenants.acme.systems.erp]
url = "https://erp.example.com"
secrets = [{file = "secrets/erp"}]
[telemetry.headers]
authorization = {file = "secrets/otlp"}
"#;

    #[test]
    fn every_path_of_the_file_is_relative_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let shown = read(folder.path(), ALL);
        for (setting, path) in [
            ("/data_dir", "data"),
            ("/store/certificates", "tls/db.pem"),
            ("/model/directory", "../model"),
            ("/model/cache", "/var/cache/model"),
            ("/tools/python", "venv/bin/python"),
            ("/tools/builtin/roots/site/path", "site"),
            ("/tools/builtin/commands/tidy/program", "./tidy"),
            ("/evidence/key_file", "keys/evidence"),
            ("/a2a/key_file", "keys/card"),
            ("/mcp/servers/0/command", "bin/server"),
            ("/mcp/servers/0/readable/0", "docs"),
            ("/mcp/servers/0/readable/1", "/usr/share/doc"),
            ("/mcp/servers/0/writable/0", "out"),
            ("/models/providers/own/key/file", "secrets/own"),
            ("/models/tenants/acme/keys/own/file", "secrets/acme"),
            ("/search/key/file", "secrets/search"),
            ("/skill_index/certificates", "tls/index.pem"),
            ("/skill_index/password/file", "secrets/index"),
            ("/webhooks/systems/crm/secrets/1/file", "secrets/crm"),
            (
                "/webhooks/tenants/acme/systems/erp/secrets/0/file",
                "secrets/erp",
            ),
            ("/telemetry/headers/authorization/file", "secrets/otlp"),
        ] {
            let expected = folder.path().join(path);
            let found = shown.pointer(setting).and_then(Json::as_str);
            assert_eq!(found, expected.to_str(), "{setting}");
        }
        assert_eq!(shown["mcp"]["servers"][0]["args"][0], "not/a/path");
        let variable = &shown["webhooks"]["systems"]["crm"]["secrets"][0];
        assert_eq!(variable["variable"], "CRM");
    }

    #[test]
    fn a_program_without_a_slash_and_what_the_file_does_not_set_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let shown = read(folder.path(), "[tools]\npython = \"python3.12\"\n");
        assert_eq!(shown["tools"]["python"], "python3.12");
        let defaults = serde_json::to_value(Config::default()).unwrap();
        assert_eq!(shown["data_dir"], defaults["data_dir"]);
    }

    /// A path setting without that schema would be relative to the working directory.
    #[test]
    fn every_path_among_the_settings_has_the_schema_of_one() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config");
        let files = std::fs::read_dir(&own).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        let files = files.filter(|file| !file.ends_with("paths.rs"));
        let mut found = 0;
        for file in files.chain([own.with_extension("rs")]) {
            let text = std::fs::read_to_string(&file).unwrap();
            // Paths of flags are relative to the working directory.
            let (settings, _) = text
                .split_once("struct Flags {")
                .unwrap_or((text.as_str(), ""));
            let lines: Vec<&str> = settings.lines().map(str::trim).collect();
            for pair in lines.windows(2) {
                let [before, line] = pair else { continue };
                let is_field = line.starts_with("pub(crate)") && line.ends_with(',');
                let is_path = line.contains("PathBuf") && (is_field || line.starts_with("File("));
                let marked = [before, line]
                    .iter()
                    .any(|line| line.contains("FilePath") || line.contains("ProgramPath"));
                assert!(marked || !is_path, "{}: {line}", file.display());
                found += usize::from(is_path);
            }
        }
        assert!(found > 12, "{found}");
    }
}
