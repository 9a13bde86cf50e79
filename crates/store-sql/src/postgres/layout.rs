//! Reads the database's own description of its tables.

use charter_store::StoreError;
use tokio_postgres::GenericClient;

use super::failure::during;
use crate::tenant::Reference;

const READING: &str = "reading the list of tables";

/// Reads the name of every table except that of the migrations, its owner column and its written columns.
pub(crate) const TABLES: &str = "SELECT quote_ident(c.relname),
            min(a.attname::text) FILTER (WHERE a.attname IN ('tenant_id', 'scope')),
            array_agg(a.attname::text ORDER BY a.attnum)
     FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
     WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
       AND c.relname <> 'refinery_schema_history'
       AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     GROUP BY c.relname ORDER BY c.relname";

/// Reads the references between tables: from, to, and whether deletes cascade.
pub(crate) const REFERENCES: &str =
    "SELECT quote_ident(c.relname), quote_ident(other.relname), k.confdeltype = 'c'
     FROM pg_constraint AS k
     JOIN pg_class AS c ON c.oid = k.conrelid
     JOIN pg_class AS other ON other.oid = k.confrelid
     WHERE k.contype = 'f' AND c.relnamespace = current_schema()::regnamespace
     ORDER BY 1, 2, 3";

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
