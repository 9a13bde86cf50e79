//! Texts ready to be searched: embedded with the model in use, or words alone.

use charter_contract::error_code::ErrorCode;
use charter_search::{EmbeddedQuery, RouteQuery};

use super::vectors::TextVectors;
use crate::EngineError;

impl TextVectors {
    /// A query ready to be searched: embedded, or words alone without an embedder.
    pub(crate) async fn embedded(&self, text: &str) -> Result<EmbeddedQuery, EngineError> {
        let query = RouteQuery::parse(text).map_err(EngineError::from)?;
        self.embedded_query(query).await
    }

    /// The same of a query that was read before.
    pub(crate) async fn embedded_query(
        &self,
        query: RouteQuery,
    ) -> Result<EmbeddedQuery, EngineError> {
        let Some(embedder) = self.embedder.as_ref() else {
            return Ok(query.lexical_only());
        };
        let texts = query.texts().map(str::to_owned).collect();
        let vectors = embedder.embed_queries(texts).await.map_err(|error| {
            EngineError::new(ErrorCode::Unavailable, "the request could not be embedded")
                .caused_by(error)
        })?;
        query
            .embedded(embedder.model(), &vectors)
            .map_err(EngineError::from)
    }
}
