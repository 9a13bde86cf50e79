//! Descriptions of APIs: OpenAPI documents, with the files that they refer to, to packages.

use std::str::from_utf8;
use std::time::Duration;

use charter_import::documents::{DocumentSet, Location};
use charter_import::grants;
use charter_import::openapi::{self, ReadOptions};
use charter_import::package::generate;

use super::Verdict;
use super::files::registered;
use crate::corpus::package_files;

/// Maximum memory for an input, in bytes: 256 MiB. An import may hold more values than a file of a package.
pub(super) const MEMORY: usize = 256 << 20;

/// Maximum CPU time for an input: translating schemas has a limit of its own.
pub(super) const TIME: Duration =
    Duration::from_secs(if cfg!(debug_assertions) { 120 } else { 20 });

pub(super) const WORDS: &[&str] = &[
    "openapi: 3.1.0\n",
    "openapi: 3.0.3\n",
    "swagger: '2.0'\n",
    "\n-- ",
    " --\n",
    "paths:\n",
    "  /a/{b}:\n",
    "get: ",
    "post: ",
    "delete: ",
    "operationId: ",
    "summary: ",
    "tags: [",
    "parameters: [",
    "{ name: a, in: query, schema: ",
    "in: path",
    "in: body",
    "requestBody: ",
    "content: ",
    "application/json: ",
    "multipart/form-data: ",
    "schema: ",
    "responses: ",
    "$ref: ",
    "'#/components/schemas/A'",
    "components: ",
    "schemas: ",
    "definitions: ",
    "securitySchemes: ",
    "security: ",
    "servers: [{ url: ",
    "https://a.example/",
    "allOf: [",
    "oneOf: [",
    "properties: ",
    "items: ",
    "enum: [",
    "nullable: true",
    "type: ",
    "object",
    "array",
    "${a}",
    "{",
    "}",
    "[",
    "]",
    ", ",
    ": ",
    "\n",
    "  ",
];

/// Reads a description and makes packages of it, which can be registered. The input is the document, or the files of
/// a folder with `openapi.yaml`.
pub(super) fn openapi(input: &[u8]) -> Verdict {
    let Ok(text) = from_utf8(input) else {
        return Verdict::Refused;
    };
    let files = package_files(text);
    let root = files.get("openapi.yaml").map_or(text, String::as_str);
    let location = Location::file("openapi.yaml");
    let Ok(mut documents) = DocumentSet::open(location, root, []) else {
        return Verdict::Refused;
    };
    loop {
        let wanted = documents.wanted();
        if wanted.is_empty() {
            break;
        }
        for location in wanted {
            let text = match &location {
                Location::File(path) => files.get(path),
                Location::Web(_) => panic!("a document of another host is wanted"),
            };
            let is_added = text.is_some_and(|text| documents.add(location.clone(), text).is_ok());
            if !is_added {
                documents.refuse(location, "it cannot be read");
            }
        }
    }
    let options = ReadOptions {
        prefix: "api".to_owned(),
        ..ReadOptions::default()
    };
    let Ok(api) = openapi::read(&documents, &options) else {
        return Verdict::Refused;
    };
    let page = |package: &str, pointers: &[String]| grants::page(&api, "a.yaml", package, pointers);
    for package in generate(&api, "api", page) {
        let verdict = registered(package.files);
        assert_eq!(
            verdict,
            Verdict::Accepted,
            "a package that cannot be registered"
        );
    }
    match api.operations.is_empty() {
        true => Verdict::Refused,
        false => Verdict::Accepted,
    }
}
