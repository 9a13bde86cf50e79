//! Row-level security: rows that the database hides without a row scope. Queries run as Charter's role, which owns the
//! tables.

use charter_store_sql::postgres::examine;
use charter_testkit::postgres_server::Database;
use charter_testkit::store_suite::Outcome;
use tokio_postgres::{Client, NoTls};

use crate::postgres::database::{options, raw};
use crate::postgres::near::with_pgvector;

/// Connects as Charter's own role, without the store.
async fn owner(database: &Database) -> Client {
    let connected = tokio_postgres::connect(&database.url(), NoTls).await;
    let (client, connection) = connected.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns every table with its owner column. New tables are included automatically.
async fn tables(client: &Client) -> Vec<(String, String)> {
    let sql = "SELECT c.table_name::text, c.column_name::text FROM information_schema.columns AS c
         JOIN information_schema.tables AS t USING (table_schema, table_name)
         WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
           AND c.column_name IN ('tenant_id', 'scope') ORDER BY 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn count(client: &Client, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    client.query_one(&sql, &[]).await.unwrap().get(0)
}

/// Fills every table that has an owner column with one row of `acme`, bypassing every constraint.
async fn fill(superuser: &Client, tables: &[(String, String)]) {
    let settings = "SET session_replication_role = replica";
    superuser.batch_execute(settings).await.unwrap();
    for (table, column) in tables {
        for (what, names) in [
            (
                "DROP CONSTRAINT",
                "SELECT conname::text FROM pg_constraint
                 WHERE conrelid = $1::text::regclass AND contype = 'c'",
            ),
            (
                "ALTER COLUMN",
                "SELECT column_name::text FROM information_schema.columns
                 WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'ALWAYS'",
            ),
        ] {
            for row in superuser.query(names, &[table]).await.unwrap() {
                let name: String = row.get(0);
                let end = if what == "ALTER COLUMN" {
                    " DROP EXPRESSION"
                } else {
                    ""
                };
                let change = format!("ALTER TABLE {table} {what} \"{name}\"{end}");
                superuser.batch_execute(&change).await.unwrap();
            }
        }
        let sql = "SELECT column_name::text, data_type::text FROM information_schema.columns
             WHERE table_schema = 'public' AND table_name = $1
               AND is_identity = 'NO' AND (is_nullable = 'NO' OR column_name = $2)";
        let columns = superuser.query(sql, &[table, column]).await.unwrap();
        let names: Vec<String> = columns.iter().map(|row| row.get(0)).collect();
        let values = columns.iter().map(|row| {
            let (name, kind): (String, String) = (row.get(0), row.get(1));
            match (name == *column, kind.as_str()) {
                (true, _) => "'acme'".to_owned(),
                (_, "text" | "jsonb" | "json") => "'{}'".to_owned(),
                (_, "bytea") => "'\\x00'".to_owned(),
                (_, "boolean") => "false".to_owned(),
                _ => "0".to_owned(),
            }
        });
        let values: Vec<String> = values.collect();
        let insert = format!(
            "INSERT INTO {table} ({}) VALUES ({})",
            names.join(", "),
            values.join(", ")
        );
        superuser.batch_execute(&insert).await.unwrap();
    }
}

/// Without a tenant no row is visible or writable; with one, only its own rows are.
#[tokio::test]
async fn a_connection_that_names_no_tenant_sees_nothing() -> Outcome {
    let database = with_pgvector().await;
    let superuser = raw(&database).await;
    let tables = tables(&superuser).await;
    assert!(tables.len() > 30, "{tables:?}");
    fill(&superuser, &tables).await;
    let client = owner(&database).await;
    for (setting, seen) in [
        (None, 0),
        (Some(""), 0),
        (Some("umbra"), 0),
        (Some("acme"), 1),
        (Some("*"), 1),
    ] {
        if let Some(tenant) = setting {
            let sql = format!("SET charter.tenant = '{tenant}'");
            client.batch_execute(&sql).await?;
        }
        for (table, column) in &tables {
            assert_eq!(count(&client, table).await, seen, "{table} as {setting:?}");
            if seen == 0 {
                let write = format!("UPDATE {table} SET {column} = {column}");
                let changed = client.execute(&write, &[]).await;
                assert_eq!(changed.ok(), Some(0), "{table} as {setting:?}");
                let copy = format!("INSERT INTO {table} ({column}) SELECT 'acme' WHERE true");
                let refused = client.execute(&copy, &[]).await.unwrap_err();
                let code = refused.code().map(|code| code.code().to_owned());
                // Not permitted, or not a valid row.
                assert!(
                    matches!(code.as_deref(), Some("42501" | "23502" | "428C9")),
                    "{table}: {refused:?}"
                );
            }
        }
    }
    Ok(())
}

/// Every table with an owner column has row-level security, also for the table's owner.
#[tokio::test]
async fn every_table_with_a_tenant_has_the_wall() -> Outcome {
    let database = with_pgvector().await;
    let client = raw(&database).await;
    for (table, _) in tables(&client).await {
        let sql = "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = $1::text::regclass";
        let walled: bool = client.query_one(sql, &[&table]).await?.get(0);
        assert!(walled, "{table}");
    }
    Ok(())
}

/// A user that bypasses row-level security is detected.
#[tokio::test]
async fn a_user_that_passes_the_wall_is_noticed() -> Outcome {
    let database = with_pgvector().await;
    let bound = examine(&options(&database)).await?;
    assert_eq!(
        (bound.user.as_str(), bound.bypasses_row_security),
        ("charter", false)
    );
    let mut options = options(&database);
    options.url = database.superusers_url();
    assert!(examine(&options).await?.bypasses_row_security);
    Ok(())
}

/// A tenant's own reads see global rows, and cannot change them.
#[tokio::test]
async fn what_is_global_is_read_by_every_tenant() -> Outcome {
    let database = with_pgvector().await;
    let superuser = raw(&database).await;
    superuser
        .batch_execute(
            "SET session_replication_role = replica;
             INSERT INTO package (scope, package, revision) VALUES ('', 'p', 1)",
        )
        .await?;
    let client = owner(&database).await;
    assert_eq!(count(&client, "package").await, 0);
    client.batch_execute("SET charter.tenant = 'acme'").await?;
    assert_eq!(count(&client, "package").await, 1);
    assert_eq!(client.execute("DELETE FROM package", &[]).await?, 0);
    Ok(())
}
