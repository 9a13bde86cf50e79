//! Writes every JSON Schema to a directory: `cargo run -p charter-contract --example write_schemas -- schemas`. It is
//! the only code of this crate that writes files.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args().nth(1).ok_or("usage: write_schemas DIRECTORY")?);
    fs::create_dir_all(&folder)?;
    for entry in charter_contract::registry::all() {
        let text = serde_json::to_string_pretty(&entry.of_file())?;
        fs::write(folder.join(format!("{}.json", entry.name)), text + "\n")?;
    }
    Ok(())
}
