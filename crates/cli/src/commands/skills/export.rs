//! Writes skills into a directory: imported ones byte for byte, others as a `SKILL.md` if the open format can hold
//! them. Never writes outside of the directory, regardless of the server's answers.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use charter_contract::ids::SkillId;
use charter_domain::skill_folder::{SKILL_FILE, check_path, directory, name, write_skill_md};
use serde_json::{Value, json};

use super::{encoded_path, path, walk};
use crate::client::Client;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};
use crate::platform;

pub(super) async fn run(
    dir: &Path,
    under: Option<&str>,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    let mut entries = fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))?;
    if entries.next().is_some() {
        bail!("{} is not empty", dir.display());
    }
    let mut skills: Vec<Value> = Vec::new();
    let mut seen = HashSet::new();
    walk(under, usize::MAX, client, |skill, _| {
        if seen.insert(skill["skill_id"].as_str().unwrap_or_default().to_owned()) {
            skills.push(skill.clone());
        }
    })
    .await?;
    let mut exported = Exported {
        dir,
        client,
        skills: 0,
        files: 0,
        left_out: Vec::new(),
    };
    for skill in &skills {
        exported.skill(skill).await?;
    }
    let done = json!({
        "skills": exported.skills, "files": exported.files, "left_out": exported.left_out,
    });
    output::print(format, &done, output::fields)?;
    let all = exported.left_out.is_empty();
    Ok(if all { EXIT_OK } else { EXIT_NEGATIVE })
}

struct Exported<'e> {
    dir: &'e Path,
    client: &'e Client,
    skills: usize,
    files: usize,
    /// Ids of skills that the open format cannot hold.
    left_out: Vec<String>,
}

impl Exported<'_> {
    async fn skill(&mut self, skill: &Value) -> anyhow::Result<()> {
        let id = SkillId::parse(skill["skill_id"].as_str().unwrap_or_default())?;
        let files = self
            .client
            .get(&format!("{}/files", path(id.as_str())))
            .await?;
        let files = files["files"].as_array().cloned().unwrap_or_default();
        if files.is_empty() {
            return self.written(&id, skill).await;
        }
        self.skills += 1;
        for file in files {
            let at = file["path"].as_str().unwrap_or_default();
            let from = format!("{}/files/{}", path(id.as_str()), encoded_path(at));
            let mut content = Vec::new();
            let piece = |piece: &[u8]| {
                content.extend_from_slice(piece);
                Ok(())
            };
            self.client.download(&from, piece).await?;
            let mode = if file["executable"] == true {
                0o755
            } else {
                0o644
            };
            self.file(&id, at, &content, mode)?;
        }
        Ok(())
    }

    /// Writes a skill without files. A folder without an instruction gets no file.
    async fn written(&mut self, id: &SkillId, skill: &Value) -> anyhow::Result<()> {
        let fetched = self
            .client
            .get(&format!("{}/instruction", path(id.as_str())))
            .await?;
        let instruction = fetched["instruction"].as_str().unwrap_or_default();
        if skill["is_folder"] == true && instruction.is_empty() {
            return Ok(());
        }
        let summary = skill["summary"].as_str().unwrap_or_default();
        match write_skill_md(name(id), summary, instruction) {
            None => self.left_out.push(id.to_string()),
            Some(text) => {
                self.skills += 1;
                self.file(id, SKILL_FILE, text.as_bytes(), 0o644)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, id: &SkillId, at: &str, content: &[u8], mode: u32) -> anyhow::Result<()> {
        let relative = format!("{}/{at}", directory(id));
        if let Err(message) = check_path(&relative) {
            bail!("the server names the file {relative:?}: {message}");
        }
        let file = self.dir.join(&relative);
        let doing = || format!("writing {}", file.display());
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).with_context(doing)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        platform::set_mode(&mut options, mode);
        let mut file = options.open(&file).with_context(doing)?;
        file.write_all(content).context("writing a file")?;
        self.files += 1;
        Ok(())
    }
}
