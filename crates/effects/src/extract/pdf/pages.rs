//! The pages of a PDF, in order, with their inherited attributes. A page that cannot be read keeps its number.
//!
//! Must not know the content of a page.

use std::collections::HashSet;

use charter_contract::bounds::PDF_PAGES;
use hayro_font::hayro_syntax::Pdf;
use hayro_font::hayro_syntax::object::array::ArrayIter;
use hayro_font::hayro_syntax::object::{Array, Dict, MaybeRef, Name};
use hayro_font::hayro_syntax::page::{Resources, Rotation};

/// A page with its inherited attributes.
pub(super) struct PageEntry<'a> {
    pub(super) dict: Dict<'a>,
    pub(super) resources: Resources<'a>,
    /// Degrees by which it is turned clockwise when shown.
    pub(super) rotated: i32,
}

/// A node of the tree whose children are being visited.
struct Node<'a> {
    kids: ArrayIter<'a>,
    resources: Dict<'a>,
    rotated: i32,
}

/// Returns the first [`PDF_PAGES`] pages, and one more if there is one; `None` for a page that the file does not
/// contain.
pub(super) fn pages<'a>(pdf: &'a Pdf) -> Vec<Option<PageEntry<'a>>> {
    let found = tree(pdf).unwrap_or_default();
    if found.iter().any(Option::is_some) {
        return found;
    }
    // The tree is unusable, but the file may still contain pages.
    let loose = pdf.pages().iter().take(PDF_PAGES + 1);
    let loose = loose.map(|page| {
        Some(PageEntry {
            dict: page.raw().clone(),
            resources: page.resources().clone(),
            rotated: match page.rotation() {
                Rotation::None => 0,
                Rotation::Horizontal => 90,
                Rotation::Flipped => 180,
                Rotation::FlippedHorizontal => 270,
            },
        })
    });
    let loose: Vec<_> = loose.collect();
    if loose.is_empty() { found } else { loose }
}

fn tree<'a>(pdf: &'a Pdf) -> Option<Vec<Option<PageEntry<'a>>>> {
    let xref = pdf.xref();
    let root = xref.get::<Dict<'a>>(xref.root_id())?;
    let top = root.get::<Dict<'a>>("Pages")?;
    let mut nodes = HashSet::new();
    nodes.extend(top.obj_id());
    let mut found = Vec::new();
    let mut open = vec![node(&top, &Dict::empty(), 0)?];
    while let Some(parent) = open.last_mut() {
        let Some(kid) = parent.kids.next() else {
            open.pop();
            continue;
        };
        if found.len() > PDF_PAGES {
            break;
        }
        let (id, dict) = match kid {
            MaybeRef::Ref(reference) => (Some(reference), xref.get::<Dict<'a>>(reference.into())),
            MaybeRef::NotRef(object) => (None, object.into_dict()),
        };
        let Some(dict) = dict else {
            found.push(None);
            continue;
        };
        let is_node = dict
            .get::<Name<'a>>("Type")
            .map_or(dict.contains_key("Kids"), |name| name.as_ref() == b"Pages");
        if !is_node {
            found.push(Some(page(dict, &parent.resources, parent.rotated)));
            continue;
        }
        // A node that is visited again is its own ancestor, or repeats pages.
        let first = id.is_none_or(|id| nodes.insert(id.into()));
        if first && let Some(child) = node(&dict, &parent.resources, parent.rotated) {
            open.push(child);
        }
    }
    Some(found)
}

fn node<'a>(dict: &Dict<'a>, resources: &Dict<'a>, rotated: i32) -> Option<Node<'a>> {
    Some(Node {
        kids: dict.get::<Array<'a>>("Kids")?.raw_iter(),
        resources: own_or(dict, resources),
        rotated: dict.get::<i32>("Rotate").unwrap_or(rotated),
    })
}

fn page<'a>(dict: Dict<'a>, resources: &Dict<'a>, rotated: i32) -> PageEntry<'a> {
    PageEntry {
        resources: Resources::new(own_or(&dict, resources)),
        rotated: dict.get::<i32>("Rotate").unwrap_or(rotated),
        dict,
    }
}

fn own_or<'a>(dict: &Dict<'a>, inherited: &Dict<'a>) -> Dict<'a> {
    dict.get::<Dict<'a>>("Resources")
        .unwrap_or_else(|| inherited.clone())
}
