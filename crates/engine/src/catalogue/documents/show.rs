//! One document: its version in each layer, and its source text.

use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::ids::{PackageName, TenantId};
use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use charter_domain::cancellation::Cancellation;
use charter_domain::catalogue::{BUILT_IN, Layered, Origin};
use charter_domain::package::{SourceLocation, locate};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::DocumentService;
use super::DocumentSummary;
use super::differences::differing_fields;
use super::list::unseen;
use crate::ground::checks::WaitingCaller;
use crate::{Caller, EngineError};

/// A document with its layers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct DocumentView {
    /// Its kind.
    pub kind: DocumentKind,
    /// Its id.
    pub id: String,
    /// Its versions by layer, the tenant's own first.
    pub layers: Vec<DocumentLayer>,
    /// JSON pointers of the parts in which the two layers differ.
    pub differs: Vec<String>,
}

/// A document in one layer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "DocumentLayer")]
pub struct DocumentLayer {
    /// The layer's scope.
    pub scope: PackageScope,
    /// Whether it is in force: a global document is not if the tenant's own shadows it. Guardrails and policies of both
    /// layers are.
    pub in_force: bool,
    /// The package that registered it.
    pub package: PackageName,
    /// That package's version.
    pub package_version: String,
    /// The document, valid under the contract of its kind.
    #[schemars(with = "Map<String, Value>")]
    pub document: Document,
    /// Its source; null if no file of a package holds it.
    pub source: Option<DocumentSource>,
}

/// A document as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DocumentSource")]
pub struct DocumentSource {
    /// The file, relative to the package.
    pub file: String,
    /// The first line of the text in the file, from 1.
    pub line: usize,
    /// The document's text.
    pub text: String,
}

impl DocumentService {
    /// Returns a document that is visible to the caller, in both layers.
    ///
    /// # Errors
    /// `not_found`; errors of storage.
    pub async fn show_document(
        &self,
        caller: &Caller,
        kind: DocumentKind,
        id: &str,
    ) -> Result<DocumentView, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let is_seen = DocumentSummary::of(&view, kind, id).is_some();
        if !is_seen || !self.is_reached(caller, kind, id) {
            return Err(unseen(&view, kind, id));
        }
        let layered = view.layered(kind, id);
        let differs = match layered.as_slice() {
            [own, shared] => {
                differing_fields(&untenanted(&shared.document)?, &untenanted(&own.document)?)
            }
            _ => Vec::new(),
        };
        let mut layers = Vec::with_capacity(layered.len());
        for one in layered {
            layers.push(self.in_layer(caller, one).await?);
        }
        Ok(DocumentView {
            kind,
            id: id.to_owned(),
            layers,
            differs,
        })
    }

    async fn in_layer(
        &self,
        caller: &Caller,
        layered: Layered,
    ) -> Result<DocumentLayer, EngineError> {
        let Layered {
            document,
            origin,
            in_force,
        } = layered;
        let (document, source) = self.source_of(caller, &origin, document).await?;
        Ok(DocumentLayer {
            scope: match origin.scope {
                Scope::Global => PackageScope::Global,
                Scope::Tenant(_) => PackageScope::Tenant,
            },
            in_force,
            package: origin.package.clone(),
            package_version: origin.version.clone(),
            document,
            source,
        })
    }

    /// Returns the text of a document in the files of its package.
    async fn source_of(
        &self,
        caller: &Caller,
        origin: &Origin,
        document: Document,
    ) -> Result<(Document, Option<DocumentSource>), EngineError> {
        let (document, place) = self.place_of(&caller.tenant, origin, document).await?;
        let source = place.map(|place| {
            let (line, text) = place.passage();
            DocumentSource {
                file: place.file.to_string(),
                line,
                text: text.to_owned(),
            }
        });
        Ok((document, source))
    }

    /// Returns the location of a document in the files of its package.
    pub(crate) async fn place_of(
        &self,
        tenant: &TenantId,
        origin: &Origin,
        document: Document,
    ) -> Result<(Document, Option<SourceLocation>), EngineError> {
        if origin.package.as_ref() == BUILT_IN {
            return Ok((document, None));
        }
        let Origin {
            scope,
            package,
            version,
        } = origin;
        // First the slot, then the files: waiting callers hold no files in memory.
        let place = self.checks.take(tenant).await;
        let files = self.store.package_files(scope, package, version).await?;
        let Some(files) = files else {
            return Ok((document, None));
        };
        let waiting = WaitingCaller::default();
        let read = move |cancel: &Cancellation| {
            let place = locate(&files, &document, cancel);
            (document, place)
        };
        place
            .run("reading a package's files", waiting.cancellation(), read)
            .await
    }
}

/// Returns a document without its tenant, in which two layers always differ.
fn untenanted(document: &Document) -> Result<Value, EngineError> {
    let mut document = document.clone();
    document.set_tenant_id(None);
    serde_json::to_value(document)
        .map_err(|error| EngineError::internal("comparing two documents", error))
}
