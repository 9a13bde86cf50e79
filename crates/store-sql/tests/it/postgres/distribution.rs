//! Whether the schema can be distributed by tenant as `citus/distribute.sql` does: every table is in it, and no key
//! spans tenants. There is no Citus here; its further restrictions are not tested.

use std::collections::BTreeMap;

use charter_testkit::store_suite::Outcome;
use tokio_postgres::Client;

use crate::postgres::database::raw;
use crate::postgres::near::with_pgvector;

const SCRIPT: &str = include_str!("../../../citus/distribute.sql");

/// Maintained by the migrations, on the coordinator only.
const COORDINATORS: &str = "refinery_schema_history";

/// Returns each table of the script, with its distribution column; a table without one is copied to every node.
fn script() -> BTreeMap<String, Option<String>> {
    let calls = SCRIPT
        .lines()
        .filter(|line| line.starts_with("SELECT create_"));
    let tables = calls.map(|call| {
        let texts: Vec<&str> = call.split('\'').collect();
        let column = call.contains("distributed").then(|| texts[3].to_owned());
        (texts[1].to_owned(), column)
    });
    let tables: Vec<_> = tables.collect();
    let number = tables.len();
    let tables: BTreeMap<_, _> = tables.into_iter().collect();
    assert_eq!(tables.len(), number, "a table is spread twice");
    tables
}

async fn texts(client: &Client, sql: &str) -> Vec<Vec<String>> {
    let rows = client.query(sql, &[]).await.unwrap();
    let texts = rows
        .iter()
        .map(|row| (0..row.len()).map(|at| row.get(at)).collect());
    texts.collect()
}

#[tokio::test]
async fn every_table_is_in_the_script() -> Outcome {
    let database = with_pgvector().await;
    let client = raw(&database).await;
    let sql = "SELECT relname::text FROM pg_class WHERE relkind = 'r'
               AND relnamespace = 'public'::regnamespace ORDER BY 1";
    let tables = texts(&client, sql).await.concat();
    let mut told: Vec<String> = script().into_keys().collect();
    told.push(COORDINATORS.to_owned());
    told.sort();
    assert_eq!(told, tables);
    Ok(())
}

/// A unique key without the column cannot be enforced across nodes. Keys of copied tables are unrestricted.
#[tokio::test]
async fn every_unique_index_of_a_spread_table_has_its_column() -> Outcome {
    let database = with_pgvector().await;
    let client = raw(&database).await;
    let sql = "SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text,
                      coalesce(string_agg(a.attname, ','), '')
               FROM pg_index AS i
               LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
               WHERE i.indisunique AND i.indrelid IN
                   (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
               GROUP BY 1, 2 ORDER BY 1, 2";
    let script = script();
    let mut seen = 0;
    for index in texts(&client, sql).await {
        let Some(Some(column)) = script.get(&index[0]) else {
            continue;
        };
        seen += 1;
        let columns: Vec<&str> = index[2].split(',').collect();
        assert!(
            columns.contains(&column.as_str()),
            "{index:?} without {column}"
        );
    }
    assert!(seen > 40, "{seen}");
    Ok(())
}

/// A row and its reference's target are on the same node: the reference has both columns at the same position, or leads
/// to a table that every node has.
#[tokio::test]
async fn every_reference_stays_on_its_node() -> Outcome {
    let database = with_pgvector().await;
    let client = raw(&database).await;
    let sql = "SELECT c.conrelid::regclass::text, c.confrelid::regclass::text, c.conname::text,
                      (SELECT string_agg(a.attname || '=' || b.attname, ',')
                       FROM unnest(c.conkey, c.confkey) AS pair (here, there)
                       JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = here
                       JOIN pg_attribute AS b ON b.attrelid = c.confrelid AND b.attnum = there)
               FROM pg_constraint AS c WHERE c.contype = 'f' ORDER BY 1, 3";
    let script = script();
    let mut seen = 0;
    for reference in texts(&client, sql).await {
        let (from, to) = (&script[&reference[0]], &script[&reference[1]]);
        let stays = match (from, to) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(here), Some(there)) => {
                let wanted = format!("{here}={there}");
                reference[3].split(',').any(|pair| pair == wanted)
            }
        };
        assert!(stays, "{reference:?}");
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
    Ok(())
}

/// Distributed tables are co-located by the type and the collation of their columns.
#[tokio::test]
async fn the_columns_are_of_one_type() -> Outcome {
    let database = with_pgvector().await;
    let client = raw(&database).await;
    for (table, column) in script() {
        let Some(column) = column else { continue };
        let sql = "SELECT format_type(atttypid, atttypmod), collname::text FROM pg_attribute
                   JOIN pg_collation AS c ON c.oid = attcollation
                   WHERE attrelid = $1::text::regclass AND attname = $2";
        let row = client.query_one(sql, &[&table, &column]).await?;
        let found: (String, String) = (row.get(0), row.get(1));
        assert_eq!(
            found,
            ("text".to_owned(), "C".to_owned()),
            "{table}.{column}"
        );
    }
    Ok(())
}
