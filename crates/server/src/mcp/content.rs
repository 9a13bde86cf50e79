//! Content of a single call's output as the protocol's own blocks: images, audio, resources and links, as the server of the
//! tool sent them. Must not know how content is stored.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::bounds::CONTENT_ANSWER_BYTES;
use charter_contract::content::{CONTENT_FIELD, ToolContent};
use charter_contract::ids::RunId;
use charter_engine::EngineError;
use rmcp::model::{ContentBlock, Resource, ResourceContents};
use serde_json::{Map, Value};

use super::call::Call;

/// The prefix of the addresses of content: of a run, by its digest.
pub(super) const CONTENT: &str = "content://";

/// The blocks of the content that a report's output refers to. Content beyond the limit of an answer is a link, which
/// `resources/read` follows.
pub(super) async fn blocks(call: &Call, report: &Value) -> Vec<ContentBlock> {
    let listed = report.pointer(&format!("/output/{CONTENT_FIELD}"));
    let listed = listed.and_then(Value::as_array);
    let run = report.pointer("/run_ids/0").and_then(Value::as_str);
    let run = run.and_then(|run| RunId::parse(run).ok());
    let (Some(listed), Some(run)) = (listed, run) else {
        return Vec::new();
    };
    let mut answer = Answer {
        call,
        run,
        room: CONTENT_ANSWER_BYTES,
    };
    let mut blocks = Vec::new();
    for block in listed {
        blocks.push(answer.block(block).await);
    }
    blocks
}

/// Reads the content of an address.
pub(super) async fn read(
    call: &Call,
    uri: &str,
    place: &str,
) -> Result<ResourceContents, EngineError> {
    let absent = || EngineError::not_found("resource", uri);
    let (run, digest) = place.split_once('/').ok_or_else(absent)?;
    let run = RunId::parse(run).map_err(|_| absent())?;
    let views = call.engine().run_views();
    let content = views.content(&call.caller, &run, digest).await?;
    let blob = ResourceContents::blob(STANDARD.encode(&content.bytes), uri);
    Ok(blob.with_mime_type(content.media_type))
}

/// An answer with content.
struct Answer<'c> {
    call: &'c Call,
    run: RunId,
    /// The remaining bytes of content.
    room: usize,
}

impl Answer<'_> {
    async fn block(&mut self, block: &Value) -> ContentBlock {
        match self.filled(block).await {
            Ok(filled) => filled,
            Err(reason) => {
                let kind = block.get("type").and_then(Value::as_str);
                ContentBlock::text(format!("[{}: {reason}]", kind.unwrap_or("content")))
            }
        }
    }

    /// Returns a block with its bytes in place of their digest.
    async fn filled(&mut self, block: &Value) -> Result<ContentBlock, String> {
        let mut block = block.clone();
        let (field, holder) = match block.get("resource") {
            Some(Value::Object(_)) => ("blob", block.get_mut("resource")),
            Some(_) | None => ("data", Some(&mut block)),
        };
        if let Some(Value::Object(holder)) = holder {
            if let Some(reason) = holder.get("left_out").and_then(Value::as_str) {
                return Err(format!("left out: {reason}"));
            }
            if let Some(digest) = take_digest(holder) {
                let content = self.content(&digest).await?;
                if content.bytes.len() > self.room {
                    return Ok(self.link(&content));
                }
                self.room -= content.bytes.len();
                let encoded = STANDARD.encode(&content.bytes);
                holder.insert(field.to_owned(), Value::String(encoded));
            }
        }
        let reason = block.get("reason").and_then(Value::as_str);
        if let Some(reason) = reason.filter(|_| block["type"] == "left_out") {
            return Err(reason.to_owned());
        }
        serde_json::from_value(block).map_err(|error| error.to_string())
    }

    async fn content(&self, digest: &str) -> Result<ToolContent, String> {
        let views = self.call.engine().run_views();
        let found = views.content(&self.call.caller, &self.run, digest).await;
        found.map_err(|error| error.to_string())
    }

    fn link(&self, content: &ToolContent) -> ContentBlock {
        let (run, digest) = (&self.run, &content.digest);
        let size = u64::try_from(content.bytes.len()).unwrap_or(u64::MAX);
        let link = Resource::new(format!("{CONTENT}{run}/{digest}"), digest.as_str());
        let link = link.with_mime_type(content.media_type.as_str());
        ContentBlock::resource_link(link.with_size(size))
    }
}

/// Removes the reference to stored bytes.
fn take_digest(fields: &mut Map<String, Value>) -> Option<String> {
    fields.remove("bytes");
    match fields.remove("digest") {
        Some(Value::String(digest)) => Some(digest),
        Some(_) | None => None,
    }
}
