//! Runs the same statements on every engine, in its dialect.

use charter_testkit::postgres_server::Database;
use charter_testkit::store_suite::Outcome;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::missions::{Done, fill, raw, two_missions};
use crate::postgres::database;

/// A database with the missions `m1` and `m2`, accessed without its store.
pub(crate) enum Engine {
    Sqlite(
        Connection,
        #[expect(dead_code, reason = "the directory goes with it")] TempDir,
    ),
    Postgres(
        Client,
        #[expect(dead_code, reason = "the database goes with it")] Database,
    ),
}

/// Returns one engine of each kind.
pub(crate) async fn engines() -> Done<[Engine; 2]> {
    let dir = tempfile::tempdir()?;
    two_missions(dir.path()).await?;
    let database = database::migrated().await;
    fill(&database::store(&database).await).await?;
    Ok([
        Engine::Sqlite(raw(dir.path())?, dir),
        Engine::Postgres(database::raw(&database).await, database),
    ])
}

/// The words of a refusal in SQLite and in PostgreSQL.
const REASONS: [(&str, &str); 5] = [
    ("UNIQUE constraint failed", "violates unique constraint"),
    ("FOREIGN KEY", "violates foreign key constraint"),
    ("NOT NULL constraint failed", "violates not-null constraint"),
    (
        "cannot store TEXT value in INTEGER column",
        "invalid input syntax for type bigint",
    ),
    ("JSON", "invalid input syntax for type json"),
];

impl Engine {
    /// Returns the database's error for a statement; nothing if it succeeds. Rolls back.
    pub(crate) async fn said(&self, sql: &str) -> Done<Option<String>> {
        match self {
            Self::Sqlite(connection, _) => {
                connection.execute_batch("SAVEPOINT trial")?;
                let refused = connection.execute_batch(sql).err();
                connection.execute_batch("ROLLBACK TO trial; RELEASE trial")?;
                Ok(refused.map(|error| error.to_string()))
            }
            Self::Postgres(client, _) => {
                client.batch_execute("BEGIN").await?;
                let refused = client.batch_execute(sql).await.err();
                client.batch_execute("ROLLBACK").await?;
                let said = |error: tokio_postgres::Error| {
                    let cause = error.as_db_error().map(|said| said.message().to_owned());
                    cause.unwrap_or_else(|| error.to_string())
                };
                Ok(refused.map(said))
            }
        }
    }

    /// Asserts that a statement is refused, for a reason in SQLite's words or a constraint's name.
    pub(crate) async fn must_refuse(&self, sql: &str, reason: &str) -> Outcome {
        let reason = match self {
            Self::Sqlite(..) => reason,
            Self::Postgres(..) => REASONS
                .iter()
                .find(|(sqlite, _)| reason.starts_with(sqlite))
                .map_or(reason, |(_, postgres)| postgres),
        };
        let refused = self.said(sql).await?.ok_or(format!("done: {sql}"))?;
        assert!(refused.contains(reason), "{sql}: {refused}, not {reason}");
        Ok(())
    }

    /// Returns the payload of a row with fields set, written as `'$.field', value, …`.
    pub(crate) fn payload_with(&self, set: &str) -> String {
        match self {
            Self::Sqlite(..) => format!("json_set(payload, {set})"),
            Self::Postgres(..) => {
                let set = set.replace("'$.", "'");
                format!("(payload::jsonb || jsonb_build_object({set}))::text")
            }
        }
    }

    /// Returns a payload without a field, written as `'$.field'`.
    pub(crate) fn without(&self, payload: &str, field: &str) -> String {
        match self {
            Self::Sqlite(..) => format!("json_remove({payload}, {field})"),
            Self::Postgres(..) => {
                let field = field.replace("'$.", "'");
                format!("(({payload})::jsonb - {field})::text")
            }
        }
    }

    /// Returns the texts that a statement selects.
    pub(crate) async fn texts(&self, sql: &str) -> Done<Vec<String>> {
        match self {
            Self::Sqlite(connection, _) => {
                let mut statement = connection.prepare(sql)?;
                let rows = statement.query_map([], |row| row.get(0))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            Self::Postgres(client, _) => {
                let rows = client.query(sql, &[]).await?;
                Ok(rows.iter().map(|row| row.get(0)).collect())
            }
        }
    }
}
