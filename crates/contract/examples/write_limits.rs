//! Prints the documentation's table of limits. Run by `cargo run -p xtask -- codegen`.

use std::io::Write;

use charter_contract::bounds::{Bound, TABLE, Unit};

const ABOUT: &str = "\
# Limits

Larger, deeper or longer input is refused with an error that names the limit. These limits are fixed; the limits that an
installation can set are [configuration](cli.md). `cargo run -p xtask -- codegen` makes this page from the constants of
`crates/contract/src/bounds.rs`.

| Limit of | Largest | Name |
|---|--:|---|
";

fn main() -> std::io::Result<()> {
    let mut to = std::io::stdout().lock();
    write!(to, "{ABOUT}")?;
    for bound in TABLE {
        let what = bound.what.trim().trim_end_matches('.');
        writeln!(to, "| {what} | {} | `{}` |", amount(bound), bound.name)?;
    }
    Ok(())
}

fn amount(bound: &Bound) -> String {
    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    match bound.unit {
        Unit::Bytes if bound.value.is_multiple_of(MIB) => format!("{} MiB", bound.value / MIB),
        Unit::Bytes if bound.value.is_multiple_of(KIB) => format!("{} KiB", bound.value / KIB),
        Unit::Bytes => format!("{} bytes", grouped(bound.value)),
        Unit::Levels => format!("{} levels", grouped(bound.value)),
        Unit::Count => grouped(bound.value),
        Unit::Steps => format!("{} steps", grouped(bound.value)),
        Unit::Milliseconds => format!("{} ms", grouped(bound.value)),
    }
}

/// Formats `1234567` as `1,234,567`.
fn grouped(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
