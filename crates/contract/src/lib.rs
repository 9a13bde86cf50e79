//! Wire types of every Charter contract, their JSON Schemas, ids and error codes.
//!
//! No I/O, no clock and no randomness: the input is bytes and values, the output is typed documents or violations.
//!
//! - [`catalogue`]: what packages register, tags and evidence (seed 000);
//!   [`link_graph`]: nodes of the skill link graph (seed 001); [`mission`]: the ten
//!   artifacts (seed 002); [`agentic`]: the contracts at the edge (seed 003);
//!   [`package`], [`finding`], [`executor`], [`identity`], [`intent`] and [`route_example`] are this project's own;
//!   [`package_file`] is how a package's PDFs are written in it.
//! - [`validate`]: reading documents, by the typed path straight from their bytes, or
//!   with every violation said; [`schema`]: the schema of a contract; [`registry`]: all contracts by name;
//!   [`foreign_schema`]: JSON Schemas that documents bring along; [`input_schema`]: those of the arguments of tools.
//! - [`ids`], [`text`], [`number`], [`time`], [`scope`], [`parameter`],
//!   [`placeholder`]: what the contracts are made of.
//! - [`error_code`]: the public error codes; [`cause`]: an error with its causes, as text.
//! - [`shorten`]: the beginning of a long text; [`visible`]: a text without hidden characters.
//! - [`canonical`]: the one text of a JSON value; [`hex`]: bytes as hexadecimal digits.
//! - [`charset`]: the one decoder from bytes to text; [`lines`] and [`frontmatter`]: what every text has;
//!   [`foreign_text`]: the parts of a request that are quoted or pasted.
//! - [`for_each`]: the repetition of a step.
//! - [`bounds`]: limits of what comes in and goes out, by name; [`json`]: the one reader of JSON, within them;
//!   [`filling`]: what filled placeholders may come to; [`page`]: pages of listings;
//!   [`deeply`](mod@deeply): stack for what nests.
//!
//! Two paths read a document and agree: a property test mutates valid examples and compares their verdicts. See
//! [`validate::parse`].

// Only the command line writes to the terminal, by writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod macros;
#[macro_use]
mod object;

pub mod agentic;
pub mod bounds;
pub mod canonical;
pub mod catalogue;
pub mod cause;
pub mod charset;
pub mod content;
pub mod deeply;
pub mod dependency;
pub mod error_code;
pub mod executor;
pub mod filling;
pub mod finding;
pub mod for_each;
pub mod foreign_schema;
pub mod foreign_text;
pub mod frontmatter;
pub mod hex;
pub mod http_header;
pub mod identity;
pub mod ids;
pub mod input_schema;
pub mod intent;
pub mod json;
pub mod lines;
pub mod link_graph;
mod list;
pub mod mission;
pub mod notification;
pub mod number;
mod optional;
pub mod package;
pub mod package_file;
pub mod page;
pub mod parameter;
pub mod placeholder;
pub mod plan;
pub mod registry;
pub mod route_example;
pub mod run_status;
pub mod schema;
pub mod scope;
mod severity;
mod shape;
pub mod shorten;
pub mod text;
pub mod time;
pub mod validate;
pub mod violation;
pub mod visible;
