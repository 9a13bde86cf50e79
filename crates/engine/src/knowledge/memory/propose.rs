//! Values that memories hold for parameters.

use charter_contract::parameter::Parameter;
use charter_domain::parameters::{MemoryText, ProposedValue, proposed_values};

use super::{MemoryQuery, MemoryService};
use crate::Caller;

/// Maximum memories that are read for missing parameters.
const MEMORIES: usize = 10;
/// Longest text for a search of memories, in bytes.
pub(super) const MEMORY_QUERY: usize = 4 << 10;

impl MemoryService {
    /// Returns the values that memories of the caller and the tenant hold for open parameters. A failure is a notice.
    pub(crate) async fn propose_values(
        &self,
        caller: &Caller,
        open: &[&Parameter],
        notices: &mut Vec<String>,
    ) -> Vec<ProposedValue> {
        if open.is_empty() {
            return Vec::new();
        }
        let words = open
            .iter()
            .map(|parameter| format!("{} {}", parameter.name, parameter.description));
        let mut words = words.collect::<Vec<_>>().join("; ");
        words.truncate(words.floor_char_boundary(MEMORY_QUERY));
        let query = MemoryQuery {
            text: Some(words),
            limit: Some(MEMORIES),
            ..MemoryQuery::default()
        };
        let found = match self.find(caller, &query).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(error = %error, "memories could not be searched for missing parameters");
                notices.push(format!("memories were not searched: {error}"));
                return Vec::new();
            }
        };
        let texts = found.iter().filter_map(|found| {
            let entry = found.shown.memory.as_ref()?;
            Some(MemoryText {
                id: &found.shown.memory_id,
                title: entry.title.as_str(),
                content: entry.content.as_str(),
                written_at: found.shown.at,
            })
        });
        proposed_values(open, &texts.collect::<Vec<_>>())
    }
}
