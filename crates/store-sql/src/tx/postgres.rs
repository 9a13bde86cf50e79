//! The statements of `crate::tx` in PostgreSQL, each prepared once per connection.

use std::error::Error;

use bytes::BytesMut;
use charter_store::StoreError;
use deadpool_postgres::{Object, StatementCache, Transaction};
use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Row, Statement};

use crate::column::BoundedRows;
use crate::failure::postgres::during;
use crate::row::Columns;
use crate::tx::{SqlValue, Tx};

const COLUMN: &str = "reading a column";

/// Executions that are sent before the first one is answered.
const PIPELINED: usize = 256;

/// A connection, in or outside of a transaction.
#[derive(Clone, Copy)]
pub(crate) struct PostgresTx<'t> {
    client: &'t Client,
    statements: &'t StatementCache,
}

impl<'t> Tx<'t> {
    /// Returns a connection whose statements are transactions of their own.
    pub(crate) fn of_client(client: &'t Object) -> Self {
        Self::Postgres(PostgresTx {
            client,
            statements: &client.statement_cache,
        })
    }

    /// Returns a transaction.
    pub(crate) fn of_transaction(transaction: &'t Transaction<'_>) -> Self {
        Self::Postgres(PostgresTx {
            client: transaction.client(),
            statements: &transaction.statement_cache,
        })
    }
}

impl PostgresTx<'_> {
    pub(crate) async fn rows<T>(
        self,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let found = self.query(doing, sql, values).await?;
        found.iter().map(|row| read(row)).collect()
    }

    /// Reads the rows as they arrive.
    pub(crate) async fn rows_within<T>(
        self,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
    ) -> Result<BoundedRows<T>, StoreError> {
        let statement = self.prepared(doing, sql).await?;
        let rows = self.client.query_raw(&statement, values).await;
        let mut rows = std::pin::pin!(rows.map_err(during(doing))?);
        let mut found = BoundedRows::default();
        while let Some(row) = rows.try_next().await.map_err(during(doing))? {
            if !found.takes(row.raw_size_bytes()) {
                break;
            }
            found.rows.push(read(&row)?);
        }
        Ok(found)
    }

    pub(crate) async fn row<T>(
        self,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl FnOnce(&dyn Columns) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let found = self.query(doing, sql, values).await?;
        found.first().map(|row| read(row)).transpose()
    }

    pub(crate) async fn row_each<T>(
        self,
        doing: &'static str,
        sql: &str,
        keys: &[Vec<SqlValue<'_>>],
        mut read: impl FnMut(&dyn Columns) -> Result<T, StoreError>,
    ) -> Result<Vec<Option<T>>, StoreError> {
        let statement = self.prepared(doing, sql).await?;
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(PIPELINED) {
            let mut sent = Vec::with_capacity(keys.len());
            for values in keys {
                sent.push(self.answer(&statement, values));
            }
            for rows in try_join_all(sent).await.map_err(during(doing))? {
                found.push(rows.first().map(|row| read(row)).transpose()?);
            }
        }
        Ok(found)
    }

    pub(crate) async fn execute(
        self,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<u64, StoreError> {
        let statement = self.prepared(doing, sql).await?;
        let changed = self.client.execute_raw(&statement, values).await;
        changed.map_err(during(doing))
    }

    pub(crate) async fn execute_many(
        self,
        doing: &'static str,
        sql: &str,
        rows: &[Vec<SqlValue<'_>>],
    ) -> Result<u64, StoreError> {
        let statement = self.prepared(doing, sql).await?;
        let mut changed = 0;
        for rows in rows.chunks(PIPELINED) {
            let mut sent = Vec::with_capacity(rows.len());
            for values in rows {
                sent.push(self.client.execute_raw(&statement, values));
            }
            let counts = try_join_all(sent).await.map_err(during(doing))?;
            changed += counts.into_iter().sum::<u64>();
        }
        Ok(changed)
    }

    async fn query(
        self,
        doing: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(doing, sql).await?;
        let rows = self.answer(&statement, values).await;
        rows.map_err(during(doing))
    }

    async fn answer(
        self,
        statement: &Statement,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let rows = self.client.query_raw(statement, values).await?;
        rows.try_collect().await
    }

    async fn prepared(self, doing: &'static str, sql: &str) -> Result<Statement, StoreError> {
        let statement = self.statements.prepare(self.client, sql).await;
        statement.map_err(during(doing))
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => text.to_sql_checked(ty, out),
            Self::Integer(number) => number.to_sql_checked(ty, out),
            Self::Bytes(bytes) => bytes.to_sql_checked(ty, out),
            Self::Flag(flag) => flag.to_sql_checked(ty, out),
            Self::Texts(texts) => texts.to_sql_checked(ty, out),
            Self::Integers(numbers) => numbers.to_sql_checked(ty, out),
            Self::Reals(numbers) => (&**numbers).to_sql_checked(ty, out),
        }
    }

    /// The type of a value is checked when it is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
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
