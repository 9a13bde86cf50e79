//! Builds statements that have only the requested conditions, so that each combination uses its own index.

use super::SqlValue;

/// A statement that is being built.
pub(crate) struct StatementBuilder<'v> {
    sql: String,
    values: Vec<SqlValue<'v>>,
}

impl<'v> StatementBuilder<'v> {
    /// Starts a statement.
    pub(crate) fn new(sql: String) -> Self {
        Self {
            sql,
            values: Vec::new(),
        }
    }

    /// Returns the statement with its values.
    pub(crate) fn whole(self) -> (String, Vec<SqlValue<'v>>) {
        (self.sql, self.values)
    }

    /// Adds a condition.
    pub(crate) fn and<const N: usize>(&mut self, condition: &str, values: [SqlValue<'v>; N]) {
        self.sql.push_str(" AND ");
        self.push(condition, values);
    }

    /// Appends `sql`; each `?` becomes the placeholder of one of the values.
    pub(crate) fn push<const N: usize>(&mut self, sql: &str, values: [SqlValue<'v>; N]) {
        let mut parts = sql.split('?');
        self.sql.extend(parts.next());
        for (value, part) in values.into_iter().zip(parts) {
            self.values.push(value);
            self.sql.push_str(&format!("${}{part}", self.values.len()));
        }
    }
}
