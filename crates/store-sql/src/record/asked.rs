//! Builds statements that have only the requested conditions, so that each combination uses its own index.

/// A value of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// For a text column.
    Text(String),
    /// For an integer column.
    Integer(i64),
}

/// A statement that is being built.
pub(crate) struct StatementBuilder<V> {
    sql: String,
    values: Vec<V>,
    mark: char,
}

impl<V> StatementBuilder<V> {
    /// Starts a statement; `mark` is the prefix of placeholders.
    pub(crate) fn new(sql: String, mark: char) -> Self {
        Self {
            sql,
            values: Vec::new(),
            mark,
        }
    }

    /// Returns the statement with its values.
    pub(crate) fn whole(self) -> (String, Vec<V>) {
        (self.sql, self.values)
    }

    /// Adds a condition.
    pub(crate) fn and<const N: usize>(&mut self, condition: &str, values: [V; N]) {
        self.sql.push_str(" AND ");
        self.push(condition, values);
    }

    /// Appends `sql`; each `?` becomes the placeholder of one of the values.
    pub(crate) fn push<const N: usize>(&mut self, sql: &str, values: [V; N]) {
        let mut parts = sql.split('?');
        self.sql.extend(parts.next());
        for (value, part) in values.into_iter().zip(parts) {
            self.values.push(value);
            self.sql
                .push_str(&format!("{}{}{part}", self.mark, self.values.len()));
        }
    }
}
