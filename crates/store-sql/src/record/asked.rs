//! Statements that have only the conditions that are asked for, so that each combination uses its own index.

/// A value to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Of a text column.
    Text(String),
    /// Of an integer column.
    Integer(i64),
}

/// A statement as it grows.
pub(crate) struct StatementBuilder {
    sql: String,
    values: Vec<Value>,
    mark: char,
}

impl StatementBuilder {
    /// A statement to which conditions are added; `mark` stands before the number of a value.
    pub(crate) fn new(sql: String, mark: char) -> Self {
        Self {
            sql,
            values: Vec::new(),
            mark,
        }
    }

    /// The statement with its values.
    pub(crate) fn whole(self) -> (String, Vec<Value>) {
        (self.sql, self.values)
    }

    /// One condition more.
    pub(crate) fn and<const N: usize>(&mut self, condition: &str, values: [Value; N]) {
        self.sql.push_str(" AND ");
        self.push(condition, values);
    }

    /// Each `?` of `sql` becomes one of the values.
    pub(crate) fn push<const N: usize>(&mut self, sql: &str, values: [Value; N]) {
        let mut parts = sql.split('?');
        self.sql.extend(parts.next());
        for (value, part) in values.into_iter().zip(parts) {
            self.values.push(value);
            self.sql
                .push_str(&format!("{}{}{part}", self.mark, self.values.len()));
        }
    }
}
