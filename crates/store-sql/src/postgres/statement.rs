//! Helpers that run a statement, each prepared once per connection.

use charter_store::StoreError;
use deadpool_postgres::GenericClient;
use futures_util::TryStreamExt;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::failure::during;
use crate::column::BoundedRows;
use crate::record::asked::Value;
use crate::row::Columns;

const COLUMN: &str = "reading a column";

/// The values of a statement, in the order of their placeholders.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The values of a statement.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &(dyn tokio_postgres::types::ToSql + Sync)),*]
    };
}

pub(super) use params;

/// Returns the values of a statement that has only the requested conditions.
pub(super) fn bound(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    let bound = values.iter().map(|value| match value {
        Value::Text(text) => text as &(dyn ToSql + Sync),
        Value::Integer(number) => number as &(dyn ToSql + Sync),
    });
    bound.collect()
}

/// Returns every row, in the statement's order.
pub(super) async fn rows<T>(
    doing: &'static str,
    connection: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
    read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let found = query(doing, connection, sql, values).await?;
    let mut read = read;
    found.iter().map(|row| read(row)).collect()
}

/// Returns the rows of a page of large entries, read as they arrive.
pub(super) async fn rows_within<T>(
    doing: &'static str,
    connection: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
    read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
) -> Result<BoundedRows<T>, StoreError> {
    let mut read = read;
    let statement = connection.prepare_cached(sql).await;
    let statement = statement.map_err(during(doing))?;
    let found = connection.query_raw(&statement, values.iter().copied());
    let mut found = std::pin::pin!(found.await.map_err(during(doing))?);
    let mut listed = BoundedRows::default();
    while let Some(row) = found.try_next().await.map_err(during(doing))? {
        if !listed.takes(row.raw_size_bytes()) {
            break;
        }
        listed.rows.push(read(&row)?);
    }
    Ok(listed)
}

/// Returns the first row, if there is one.
pub(super) async fn row<T>(
    doing: &'static str,
    connection: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
    read: impl FnOnce(&dyn Columns) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let found = query(doing, connection, sql, values).await?;
    found.first().map(|row| read(row)).transpose()
}

/// Changes rows and returns their number.
pub(super) async fn execute(
    doing: &'static str,
    connection: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
) -> Result<u64, StoreError> {
    let statement = connection.prepare_cached(sql).await;
    let statement = statement.map_err(during(doing))?;
    let changed = connection.execute(&statement, values).await;
    changed.map_err(during(doing))
}

async fn query(
    doing: &'static str,
    connection: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
) -> Result<Vec<Row>, StoreError> {
    let statement = connection.prepare_cached(sql).await;
    let statement = statement.map_err(during(doing))?;
    let found = connection.query(&statement, values).await;
    found.map_err(during(doing))
}

impl Columns for Row {
    fn text(&self, index: usize) -> Result<Option<&str>, StoreError> {
        self.try_get(index).map_err(during(COLUMN))
    }

    fn integer(&self, index: usize) -> Result<Option<i64>, StoreError> {
        self.try_get(index).map_err(during(COLUMN))
    }

    fn bytes(&self, index: usize) -> Result<Option<&[u8]>, StoreError> {
        self.try_get(index).map_err(during(COLUMN))
    }

    fn flag(&self, index: usize) -> Result<Option<bool>, StoreError> {
        self.try_get(index).map_err(during(COLUMN))
    }
}
