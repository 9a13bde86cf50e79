//! How an operation returns pages, as far as its description shows it.

use crate::api::{Argument, ArgumentLocation};
use crate::documents::Part;

/// Names of parameters for the number of a page.
const PAGES: [&str; 4] = ["page", "page_number", "pagenumber", "pageno"];
/// Names of parameters for a position.
const OFFSETS: [&str; 3] = ["offset", "skip", "start"];
/// Names of parameters for a mark of the last page.
const CURSORS: [&str; 10] = [
    "cursor",
    "after",
    "starting_after",
    "page_token",
    "pagetoken",
    "next_token",
    "nexttoken",
    "continuation_token",
    "marker",
    "next_cursor",
];
/// Names of parameters for the size of a page.
const SIZES: [&str; 8] = [
    "per_page",
    "perpage",
    "page_size",
    "pagesize",
    "limit",
    "max_results",
    "maxresults",
    "count",
];

/// Describes how further pages are requested.
pub(super) fn described(arguments: &[Argument], response: Option<Part<'_>>) -> Option<String> {
    let named = |names: &[&str]| {
        let mut queries = arguments
            .iter()
            .filter(|argument| argument.location == ArgumentLocation::Query);
        queries.find(|argument| {
            let name = argument.wire_name.to_ascii_lowercase();
            names.contains(&name.as_str())
        })
    };
    let size = named(&SIZES).map(|argument| format!(", `{}` entries each", argument.name));
    let size = size.unwrap_or_default();
    if let Some(cursor) = named(&CURSORS) {
        let text = format!(
            "Returns pages: `{}` is the mark of the last page{size}.",
            cursor.name
        );
        return Some(text);
    }
    if let Some(page) = named(&PAGES) {
        return Some(format!(
            "Returns pages, by the number `{}`{size}.",
            page.name
        ));
    }
    if let Some(offset) = named(&OFFSETS)
        && !size.is_empty()
    {
        return Some(format!(
            "Returns pages, from the position `{}`{size}.",
            offset.name
        ));
    }
    let headers = response.and_then(|response| response.member("headers"));
    let mut names = headers.into_iter().flat_map(Part::members);
    names
        .any(|(name, _)| name.eq_ignore_ascii_case("link"))
        .then(|| "Returns pages; the header `Link` names the next one.".to_owned())
}
