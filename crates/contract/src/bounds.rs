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
    /// Nesting of what an interface puts around such a document, as JSON-RPC does around a result.
    JSON_ENVELOPE_LEVELS = 16, Levels;
    /// Nesting of the value in a data part of A2A; a deeper one is sent as its JSON text.
    A2A_DATA_LEVELS = 30, Levels;
    /// Memory that such a document takes when read, by estimate.
    JSON_MEMORY = 48 * MIB, Bytes;
    /// Memory that a message of the Model Context Protocol takes when read, by estimate; its reader makes more copies of it.
    MCP_MEMORY = 24 * MIB, Bytes;
    /// Parameters, arguments of calls and outputs in one run's journal together, by estimate.
    RUN_MEMORY = 64 * MIB, Bytes;
    /// Nesting of the value of a run's parameter.
    PARAMETER_LEVELS = 32, Levels;
    /// Nesting of a model's draft, which becomes a part of an output.
    DRAFT_LEVELS = 48, Levels;
    /// Memory that a model's draft takes when read, by estimate.
    DRAFT_MEMORY = 16 * MIB, Bytes;
    /// A short JSON document that is fetched: an identity provider's keys, a script's report of its failure.
    NOTICE_BYTES = 256 * KIB, Bytes;
    /// Nesting of such a short document.
    NOTICE_LEVELS = 32, Levels;
    /// Memory that such a short document takes when read, by estimate.
    NOTICE_MEMORY = 4 * MIB, Bytes;
    /// Memory that the lines of a mission's bundle take together when it is imported, by estimate.
    BUNDLE_MEMORY = 96 * MIB, Bytes;
    /// Nesting of a JSON document that is written to storage.
    STORED_LEVELS = 100, Levels;
    /// Nesting of a JSON document that is read from storage, where older versions wrote deeper ones.
    STORED_LEVELS_READ = 256, Levels;
    /// Memory that a JSON document takes when it is read from storage, by estimate; a larger one is not written.
    STORED_MEMORY = 256 * MIB, Bytes;
    /// A page of a listing of large entries, beyond its first entry.
    PAGE_BYTES = 256 * KIB, Bytes;
    /// A tool's output, its text or its memory, that is read at once; a larger one waits in a file for its memory.
    LARGE_OUTPUT = MIB, Bytes;
    /// A run's journal that is read at once; a larger one waits for the memory that it may take.
    LARGE_JOURNAL = 32 * KIB, Bytes;
    /// Memory for large outputs and journals that are worked on at the same time, with their copies, by estimate.
    VALUES_MEMORY = 128 * MIB, Bytes;
    /// Memory for the values of all runs that a process carries on at the same time, beyond a MiB of each, by estimate.
    RUNS_MEMORY = 128 * MIB, Bytes;
    /// The longest wait of an output, a journal or a run for such memory.
    VALUES_WAIT_MS = 120_000, Milliseconds;
    /// Results of tools that are kept for reuse, by estimate.
    RESULTS_MEMORY = 32 * MIB, Bytes;
    /// One such result; a larger one is not kept.
    RESULT_MEMORY = 4 * MIB, Bytes;
    /// A tool's output in its evidence record, by estimate; of a larger one the record has the digest.
    EVIDENCE_MEMORY = 8 * MIB, Bytes;
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
    /// Results, findings and passages that a model is shown for the analysis of one answer, as JSON.
    ANALYSIS_DATA = 64 * KIB, Bytes;
    /// Findings among them.
    ANALYSIS_FINDINGS = 100, Count;
    /// Sentences that a model may contribute to one answer.
    ANALYSIS_SENTENCES = 20, Count;
    /// One such sentence, and one value that a model gives a placeholder.
    ANALYSIS_SENTENCE = KIB, Bytes;
    /// Time of the analysis of one answer by a model, with its repairs.
    ANALYSIS_TIME = 90_000, Milliseconds;
    /// Files of a package.
    PACKAGE_FILES = 4_096, Count;
    /// Files of a package together.
    PACKAGE_BYTES = 32 * MIB, Bytes;
    /// A package's directory that the command line sends.
    PACKAGE_SENT_BYTES = 15 * MIB, Bytes;
    /// Path of a file in a package.
    PACKAGE_PATH_BYTES = KIB, Bytes;
    /// Names in the path of a file in a package.
    PACKAGE_PATH_PARTS = 64, Count;
    /// Name of a file or folder in a package or a skill.
    FILE_NAME_BYTES = 255, Bytes;
    /// Pages of a PDF that are read.
    PDF_PAGES = 10_000, Count;
    /// Letters of one page of a PDF.
    PDF_PAGE_LETTERS = 200_000, Count;
    /// A stream of a PDF, unpacked.
    PDF_STREAM_BYTES = 32 * MIB, Bytes;
    /// All streams that the pages of a PDF need, unpacked, and the tables of its fonts.
    PDF_UNPACKED_BYTES = 1_024 * MIB, Bytes;
    /// Instructions on all pages of a PDF.
    PDF_STEPS = 30_000_000, Steps;
    /// Forms within forms on a page of a PDF.
    PDF_FORM_LEVELS = 16, Levels;
    /// Graphics states that a page of a PDF saves, and parts that it marks, at the same time.
    PDF_STATES = 512, Count;
    /// Fonts of a PDF.
    PDF_FONTS = 2_048, Count;
    /// Codes that one font of a PDF gives widths.
    PDF_FONT_WIDTHS = 200_000, Count;
    /// Nesting of a YAML or JSON file.
    YAML_LEVELS = 64, Levels;
    /// Values in one YAML or JSON file.
    YAML_VALUES = 200_000, Count;
    /// Tokens of one YAML or JSON file: scalars, brackets, commas, colons and dashes.
    YAML_TOKENS = 500_000, Count;
    /// Key of a mapping in a YAML or JSON file.
    YAML_KEY_BYTES = KIB, Bytes;
    /// Values in all YAML and JSON files of one package, or of one import of skills.
    PACKAGE_VALUES = 500_000, Count;
    /// Tokens of all YAML and JSON files of one package, or of one import of skills.
    PACKAGE_TOKENS = 2_000_000, Count;
    /// Routing tests of a package; each is routed when the package is checked.
    PACKAGE_TESTS = 2_000, Count;
    /// Problems of each severity that one check of a package or of skills shows.
    PACKAGE_PROBLEMS = 1_000, Count;
    /// Files and directories that an import of skills looks through.
    SKILL_ENTRIES = 1_000_000, Count;
    /// Files of one import of skills.
    SKILL_FILES = 20_000, Count;
    /// Files of one import of skills together.
    SKILL_IMPORT_BYTES = 64 * MIB, Bytes;
    /// A file of a skill.
    SKILL_FILE_BYTES = 8 * MIB, Bytes;
    /// A `SKILL.md`.
    SKILL_MD_BYTES = MIB, Bytes;
    /// The frontmatter of a `SKILL.md`.
    FRONTMATTER_BYTES = 64 * KIB, Bytes;
    /// Directories that a skill's file is nested in.
    SKILL_LEVELS = 32, Levels;
    /// Links that one write of skills follows to find a cycle.
    LINK_STEPS = 2_000_000, Steps;
    /// Parameters that one document declares in one list.
    PARAMETERS = 1_000, Count;
    /// Words that one parameter declares for its allowed values.
    SYNONYMS = 1_000, Count;
    /// The beginning of a request's text in which values of parameters are looked for.
    SENTENCE_BYTES = 16 * KIB, Bytes;
    /// The same beginning times the parameters: with more than 64 parameters a shorter one is searched.
    SENTENCE_WORK = MIB, Bytes;
    /// Placeholders in one text, or in one argument of a step.
    PLACEHOLDERS = 10_000, Count;
    /// The state before or after a change in the result of a request; a larger one is left out, with a warning.
    RESULT_STATE_BYTES = 64 * KIB, Bytes;
    /// All such states of a result together.
    RESULT_STATES_BYTES = MIB, Bytes;
    /// Steps that a plan compiles to, with those of its fallbacks and reversals.
    PLAN_STEPS = 2_000, Count;
    /// Dependencies between the steps that a plan compiles to, with those of its fallbacks.
    PLAN_EDGES = 10_000, Count;
    /// Steps of a run that its own steps add to, such as a mission's.
    RUN_STEPS = 10_000, Count;
    /// Dependencies between the steps of such a run.
    RUN_EDGES = 50_000, Count;
    /// An expression (CEL) of a guardrail or of a plan.
    CEL_BYTES = 4 * KIB, Bytes;
    /// Operators, brackets and dots of an expression, those inside its texts counted as well.
    CEL_OPERATORS = 256, Count;
    /// Work of all expressions of one question to the gate, or of one look at a plan.
    CEL_STEPS = 1_000_000, Steps;
    /// A regular expression that an expression hands to `matches`.
    CEL_PATTERN_BYTES = 512, Bytes;
    /// Memory that such a regular expression takes when compiled.
    CEL_PATTERN_MEMORY = 256 * KIB, Bytes;
    /// Guardrails that bear on one call, or on one answer without a call.
    GUARDRAILS_PER_CALL = 500, Count;
    /// The Cedar text of one policy.
    CEDAR_BYTES = 64 * KIB, Bytes;
    /// Rules of one policy.
    CEDAR_RULES = 500, Count;
    /// Nesting of a rule: of its brackets, and of its operators on any way down.
    CEDAR_LEVELS = 256, Levels;
    /// Operators, members and calls of one rule.
    CEDAR_OPERATORS = 1_000, Count;
    /// Opening brackets of one policy.
    CEDAR_BRACKETS = 4_000, Count;
    /// The pattern of one `like`.
    CEDAR_LIKE_BYTES = KIB, Bytes;
    /// Rules of one layer that govern one tool.
    CEDAR_TOOL_RULES = 500, Count;
    /// Cedar text of one layer that governs one tool.
    CEDAR_TOOL_BYTES = 256 * KIB, Bytes;
    /// Checks of a rule against a tool in one registration; tools that are declared alike count once.
    CEDAR_CHECKS = 20_000, Count;
    /// Values and names of fields in the arguments of one call that policies govern.
    CEDAR_VALUES = 20_000, Count;
    /// Work of the policies that govern one call.
    CEDAR_STEPS = 100_000_000, Steps;
    /// A jq filter.
    JQ_BYTES = 16 * KIB, Bytes;
    /// Nesting of a jq filter's brackets.
    JQ_LEVELS = 128, Levels;
    /// Operators and keywords of a jq filter on any way down.
    JQ_OPERATORS = 1_000, Count;
    /// Opening brackets of a jq filter.
    JQ_BRACKETS = 2_000, Count;
    /// JSON values of a schema that a tool, a prompt, a mission type or an MCP server declares.
    SCHEMA_VALUES = 20_000, Count;
    /// Names and texts of such a schema.
    SCHEMA_TEXT = MIB, Bytes;
    /// Subschemas of such a schema.
    SCHEMA_SUBSCHEMAS = 2_000, Count;
    /// References of such a schema.
    SCHEMA_REFERENCES = 500, Count;
    /// JSON pointer to a subschema.
    SCHEMA_POINTER = 2 * KIB, Bytes;
    /// Subschemas that apply to the same value by way of each other, as `allOf` and `$ref` have them.
    SCHEMA_CHAIN = 32, Levels;
    /// Subschemas that apply to the same value, each counted as often as references lead to it.
    SCHEMA_EXPANSION = 4_000, Count;
    /// `true` and `false` in one `allOf`, `anyOf` or `oneOf`.
    SCHEMA_CONSTANTS = 64, Count;
    /// Parts that a schema compiles to, by estimate; references below `unevaluatedProperties` are expanded.
    SCHEMA_PARTS = 100_000, Count;
    /// Parts that all schemas of a package compile to.
    PACKAGE_SCHEMA_PARTS = 1_000_000, Count;
    /// Parts that all output schemas of an MCP server compile to.
    SERVER_SCHEMA_PARTS = 200_000, Count;
    /// Regular expressions of a schema.
    SCHEMA_PATTERNS = 64, Count;
    /// Text of all regular expressions of a schema.
    SCHEMA_PATTERN_TEXT = 16 * KIB, Bytes;
    /// Memory of all compiled regular expressions of a schema, or of a list of parameters, by estimate.
    SCHEMA_PATTERN_MEMORY = 8 * MIB, Bytes;
    /// A compiled regular expression of a schema or a parameter.
    PATTERN_SIZE = MIB, Bytes;
    /// Memory that matching one regular expression of a schema may fill, for each thread that does it.
    PATTERN_CACHE = 2 * MIB, Bytes;
    /// Work of checking one value against a schema.
    SCHEMA_STEPS = 5_000_000, Steps;
    /// Work of finding all that is wrong with a value; beyond it the first violation is named.
    SCHEMA_FAULT_STEPS = 1_000_000, Steps;
    /// Memory of all that is found wrong with a value, by estimate; beyond it the first violation is named.
    SCHEMA_FAULT_MEMORY = 32 * MIB, Bytes;
    /// Work of a check that is done where it is asked for; a longer one gets a thread of its own.
    SCHEMA_INLINE_STEPS = 50_000, Steps;
    /// Text of all violations of one document.
    VIOLATION_TEXT = MIB, Bytes;
    /// The head of a request: its first line and its headers.
    HEAD_BYTES = 64 * KIB, Bytes;
    /// The body of a request, and the memory of the document in it, that is read at once; more waits for its turn.
    LIGHT_BODY = 64 * KIB, Bytes;
    /// Larger bodies that are read at the same time, of all callers.
    BODIES_BYTES = 32 * MIB, Bytes;
    /// Memory of the larger documents in requests under way, of all callers, by estimate.
    BODIES_MEMORY = 72 * MIB, Bytes;
    /// An answer that is sent at once; a larger one waits for its turn.
    LIGHT_ANSWER = MIB, Bytes;
    /// Larger answers that clients have not taken yet, of all callers.
    ANSWERS_BYTES = 32 * MIB, Bytes;
    /// A pause in the body of a request.
    BODY_PAUSE_MS = 10_000, Milliseconds;
    /// Time that the body of a request may take for each MiB of it, beside `limits.body_ms`.
    BODY_MS_PER_MIB = 8_000, Milliseconds;
    /// The rest of a body that is read and thrown away once its request is answered; for more, the connection is closed.
    UNREAD_BYTES = 64 * MIB, Bytes;
    /// Time for reading that rest.
    UNREAD_MS = 5_000, Milliseconds;
    /// A pause in which a client takes nothing of an answer.
    ANSWER_PAUSE_MS = 60_000, Milliseconds;
    /// A connection between two requests.
    CONNECTION_IDLE_MS = 75_000, Milliseconds;
    /// Requests without a credential at the same time.
    ANONYMOUS_REQUESTS = 32, Count;
    /// Open sessions of the Model Context Protocol, of all callers.
    MCP_SESSIONS = 1_000, Count;
    /// Tool calls of the Model Context Protocol at the same time, of all callers.
    MCP_CALLS = 512, Count;
    /// A text of which the form is read for its intent; of a longer one the beginning and the end are.
    INTENT_BYTES = 8 * KIB, Bytes;
    /// Shapes of identifiers that a catalogue's parameters declare and that are recognised in a text, by pattern and by example each.
    IDENTIFIER_SHAPES = 1_000, Count;
    /// Memory of the compiled regular expressions among these shapes, by estimate.
    IDENTIFIER_MEMORY = 32 * MIB, Bytes;
    /// Options of a question that asks back what is meant.
    CLARIFICATION_OPTIONS = 5, Count;
    /// Undecided route examples of one document in one tenant.
    ROUTE_EXAMPLES_SUGGESTED = 10, Count;
    /// Accepted route examples of one document in one tenant.
    ROUTE_EXAMPLES_ACCEPTED = 20, Count;
    /// Undecided route examples of one tenant.
    ROUTE_EXAMPLES_WAITING = 1_000, Count;
    /// Time that a question waits for the rate limit of a tool.
    RATE_LIMIT_WAIT_MS = 30_000, Milliseconds;
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

    /// A document that is accepted can be put into an envelope, stored in a record, and answered in another envelope:
    /// serde_json, by which clients read, takes 127 levels.
    #[test]
    fn accepted_values_can_be_stored_and_read_by_every_client() {
        const { assert!(JSON_LEVELS + JSON_ENVELOPE_LEVELS < STORED_LEVELS) };
        const { assert!(STORED_LEVELS + JSON_ENVELOPE_LEVELS < 127) };
        const { assert!(STORED_LEVELS < STORED_LEVELS_READ) };
        const { assert!(DRAFT_LEVELS + JSON_ENVELOPE_LEVELS <= JSON_LEVELS) };
        const { assert!(PARAMETER_LEVELS <= JSON_LEVELS) };
    }

    /// Readers of Protocol Buffers take 100 messages within each other. The task, its status, the message and the part are
    /// four, with what holds the task five; an object is three in the binary form, and the innermost value is one.
    #[test]
    fn a_data_part_can_be_read_by_every_client_of_a2a() {
        const { assert!(5 + 3 * A2A_DATA_LEVELS < 100) };
    }

    /// The largest of each kind finds memory, alone in its process.
    #[test]
    fn accepted_values_fit_into_the_reserved_memory() {
        const { assert!(JSON_BYTES <= BODIES_BYTES && JSON_MEMORY <= BODIES_MEMORY) };
        const { assert!(JSON_BYTES < MCP_MEMORY && 2 * MCP_MEMORY <= JSON_MEMORY) };
        const { assert!(2 * (JSON_BYTES + JSON_MEMORY) <= VALUES_MEMORY) };
        const { assert!(JSON_MEMORY <= RUN_MEMORY && RUN_MEMORY <= VALUES_MEMORY) };
        // A tenant has half of it.
        const { assert!(2 * RUN_MEMORY <= RUNS_MEMORY) };
        const { assert!(RESULT_MEMORY <= RESULTS_MEMORY) };
        // An event has what a run may have, and an answer may have several outputs.
        const { assert!(4 * RUN_MEMORY <= STORED_MEMORY && BUNDLE_MEMORY <= STORED_MEMORY) };
    }
}
