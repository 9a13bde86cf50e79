//! Reads that fail.

use std::sync::Mutex;

use charter_store::StoreError;
use charter_testkit::watched_store::{Side, Watcher, Write};

/// How a reading method fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadFault {
    Damaged,
    Unavailable,
}

/// The reading method that fails.
#[derive(Default)]
pub(super) struct ReadFaults(Mutex<Option<(&'static str, ReadFault)>>);

impl ReadFaults {
    pub(super) fn set(&self, fault: Option<(&'static str, ReadFault)>) {
        *self.0.lock().unwrap() = fault;
    }
}

impl Watcher for ReadFaults {
    fn at(&self, _: Side, _: Write<'_>) {}

    fn fault(&self, read: &'static str) -> Option<StoreError> {
        let (method, fault) = (*self.0.lock().unwrap())?;
        (method == read).then(|| match fault {
            ReadFault::Damaged => StoreError::Corrupt {
                what: "record",
                id: "1".to_owned(),
                detail: "it is damaged".to_owned(),
            },
            ReadFault::Unavailable => StoreError::Engine {
                doing: "reading a record",
                source: "it does not answer".into(),
            },
        })
    }
}
