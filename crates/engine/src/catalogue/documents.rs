//! Documents of the catalogue as they are looked at, of any kind: listed and counted, shown with both layers
//! and their sources, with what needs them. What applies to something is `resolve`'s. Served from the snapshot;
//! sources are stored files.

mod dependencies;
mod differences;
mod list;
mod show;

pub use dependencies::{DependencyNode, DocumentDependencies};
pub(crate) use differences::differing_fields;
pub use list::{CatalogueKind, CatalogueView, DocumentFilter, DocumentSummary};
pub(crate) use list::{unseen, unseen_active};
pub use show::{DocumentLayer, DocumentSource, DocumentView};
