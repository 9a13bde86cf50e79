//! Limits of what comes in and goes out, by name: every parser and walker takes its limit from here, and the table of the
//! documentation is made from [`TABLE`].
//!
//! A limit that an installation may set is a setting of the server and not here.

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Levels of nesting.
    Levels,
    /// Things of the kind that the limit names.
    Count,
    /// Units of work: about one value looked at.
    Steps,
    /// Milliseconds.
    Milliseconds,
}

/// A limit, as the documentation shows it.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// The constant's name.
    pub name: &'static str,
    /// The largest value that is accepted.
    pub value: usize,
    /// What it counts.
    pub unit: Unit,
    /// What it limits.
    pub what: &'static str,
}

/// Declares each limit as a constant, and all of them as [`TABLE`].
macro_rules! bounds {
    ($( #[doc = $what:literal] $name:ident = $value:expr, $unit:ident; )+) => {
        $( #[doc = $what] pub const $name: usize = $value; )+

        /// Every limit, in the order of the documentation.
        pub const TABLE: &[Bound] = &[
            $( Bound { name: stringify!($name), value: $name, unit: Unit::$unit, what: $what } ),+
        ];
    };
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

bounds! {
    /// A JSON document that a request, a tool, a model or another server sends.
    JSON_BYTES = 16 * MIB, Bytes;
    /// Nesting of such a document; the output of a tool is one.
    JSON_LEVELS = 64, Levels;
    /// Memory that such a document takes when read, by estimate.
    JSON_MEMORY = 48 * MIB, Bytes;
    /// A template's text: a summary, or one text of a template's structure.
    TEMPLATE_BYTES = 64 * KIB, Bytes;
    /// Operators, filters and opening brackets in one tag of a template; `elif` in one text.
    TEMPLATE_OPERATORS = 256, Count;
    /// Instructions that one text of a template takes each time it is filled in.
    TEMPLATE_STEPS = 50_000, Steps;
    /// A template's structure, and the structure or summary with its values filled in, by estimate.
    FILLED_BYTES = 256 * KIB, Bytes;
    /// The findings of one analysis with their template filled in, together, by estimate.
    FILLED_TOGETHER = 16 * MIB, Bytes;
    /// Time, and processor time, of the process that fills in a template with expressions.
    EVALUATION_TIME = 10_000, Milliseconds;
    /// Address space of that process.
    EVALUATION_MEMORY = 512 * MIB, Bytes;
    /// Time, and processor time, of the process that runs a jq filter.
    FILTER_TIME = 20_000, Milliseconds;
    /// Address space of that process.
    FILTER_MEMORY = 1_024 * MIB, Bytes;
    /// A prompt for a language model, with its variables filled in and its examples.
    PROMPT_BYTES = MIB, Bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_says_what_it_limits_in_a_sentence_and_can_be_met() {
        for bound in TABLE {
            assert!(bound.value > 0, "{}", bound.name);
            assert!(bound.what.ends_with('.'), "{}", bound.name);
        }
    }
}
