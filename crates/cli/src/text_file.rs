//! Reads text files that people write and name on the command line or in the configuration: with a size limit, and
//! decoded by the shared decoder. Must not know what a file is for.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::bail;
use charter_contract::charset;

/// Reads the text of a file of at most `most` bytes, without its byte order mark. An error names the line and byte at
/// which it is not text; the caller names the file.
pub(crate) fn read(file: &Path, most: u64) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let open = File::open(file)?;
    open.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        bail!("it has more than {most} bytes, the limit");
    }
    match charset::document(&bytes, None) {
        Ok(text) => Ok(text.into_owned()),
        Err(malformed) => bail!("line {}: {malformed}", malformed.line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_however_its_editor_saved_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        let text = "a = \"é\"\n";
        let wide = |little: bool| -> Vec<u8> {
            let units = text.encode_utf16();
            let bytes = units.map(|unit| match little {
                true => unit.to_le_bytes(),
                false => unit.to_be_bytes(),
            });
            bytes.flatten().collect()
        };
        for bytes in [
            text.as_bytes().to_vec(),
            [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat(),
            [&b"\xff\xfe"[..], &wide(true)].concat(),
            [&b"\xfe\xff"[..], &wide(false)].concat(),
            wide(false),
        ] {
            std::fs::write(&file, &bytes).unwrap();
            assert_eq!(read(&file, 99).unwrap(), text, "{bytes:?}");
        }
        std::fs::write(&file, b"a = 1\nb = \"\xe9\"\n").unwrap();
        let failed = |most| read(&file, most).unwrap_err().to_string();
        assert_eq!(failed(99), "line 2: byte 11 is not UTF-8");
        assert_eq!(failed(5), "it has more than 5 bytes, the limit");
        assert!(read(&folder.path().join("b"), 9).is_err());
    }
}
