//! Agent skills by the Skills extension (`io.modelcontextprotocol/skills`, stable,
//! <https://github.com/modelcontextprotocol/ext-skills>): manifests with digests, and their files as resources. A
//! directory of the link graph is a path of URIs: `sql.migration` is `skill://sql/migration`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::ids::SkillId;
use charter_engine::{AgentSkillFile, EngineError, SkillManifest};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetSkillResult, ListSkillsResult, Resource, ResourceContents, ResourceTemplate,
    SKILL_MD, Skill, SkillFrontmatter, SkillResource, SkillResources,
};
use serde_json::Value;

use super::call::Call;
use super::failure::{invalid_cursor, invalid_params, protocol_error};

/// The prefix of skills' URIs.
pub(super) const SKILL: &str = "skill://";

/// Skills in a page: each comes with all its files.
pub(super) const PAGE: usize = 20;

/// An answer is only for its caller, and a change of grants or skills applies at once.
const TTL_MS: u64 = 0;

const MARKDOWN: &str = "text/markdown";
const BYTES: &str = "application/octet-stream";

/// The characters of a file name that a URI escapes.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// The URI of a file by its path among all skills.
fn uri(directory: &str, file: &str) -> String {
    format!("{SKILL}{directory}/{}", utf8_percent_encode(file, ESCAPED))
}

/// The URI of a file of a skill.
pub(super) fn uri_of(id: &SkillId, file: &str) -> String {
    uri(&id.as_str().replace('.', "/"), file)
}

/// The path among all skills that a URI names.
fn path_of(uri: &str) -> Option<String> {
    let path = percent_decode_str(uri.strip_prefix(SKILL)?).decode_utf8();
    path.ok().map(String::from)
}

/// A page of the skills that the caller reaches and that conform to the format: a strict client refuses a list with any
/// other.
pub(super) async fn list(
    call: &Call,
    after: Option<String>,
) -> Result<ListSkillsResult, ErrorData> {
    let after = after.map(|after| SkillId::parse(&after)).transpose();
    let after = after.map_err(|_| invalid_cursor())?;
    let found = call
        .engine()
        .agent_skills()
        .skill_manifests(&call.caller, after.as_ref(), PAGE);
    let found = found.await.map_err(|error| protocol_error(&error))?;
    let mut manifests = found.entries;
    manifests.retain(|manifest| manifest.keeps_format);
    let skills = manifests.into_iter().filter_map(entry);
    let mut listed = ListSkillsResult::with_all_items(skills.collect());
    listed.next_cursor = found.next.map(|next| next.to_string());
    listed.ttl_ms = Some(TTL_MS);
    listed.cache_scope = Some(CacheScope::Private);
    Ok(listed)
}

/// One skill, by the URI of its `SKILL.md`; also one that is not listed.
pub(super) async fn get(call: &Call, uri: &str) -> Result<GetSkillResult, ErrorData> {
    let found = async {
        let absent = || EngineError::not_found("skill", uri);
        // Only one spelling of a URI is answered, so that one skill has one URI.
        let directory = uri
            .strip_prefix(SKILL)
            .and_then(|path| path.strip_suffix(SKILL_MD));
        let directory = directory
            .and_then(|path| path.strip_suffix('/'))
            .ok_or_else(absent)?;
        let manifest = call
            .engine()
            .agent_skills()
            .skill_manifest(&call.caller, directory)
            .await?;
        entry(manifest).ok_or_else(absent)
    };
    let skill = found.await.map_err(|error| invalid_params(&error))?;
    let found = GetSkillResult::new(skill).with_ttl_ms(TTL_MS);
    Ok(found.with_cache_scope(CacheScope::Private))
}

/// The entry of a skill; `None` if the extension cannot represent it, e.g. if its name is not that of its directory.
fn entry(manifest: SkillManifest) -> Option<Skill> {
    let directory = &manifest.directory;
    let files = manifest.files.iter().chain(&manifest.below);
    let files =
        files.map(|file| SkillResource::new(uri(directory, &file.path), &file.digest, file.bytes));
    let files = SkillResources::Files(files.collect());
    // Both fields exist: the format requires them, and an import without them is refused.
    let frontmatter: SkillFrontmatter =
        serde_json::from_value(Value::Object(manifest.frontmatter)).ok()?;
    let skill = Skill::new(uri(directory, SKILL_MD), frontmatter, files);
    // The SDK refuses a whole answer for an entry that violates a rule of the extension.
    skill.validate().is_ok().then_some(skill)
}

/// The files of a skill as resources.
pub(super) fn resources(manifest: &SkillManifest) -> Vec<Resource> {
    let text = |field: &str| manifest.frontmatter.get(field).and_then(Value::as_str);
    let resource = |file: &AgentSkillFile| {
        let uri = uri(&manifest.directory, &file.path);
        if file.path != SKILL_MD {
            return Resource::new(uri, &file.path).with_size(file.bytes);
        }
        Resource::new(uri, text("name").unwrap_or_default())
            .with_description(text("description").unwrap_or_default())
            .with_mime_type(MARKDOWN)
            .with_size(file.bytes)
    };
    manifest.files.iter().map(resource).collect()
}

/// The template of skills' resources.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SKILL}{{+skill}}/{{+file}}"), "skill")
        .with_title("Agent skill")
        .with_description(
            "A file of an agent skill: SKILL.md is its instruction. The path is the skill's id with / instead of dots.",
        )
}

/// Reads one file.
pub(super) async fn read(call: &Call, uri: &str) -> Result<ResourceContents, EngineError> {
    let path = path_of(uri).ok_or_else(|| EngineError::not_found("resource", uri))?;
    let file = call
        .engine()
        .agent_skills()
        .skill_source(&call.caller, &path)
        .await?;
    Ok(match std::str::from_utf8(&file.content) {
        Ok(text) if file.path.ends_with(".md") => {
            ResourceContents::text(text, uri).with_mime_type(MARKDOWN)
        }
        Ok(text) => ResourceContents::text(text, uri),
        Err(_) => ResourceContents::blob(STANDARD.encode(&file.content), uri).with_mime_type(BYTES),
    })
}
