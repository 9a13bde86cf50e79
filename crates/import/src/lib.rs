//! Descriptions of APIs become packages: tools, and what requests can reach them by.
//!
//! - [`documents`]: the documents of an import and the references between them; the caller loads them.
//! - [`openapi`]: reads OpenAPI 3.0 and 3.1 and Swagger 2.0 into [`api`], the operations of an API. [`selection`]
//!   chooses among them, and [`credential_choice`] the credentials that they send.
//! - [`package`]: makes the files of packages from the operations; [`grants`]: the page of what a package grants.
//! - [`merge`]: imports again into files that people may have edited.
//! - [`mcp`]: reads the servers of MCP clients.
//!
//! Descriptions are written by strangers. Every part is bounded (`IMPORT_…` in `charter_contract::bounds`), references
//! lead where the caller allows, and texts are data. The documents are read as values and not as types, because a type
//! refuses a whole document for one malformed part. No I/O.

// Only the command line writes to the terminal, with writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod api;
pub mod credential_choice;
pub mod documents;
pub mod grants;
pub mod mcp;
pub mod merge;
pub mod openapi;
pub mod package;
mod schema;
pub mod selection;
mod text;
