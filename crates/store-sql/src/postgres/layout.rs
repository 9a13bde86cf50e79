//! Reads the database's own description of its tables.

use charter_store::StoreError;
use tokio_postgres::GenericClient;

use crate::failure::postgres::during;
use crate::tenant::{REFERENCES, Reference, TABLES};

const READING: &str = "reading the list of tables";

/// A table; its name is quoted for use in a statement.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: String,
    /// Its written columns, without generated ones.
    pub(super) columns: Vec<String>,
    /// The column with the owner of a row.
    pub(super) owner: Option<String>,
}

impl Table {
    /// Returns the columns, quoted because some names are also keywords.
    pub(super) fn quoted_columns(&self) -> String {
        let quoted = self.columns.iter().map(|name| format!("\"{name}\""));
        quoted.collect::<Vec<_>>().join(", ")
    }
}

/// Returns every table by name, except that of the migrations.
pub(super) async fn tables(client: &impl GenericClient) -> Result<Vec<Table>, StoreError> {
    let rows = client.query(TABLES, &[]).await.map_err(during(READING))?;
    let tables = rows.iter().map(|row| Table {
        name: row.get(0),
        owner: row.get(1),
        columns: row.get(2),
    });
    Ok(tables.collect())
}

/// Returns the references between tables.
pub(super) async fn references(client: &impl GenericClient) -> Result<Vec<Reference>, StoreError> {
    let rows = client.query(REFERENCES, &[]).await;
    let rows = rows.map_err(during(READING))?;
    let references = rows.iter().map(|row| Reference {
        from: row.get(0),
        to: row.get(1),
        goes_along: row.get(2),
    });
    Ok(references.collect())
}
