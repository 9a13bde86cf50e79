//! Bounded listing: a page has a limit, and the next page starts after a cursor. Storage, the engine and the server pass
//! cursors on unchanged. Must not know what is listed.

/// The largest page that any listing returns.
pub const MAX_PAGE: usize = 1_000;

/// One request for a page, in the order of the listing's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Return entries strictly after this cursor; from the start when absent.
    pub after: Option<String>,
    limit: usize,
}

impl PageRequest {
    /// Requests at most `limit` entries, between one and [`MAX_PAGE`].
    #[must_use]
    pub fn new(after: Option<String>, limit: usize) -> Self {
        Self {
            after,
            limit: limit.clamp(1, MAX_PAGE),
        }
    }

    /// Returns the page's limit.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }
}

/// One page of a listing. Where entries are large, as approvals, requests and whole evidence records may be, a page ends
/// before they are more than [`PAGE_BYTES`](crate::bounds::PAGE_BYTES) beyond its first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries, in the order of the listing's key.
    pub entries: Vec<T>,
    /// Where the next page starts; absent on the last page.
    pub next: Option<String>,
}
