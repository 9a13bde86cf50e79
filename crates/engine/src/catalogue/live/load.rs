//! Builds a live catalogue from stored documents, reusing every scope that did not change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::catalogue::domain::Domain;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::ids::{PackageName, TenantId};
use charter_contract::json::decode_stored;
use charter_contract::scope::Scope;
use charter_contract::violation::Violation;
use charter_domain::catalogue::{BUILT_IN, Layer, Origin, Snapshot};
use charter_effects::Imports;
use charter_search::RouteSettings;
use charter_store::catalogue::{CatalogueRevision, StoredDocument};
use sha2::{Digest, Sha256};

use super::overlay::Overlay;
use super::scope_state::ScopeState;
use super::service::CatalogueService;
use super::{LiveCatalogue, Policies, Stacked, TierStacks};
use crate::EngineError;
use crate::catalogue::lens_index;
use crate::catalogue::lens_index::LensIndexCache;

impl CatalogueService {
    /// Serves the present state of the store.
    ///
    /// # Errors
    /// If storage fails, or `model_mismatch` if the stored vectors are another model's.
    pub(crate) async fn reload_catalogue(&self) -> Result<(), EngineError> {
        let (revision, documents) = self.store.load().await?;
        // Read after the revision, so that no earlier change is missed.
        let accepted = self.store.accepted_examples().await?;
        let settings = self.route_settings().await?;
        let before = self.live();
        let scopes = by_scope(documents);
        let lenses = lens_index::load(&self.store, self.vectors.embedder(), &before.lenses).await?;
        let imports = self.imports.borrow().clone();
        self.past_imports.keep(&imports);
        let earlier = Arc::clone(&before);
        let changed = tokio::task::spawn_blocking(move || layers(scopes, &earlier, &imports))
            .await
            .map_err(|error| EngineError::internal("loading the catalogue", error))??;
        let mut states = BTreeMap::new();
        for (scope, part) in changed {
            let state = match part {
                Part::Same(state) => state,
                Part::New { digest, layer } => {
                    let indexes = self.vectors.index(&layer).await?;
                    ScopeState {
                        digest,
                        layer,
                        indexes,
                        dependents: Arc::default(),
                    }
                }
            };
            states.insert(scope, state);
        }
        let overlays = self
            .vectors
            .overlays(&accepted, &states, &before.overlays)
            .await?;
        let stacked = stack(revision, states, overlays, settings)?;
        self.live
            .store(Arc::new(LiveCatalogue { lenses, ..stacked }));
        Ok(())
    }

    /// Returns the documents of every scope as stored, without indexes.
    pub(crate) async fn stored_layers(&self) -> Result<Vec<Layer>, EngineError> {
        let (_, documents) = self.store.load().await?;
        let scopes = by_scope(documents);
        let imports = self.imports.borrow().clone();
        scopes
            .iter()
            .map(|(scope, documents)| layer(scope.as_ref(), documents, &imports))
            .collect()
    }

    /// Returns the routing settings fitted for the current model, or the defaults.
    pub(crate) async fn route_settings(&self) -> Result<RouteSettings, EngineError> {
        match self.store.calibration(&self.vectors.model_name()).await? {
            Some(record) => decode_stored(&record.body)
                .map_err(|error| EngineError::internal("reading the routing calibration", error)),
            None => Ok(RouteSettings::default()),
        }
    }
}

type ByScope = BTreeMap<Option<TenantId>, Vec<StoredDocument>>;

fn by_scope(documents: Vec<StoredDocument>) -> ByScope {
    let mut scopes: ByScope = BTreeMap::from([(None, Vec::new())]);
    for document in documents {
        let scope = document.key.scope.tenant().cloned();
        scopes.entry(scope).or_default().push(document);
    }
    scopes
}

enum Part {
    Same(ScopeState),
    New { digest: [u8; 32], layer: Arc<Layer> },
}

fn layers(
    scopes: ByScope,
    before: &LiveCatalogue,
    imports: &Imports,
) -> Result<Vec<(Option<TenantId>, Part)>, EngineError> {
    scopes
        .into_iter()
        .map(|(scope, documents)| {
            let digest = digest(scope.as_ref(), &documents, imports);
            let known = before
                .scopes
                .get(&scope)
                .filter(|state| state.digest == digest);
            let part = match known {
                Some(state) => Part::Same(state.clone()),
                None => Part::New {
                    digest,
                    layer: Arc::new(layer(scope.as_ref(), &documents, imports)?),
                },
            };
            Ok((scope, part))
        })
        .collect()
}

fn digest(tenant: Option<&TenantId>, documents: &[StoredDocument], imports: &Imports) -> [u8; 32] {
    let mut hash = Sha256::new();
    if tenant.is_none() {
        for tool in imports.tools() {
            hash.update(&tool.content_hash);
        }
    }
    for document in documents {
        for part in [
            document.key.kind.as_str(),
            &document.key.id,
            document.package.as_ref(),
            &document.package_version,
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(document.content_hash.0);
    }
    hash.finalize().into()
}

fn layer(
    tenant: Option<&TenantId>,
    documents: &[StoredDocument],
    imports: &Imports,
) -> Result<Layer, EngineError> {
    let scope = tenant.map_or(Scope::Global, |tenant| Scope::Tenant(tenant.clone()));
    let mut layer = Layer::default();
    let built_in = built_in(&scope)?;
    if let Some(origin) = &built_in {
        seed_domains(&mut layer, origin);
    }
    let mut origins: BTreeMap<(&PackageName, &str), Arc<Origin>> = BTreeMap::new();
    for stored in documents {
        let origin = origins
            .entry((&stored.package, &stored.package_version))
            .or_insert_with(|| {
                Arc::new(Origin {
                    scope: scope.clone(),
                    package: stored.package.clone(),
                    version: stored.package_version.clone(),
                })
            });
        let document = parse_document(stored.key.kind, &stored.key.id, &stored.body)?;
        layer.insert(
            document,
            Arc::clone(origin),
            stored.content_hash.to_string(),
        );
    }
    if let Some(origin) = &built_in {
        seed_tools(&mut layer, origin)?;
        for tool in imports.tools() {
            let document = Document::Tool(tool.document.clone());
            layer.insert(document, Arc::clone(origin), tool.content_hash.clone());
        }
    }
    Ok(layer)
}

/// Parses a stored document. It was checked when it was stored, so a failure means damage.
pub(crate) fn parse_document(
    kind: DocumentKind,
    id: &str,
    body: &str,
) -> Result<Document, EngineError> {
    Document::from_stored(kind, body).map_err(|error| {
        let cause = format!("{kind} `{id}`: {error}");
        EngineError::internal("reading a stored document", cause)
    })
}

/// Returns the built-in package, which exists in the global layer only.
fn built_in(scope: &Scope) -> Result<Option<Arc<Origin>>, EngineError> {
    if *scope != Scope::Global {
        return Ok(None);
    }
    let package = PackageName::parse(BUILT_IN)
        .map_err(|error| EngineError::internal("naming the built-in package", error))?;
    Ok(Some(Arc::new(Origin {
        scope: Scope::Global,
        package,
        version: String::new(),
    })))
}

/// Adds the six initial domains (B000-7); a package may redefine them.
fn seed_domains(layer: &mut Layer, origin: &Arc<Origin>) {
    for domain in Domain::seeded() {
        layer.insert(Document::Domain(domain), Arc::clone(origin), String::new());
    }
}

/// Adds the built-in tools, over stored documents with their ids: no package redefines them.
fn seed_tools(layer: &mut Layer, origin: &Arc<Origin>) -> Result<(), EngineError> {
    let described = |violations: Vec<Violation>| {
        let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
        EngineError::internal("describing the built-in tools", said.join("; "))
    };
    let tools = charter_effects::builtin_documents().map_err(described)?;
    let stages = charter_domain::mission::stage_tools().map_err(described)?;
    let analysis = charter_domain::answer::analysis_tool().map_err(described)?;
    for tool in tools.into_iter().chain(stages).chain([analysis]) {
        layer.insert(Document::Tool(tool), Arc::clone(origin), String::new());
    }
    Ok(())
}

fn stack(
    revision: CatalogueRevision,
    scopes: BTreeMap<Option<TenantId>, ScopeState>,
    overlays: BTreeMap<TenantId, Overlay>,
    settings: RouteSettings,
) -> Result<LiveCatalogue, EngineError> {
    let global = scopes.get(&None).ok_or_else(|| {
        EngineError::internal("loading the catalogue", "there is no global scope")
    })?;
    let layers = scopes
        .iter()
        .filter_map(|(scope, state)| Some((scope.clone()?, Arc::clone(&state.layer))));
    let snapshot = Snapshot {
        global: Arc::clone(&global.layer),
        tenants: layers.collect(),
    };
    let tenants: BTreeSet<TenantId> = scopes
        .keys()
        .flatten()
        .chain(overlays.keys())
        .cloned()
        .collect();
    let mut stacked = BTreeMap::new();
    for tenant in tenants {
        let own = scopes.get(&Some(tenant.clone()));
        let own = own.map(|state| &state.indexes);
        let own = Stacked::new(own, overlays.get(&tenant), &global.indexes);
        stacked.insert(tenant, TierStacks::new(own));
    }
    Ok(LiveCatalogue {
        revision,
        policies: Policies::for_snapshot(&snapshot),
        snapshot,
        settings,
        lenses: LensIndexCache::default(),
        global: TierStacks::new(Stacked::new(None, None, &global.indexes)),
        tenants: stacked,
        scopes,
        overlays,
    })
}
