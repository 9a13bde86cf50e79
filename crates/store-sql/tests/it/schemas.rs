//! The schemas of both engines have the same tables, indexes and triggers, except for the differences named here. Reads
//! the files of both, without a database.

use std::collections::BTreeMap;
use std::path::Path;

const SQLITE: &str = include_str!("../../src/sqlite/migrations/V1__initial.sql");
const POSTGRES: &str = include_str!("../../src/postgres/migrations/V1__initial.sql");

/// Tables of one engine.
const OWN_TABLES: [&str; 2] = ["erasing", "outbox_numbers"];

/// Columns, keys and checks of one engine, by the beginning of the table's name. PostgreSQL also has the payloads of
/// artifacts as `jsonb`, and numbers a message of the outbox when it is first read.
const OWN_PARTS: [(&str, &str); 6] = [
    ("colony_", "CHECK payload_is_json"),
    ("colony_", "document json NOT NULL generated"),
    ("outbox", "entry integer numbered"),
    ("outbox", "message_id integer numbered"),
    ("outbox", "message_id integer"),
    ("outbox", "PRIMARY KEY (tenant_id, entry)"),
];

/// Indexes of one engine.
const OWN_INDEXES: [&str; 3] = [
    "lens_index_by_generation",
    "outbox_by_number",
    "outbox_unnumbered",
];

/// The types of both engines, with a name for those that hold the same.
const TYPES: [(&str, &str); 11] = [
    ("TEXT", "text"),
    ("INTEGER", "integer"),
    ("BLOB", "bytes"),
    ("REAL", "real"),
    ("text", "text"),
    ("bigint", "integer"),
    ("integer", "integer"),
    ("boolean", "boolean"),
    ("bytea", "bytes"),
    ("double precision", "real"),
    ("jsonb", "json"),
];

/// The parts of a table that are not columns.
const CONSTRAINTS: [&str; 4] = ["PRIMARY KEY (", "UNIQUE (", "FOREIGN KEY (", "CHECK ("];

/// Returns the statements that create objects of a kind, each after the kind and with single spaces.
fn created(schema: &str, kind: &str) -> Vec<String> {
    let lines = schema.lines().map(|line| line.split("--").next());
    let text: Vec<&str> = lines.map(Option::unwrap_or_default).collect();
    let text = text.join("\n");
    let statements = text.split("\nCREATE ").skip(1);
    let statements = statements.filter_map(|statement| statement.strip_prefix(kind));
    statements
        .map(|statement| {
            let whole = statement.split(';').next().unwrap_or_default();
            whole.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// Splits the text after an opening bracket at its commas, up to the closing bracket.
fn split_list(text: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut depth, mut is_quoted) = (0_usize, false);
    for c in text.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted && depth == 0 => break,
            ')' if !is_quoted => depth -= 1,
            _ => {}
        }
        if c == ',' && !is_quoted && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    parts.push(part);
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// Returns a part of a table in the words of both engines. The expressions of named checks and of generated columns use
/// functions of one engine, and are left out.
fn common_form(part: &str) -> String {
    if let Some(named) = part.strip_prefix("CONSTRAINT ") {
        return match named.split_once(" CHECK ") {
            Some((name, _)) => format!("CHECK {name}"),
            None => named.to_owned(),
        };
    }
    if CONSTRAINTS.iter().any(|start| part.starts_with(start)) {
        return part.to_owned();
    }
    let (name, rest) = part.split_once(' ').expect("a column has a type");
    let typed = |(word, kind): &(&str, &'static str)| Some((*kind, rest.strip_prefix(word)?));
    let found = TYPES.iter().find_map(typed);
    let (mut kind, rest) = found.unwrap_or_else(|| panic!("a new type: {part}"));
    let mut rest = rest
        .replace(" COLLATE \"C\"", "")
        .replace(" PRIMARY KEY AUTOINCREMENT", " numbered")
        .replace(" GENERATED ALWAYS AS IDENTITY", " numbered");
    if let Some((before, _)) = rest.split_once(" GENERATED ALWAYS AS (") {
        rest = format!("{before} generated");
    }
    let is_boolean = format!(" CHECK ({name} IN (0, 1))");
    if rest.contains(&is_boolean) {
        (kind, rest) = ("boolean", rest.replace(&is_boolean, ""));
    }
    format!("{name} {kind}{rest}")
}

/// Returns the tables of a schema, with their columns, keys and checks in the words of both engines.
fn tables(schema: &str) -> BTreeMap<String, Vec<String>> {
    let tables = created(schema, "TABLE ").into_iter().map(|table| {
        let (name, body) = table.split_once(" (").expect("a table has columns");
        let parts = split_list(body);
        let mut parts: Vec<String> = parts.iter().map(|part| common_form(part)).collect();
        // In SQLite the column that numbers the rows is the primary key, and the natural key is unique.
        if !parts.iter().any(|part| part.contains("PRIMARY KEY"))
            && let Some(natural) = parts.iter_mut().find(|part| part.starts_with("UNIQUE ("))
        {
            *natural = natural.replacen("UNIQUE", "PRIMARY KEY", 1);
        }
        (name.to_owned(), parts)
    });
    tables.collect()
}

fn is_own_part(table: &str, part: &str) -> bool {
    let mut own = OWN_PARTS.iter();
    own.any(|(start, own)| table.starts_with(start) && part == *own)
}

/// Returns the tables without what only one engine has.
fn common_tables(schema: &str) -> BTreeMap<String, Vec<String>> {
    let mut tables = tables(schema);
    tables.retain(|name, _| !OWN_TABLES.contains(&name.as_str()));
    for (name, parts) in &mut tables {
        parts.retain(|part| !is_own_part(name, part));
    }
    tables
}

/// Returns the first words of the statements that create objects of a kind.
fn first_words(schema: &str, kind: &str, count: usize) -> Vec<String> {
    let created = created(schema, kind);
    let words = created.iter().map(|statement| {
        let words = statement.split(' ').take(count);
        words.collect::<Vec<_>>().join(" ")
    });
    words.collect()
}

/// Returns the migrations of an engine by their file names.
fn migrations(engine: &str) -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = std::fs::read_dir(source.join(engine).join("migrations")).unwrap();
    let migrations = files.map(|file| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        (name, std::fs::read_to_string(file.path()).unwrap())
    });
    migrations.collect()
}

/// A build decides by this row whether it may open the layout of a newer one.
#[test]
fn both_engines_have_the_same_migrations_and_each_updates_the_layout() {
    let (sqlite, postgres) = (migrations("sqlite"), migrations("postgres"));
    assert!(sqlite.keys().eq(postgres.keys()), "{:?}", sqlite.keys());
    let of_layout = |sql: &str| {
        let lines = sql.lines().map(|line| line.split("--").next());
        let sql: Vec<&str> = lines.map(Option::unwrap_or_default).collect();
        let sql = sql.join("\n");
        let statements = sql.split(';').map(str::trim);
        let updates = statements.filter(|s| s.starts_with("UPDATE layout SET oldest_reader = "));
        updates.map(str::to_owned).collect::<Vec<String>>()
    };
    for (name, sql) in &sqlite {
        if name == "V1__initial.sql" {
            continue;
        }
        let updates = of_layout(sql);
        assert_eq!(updates.len(), 1, "{name}");
        assert!(updates[0].contains(", charter = '"), "{name}: {updates:?}");
        assert_eq!(of_layout(&postgres[name]), updates, "{name}");
    }
}

#[test]
fn both_engines_have_the_same_tables_columns_and_keys() {
    let (sqlite, postgres) = (common_tables(SQLITE), common_tables(POSTGRES));
    assert!(sqlite.len() > 30, "{:?}", sqlite.keys());
    for name in sqlite.keys().chain(postgres.keys()) {
        assert_eq!(sqlite.get(name), postgres.get(name), "{name}");
    }
}

#[test]
fn each_named_difference_is_one() {
    let (sqlite, postgres) = (tables(SQLITE), tables(POSTGRES));
    for table in OWN_TABLES {
        let has = |tables: &BTreeMap<String, Vec<String>>| tables.contains_key(table);
        assert!(has(&sqlite) != has(&postgres), "{table}");
    }
    for (start, own) in OWN_PARTS {
        let has = |tables: &BTreeMap<String, Vec<String>>| {
            let mut of_name = tables.iter().filter(|(name, _)| name.starts_with(start));
            of_name.any(|(_, parts)| parts.iter().any(|part| part == own))
        };
        assert!(has(&sqlite) != has(&postgres), "{start}: {own}");
    }
    for index in OWN_INDEXES {
        let has = |schema: &str| {
            let names = first_words(schema, "INDEX ", 1);
            names.iter().any(|name| name == index)
        };
        assert!(has(SQLITE) != has(POSTGRES), "{index}");
    }
}

#[test]
fn both_engines_have_the_same_indexes() {
    let common = |schema: &str| {
        let mut indexes = created(schema, "INDEX ");
        indexes.retain(|index| {
            let name = index.split(' ').next().unwrap_or_default();
            !OWN_INDEXES.contains(&name)
        });
        indexes
    };
    let sqlite = common(SQLITE);
    assert!(sqlite.len() > 20, "{sqlite:?}");
    assert_eq!(sqlite, common(POSTGRES));
}

/// SQLite has no TRUNCATE, and so no triggers on it.
#[test]
fn both_engines_have_the_same_triggers() {
    let common = |schema: &str| {
        let mut triggers = first_words(schema, "TRIGGER ", 5);
        triggers.retain(|trigger| !trigger.contains(" BEFORE TRUNCATE "));
        triggers
    };
    let sqlite = common(SQLITE);
    assert!(sqlite.len() > 20, "{sqlite:?}");
    assert_eq!(sqlite, common(POSTGRES));
}
