//! The configuration file: TOML, in any encoding that editors write.

use std::path::PathBuf;

use config::{ConfigError, FileFormat, Format, Map, Source, Value};

use crate::text_file;

/// Largest configuration file, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 4 << 20;

/// A file that is read when the configuration is built.
#[derive(Debug, Clone)]
pub(super) struct ConfigFile(pub(super) PathBuf);

impl Source for ConfigFile {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        let name = self.0.display().to_string();
        let text = text_file::read(&self.0, MAX_FILE_BYTES)
            .map_err(|error| ConfigError::Message(format!("{name}: {error}")))?;
        Format::parse(&FileFormat::Toml, Some(&name), &text).map_err(|cause| {
            ConfigError::FileParse {
                uri: Some(name),
                cause,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read_however_its_editor_saved_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let collected = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            ConfigFile(file.clone()).collect()
        };
        let text = "log = \"warn\"\n[model]\nname = \"é\"\n";
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let wide = [&b"\xff\xfe"[..], &wide].concat();
        for bytes in [
            text.as_bytes().to_vec(),
            format!("\u{feff}{text}").into_bytes(),
            text.replace('\n', "\r\n").into_bytes(),
            wide,
        ] {
            let read = collected(&bytes).unwrap();
            let model = read["model"].clone().into_table().unwrap();
            assert_eq!(
                model["name"].clone().into_string().unwrap(),
                "é",
                "{bytes:?}"
            );
        }
        let failed = |bytes: &[u8]| collected(bytes).unwrap_err().to_string();
        let name = file.display();
        assert_eq!(
            failed(b"log = \"warn\"\n# caf\xe9\n"),
            format!("{name}: line 2: byte 18 is not UTF-8")
        );
        assert!(failed(b"log = \n").contains(&name.to_string()));
    }
}
