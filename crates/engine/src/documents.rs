//! Documents of the catalogue as they are looked at, of any kind: listed and counted, shown with both layers
//! and their sources. What applies to something is `resolve`'s. Served from the snapshot; sources are stored
//! files.

mod list;
mod show;

pub use list::{CatalogueShown, DocumentFilter, KindShown, Listed};
pub use show::{DocumentShown, LayerShown, SourceShown};
