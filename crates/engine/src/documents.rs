//! Documents of the catalogue as they are looked at: listed and counted, of any kind. What applies to
//! something is `resolve`'s. Served from the snapshot.

mod list;

pub use list::{CatalogueShown, DocumentFilter, KindShown, Listed};
