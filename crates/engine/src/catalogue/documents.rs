//! Documents of the catalogue, of any kind: listed and counted, shown with both layers and their sources, with their
//! dependents. `resolve` finds the rules that apply to a subject. Served from the snapshot; sources are stored files.

mod dependencies;
mod differences;
mod list;
mod show;

pub use dependencies::{DependencyNode, DocumentDependencies};
pub(crate) use differences::differing_fields;
pub use list::{CatalogueKind, CatalogueView, DocumentFilter, DocumentSummary};
pub(crate) use list::{unseen, unseen_active};
pub use show::{DocumentLayer, DocumentSource, DocumentView};
