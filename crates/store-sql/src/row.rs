//! A row that an engine read. `record` maps the columns to records, once for all engines.

use charter_store::StoreError;

/// The columns of a row, each NULL or of one of the types that this crate stores.
pub(crate) trait Columns {
    fn text(&self, index: usize) -> Result<Option<&str>, StoreError>;
    fn integer(&self, index: usize) -> Result<Option<i64>, StoreError>;
    fn bytes(&self, index: usize) -> Result<Option<&[u8]>, StoreError>;
    fn flag(&self, index: usize) -> Result<Option<bool>, StoreError>;
}

/// A type that a column can be read as.
pub(crate) trait Field<'r>: Sized {
    fn read(row: &'r dyn Columns, index: usize) -> Result<Option<Self>, StoreError>;
}

impl<'r> Field<'r> for &'r str {
    fn read(row: &'r dyn Columns, index: usize) -> Result<Option<Self>, StoreError> {
        row.text(index)
    }
}

impl<'r> Field<'r> for &'r [u8] {
    fn read(row: &'r dyn Columns, index: usize) -> Result<Option<Self>, StoreError> {
        row.bytes(index)
    }
}

impl Field<'_> for String {
    fn read(row: &dyn Columns, index: usize) -> Result<Option<Self>, StoreError> {
        row.text(index).map(|text| text.map(str::to_owned))
    }
}

impl Field<'_> for Vec<u8> {
    fn read(row: &dyn Columns, index: usize) -> Result<Option<Self>, StoreError> {
        row.bytes(index).map(|bytes| bytes.map(<[u8]>::to_vec))
    }
}

impl Field<'_> for i64 {
    fn read(row: &dyn Columns, index: usize) -> Result<Option<Self>, StoreError> {
        row.integer(index)
    }
}

impl Field<'_> for bool {
    fn read(row: &dyn Columns, index: usize) -> Result<Option<Self>, StoreError> {
        row.flag(index)
    }
}

impl<'r, T: Field<'r>> Field<'r> for Option<T> {
    fn read(row: &'r dyn Columns, index: usize) -> Result<Option<Self>, StoreError> {
        T::read(row, index).map(Some)
    }
}

/// Reads one column of a row.
pub(crate) fn field<'r, T: Field<'r>>(row: &'r dyn Columns, index: usize) -> Result<T, StoreError> {
    T::read(row, index)?.ok_or_else(|| StoreError::Corrupt {
        what: "column",
        id: index.to_string(),
        detail: "it is empty".to_owned(),
    })
}
