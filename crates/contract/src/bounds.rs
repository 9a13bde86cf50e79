//! Named limits of input and output. Every parser and walker takes its limit from here, and the table in the
//! documentation is generated from [`TABLE`].
//!
//! Limits that an installation can change are server settings and not listed here.

/// Unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Levels of nesting.
    Levels,
    /// Number of items of the kind that the limit names.
    Count,
    /// Units of work: about one value examined.
    Steps,
    /// Milliseconds.
    Milliseconds,
}

/// A limit, as shown in the documentation.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Name of the constant.
    pub name: &'static str,
    /// Largest accepted value.
    pub value: usize,
    /// Unit of the value.
    pub unit: Unit,
    /// Description of the limited quantity.
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
    /// Nesting of such a JSON document, including a tool's output.
    JSON_LEVELS = 64, Levels;
    /// Nesting that an interface adds around such a JSON document, such as JSON-RPC around a result.
    JSON_ENVELOPE_LEVELS = 16, Levels;
    /// Nesting of the value in a data part of A2A; a more deeply nested value is sent as JSON text.
    A2A_DATA_LEVELS = 30, Levels;
    /// Memory of such a JSON document once parsed, estimated.
    JSON_MEMORY = 48 * MIB, Bytes;
    /// Memory of a parsed message of the Model Context Protocol, estimated; its parser makes additional copies.
    MCP_MEMORY = 19 * MIB, Bytes;
    /// Parameters, call arguments and outputs in one run's journal, in total, estimated.
    RUN_MEMORY = 64 * MIB, Bytes;
    /// A state that the preview of a write shows, once parsed, estimated.
    PREVIEW_MEMORY = 3 * MIB, Bytes;
    /// Waiting for the end of one call of a preview.
    PREVIEW_WAIT_MS = 20_000, Milliseconds;
    /// Calls of a list that the preview of an approval shows.
    PREVIEW_CALLS = 50, Count;
    /// The preview of a list in total.
    PREVIEW_LIST_WAIT_MS = 60_000, Milliseconds;
    /// Nesting of the value of a run's parameter.
    PARAMETER_LEVELS = 32, Levels;
    /// Nesting of a model's draft, which becomes part of an output.
    DRAFT_LEVELS = 48, Levels;
    /// Memory of a parsed model draft, estimated.
    DRAFT_MEMORY = 16 * MIB, Bytes;
    /// A short fetched JSON document: an identity provider's keys, a script's failure report.
    NOTICE_BYTES = 256 * KIB, Bytes;
    /// Nesting of such a short document.
    NOTICE_LEVELS = 32, Levels;
    /// Memory of such a short document once parsed, estimated.
    NOTICE_MEMORY = 4 * MIB, Bytes;
    /// Memory of all parsed lines of an imported mission bundle, estimated.
    BUNDLE_MEMORY = 96 * MIB, Bytes;
    /// Nesting of a JSON document written to storage.
    STORED_LEVELS = 100, Levels;
    /// Nesting of a JSON document read from storage, where older versions wrote deeper ones.
    STORED_LEVELS_READ = 256, Levels;
    /// Memory of a parsed JSON document from storage, estimated; a larger document is not written.
    STORED_MEMORY = 256 * MIB, Bytes;
    /// One page of a listing of large entries, excluding its first entry.
    PAGE_BYTES = 256 * KIB, Bytes;
    /// Tool output, by text or memory, that is read at once; larger output waits in a file until memory is free.
    LARGE_OUTPUT = MIB, Bytes;
    /// A run's journal that is read at once; a larger journal waits until memory is free.
    LARGE_JOURNAL = 32 * KIB, Bytes;
    /// Memory for large outputs and journals processed concurrently, including copies, estimated.
    VALUES_MEMORY = 128 * MIB, Bytes;
    /// Memory for the values of all runs of one process, beyond 1 MiB per run, estimated.
    RUNS_MEMORY = 128 * MIB, Bytes;
    /// Maximum wait of an output, a journal or a run for such memory.
    VALUES_WAIT_MS = 120_000, Milliseconds;
    /// Tool results cached for reuse, estimated.
    RESULTS_MEMORY = 32 * MIB, Bytes;
    /// One cached tool result; a larger result is not cached.
    RESULT_MEMORY = 4 * MIB, Bytes;
    /// Tool output in an evidence record, estimated; for larger output the record holds the digest.
    EVIDENCE_MEMORY = 8 * MIB, Bytes;
    /// Summary of a submitted evidence record.
    EVIDENCE_SUMMARY = 4 * KIB, Bytes;
    /// Native id of a submitted evidence record.
    EVIDENCE_NATIVE_ID = 2 * KIB, Bytes;
    /// Attachments of an evidence record at its capture or submission.
    EVIDENCE_ATTACHMENTS = 500, Count;
    /// Memories that a mission's pass or a request recalls.
    RECALLED_MEMORIES = 4, Count;
    /// Content of one recalled memory; the rest is cut off.
    RECALLED_MEMORY = 2 * KIB, Bytes;
    /// Text of a template: a summary, or one string of the template's structure.
    TEMPLATE_BYTES = 64 * KIB, Bytes;
    /// Operators, filters and opening brackets in one tag of a template; `elif` branches in one text.
    TEMPLATE_OPERATORS = 256, Count;
    /// Instructions for rendering one text of a template.
    TEMPLATE_STEPS = 50_000, Steps;
    /// A template's structure, and its rendered structure or summary, estimated.
    FILLED_BYTES = 256 * KIB, Bytes;
    /// All rendered findings of one analysis, in total, estimated.
    FILLED_TOGETHER = 16 * MIB, Bytes;
    /// Wall-clock time and CPU time of the process that renders a template with expressions.
    EVALUATION_TIME = 10_000, Milliseconds;
    /// Address space of the process that renders a template with expressions.
    EVALUATION_MEMORY = 512 * MIB, Bytes;
    /// Wall-clock time and CPU time of the process that runs a jq filter.
    FILTER_TIME = 20_000, Milliseconds;
    /// Address space of the process that runs a jq filter.
    FILTER_MEMORY = 1_024 * MIB, Bytes;
    /// A prompt for a language model, including its variables and examples.
    PROMPT_BYTES = MIB, Bytes;
    /// Results, findings and passages shown to a model for the analysis of one answer, as JSON.
    ANALYSIS_DATA = 64 * KIB, Bytes;
    /// Findings shown to a model for the analysis of one answer.
    ANALYSIS_FINDINGS = 100, Count;
    /// Sentences that a model may contribute to one answer.
    ANALYSIS_SENTENCES = 20, Count;
    /// One sentence from a model, and one placeholder value from a model.
    ANALYSIS_SENTENCE = KIB, Bytes;
    /// Time for a model's analysis of one answer, including repairs.
    ANALYSIS_TIME = 90_000, Milliseconds;
    /// Number of files in a package.
    PACKAGE_FILES = 4_096, Count;
    /// Total size of the files in a package.
    PACKAGE_BYTES = 32 * MIB, Bytes;
    /// A package directory sent by the command line.
    PACKAGE_SENT_BYTES = 15 * MIB, Bytes;
    /// Path of a file in a package.
    PACKAGE_PATH_BYTES = KIB, Bytes;
    /// Path segments of a file in a package.
    PACKAGE_PATH_PARTS = 64, Count;
    /// Name of a file or folder in a package or a skill.
    FILE_NAME_BYTES = 255, Bytes;
    /// Pages of a PDF that are read.
    PDF_PAGES = 10_000, Count;
    /// Characters on one page of a PDF.
    PDF_PAGE_LETTERS = 200_000, Count;
    /// A decompressed stream of a PDF.
    PDF_STREAM_BYTES = 32 * MIB, Bytes;
    /// All decompressed streams that the pages of a PDF need, and its font tables.
    PDF_UNPACKED_BYTES = 1_024 * MIB, Bytes;
    /// Instructions on all pages of a PDF.
    PDF_STEPS = 30_000_000, Steps;
    /// Nested forms on a page of a PDF.
    PDF_FORM_LEVELS = 16, Levels;
    /// Graphics states saved, and marked-content parts open, at the same time on a page of a PDF.
    PDF_STATES = 512, Count;
    /// Fonts of a PDF.
    PDF_FONTS = 2_048, Count;
    /// Character codes with a width in one font of a PDF.
    PDF_FONT_WIDTHS = 200_000, Count;
    /// Nesting of a YAML or JSON file.
    YAML_LEVELS = 64, Levels;
    /// Values in one YAML or JSON file; a YAML file reaches its number of tokens first.
    YAML_VALUES = 200_000, Count;
    /// Tokens of one YAML file: scalars, brackets, commas, colons and dashes; an item of a list takes at least two.
    YAML_TOKENS = 130_000, Count;
    /// A mapping key in a YAML or JSON file.
    YAML_KEY_BYTES = KIB, Bytes;
    /// Values in all YAML and JSON files of one package, or of one import of skills.
    PACKAGE_VALUES = 500_000, Count;
    /// Tokens in all YAML files of one package, or of one import of skills.
    PACKAGE_TOKENS = 2_000_000, Count;
    /// The description of an API that is imported, such as an OpenAPI document; also each document that it refers to.
    IMPORT_BYTES = 16 * MIB, Bytes;
    /// All documents of one import.
    IMPORT_BYTES_TOGETHER = 64 * MIB, Bytes;
    /// Documents of one import.
    IMPORT_DOCUMENTS = 500, Count;
    /// Values in all documents of one import.
    IMPORT_VALUES = 3_000_000, Count;
    /// Tokens in all documents of one import that are YAML.
    IMPORT_TOKENS = 12_000_000, Count;
    /// Operations of one import; further ones are left out.
    IMPORT_OPERATIONS = 10_000, Count;
    /// References that are followed one after the other to find one part of an imported document.
    IMPORT_REFERENCE_CHAIN = 32, Count;
    /// Nesting of an imported schema; deeper parts accept every value.
    IMPORT_SCHEMA_LEVELS = 16, Levels;
    /// Values of the schema of an imported operation's arguments; parts beyond it accept every value.
    IMPORT_INPUT_VALUES = 2_000, Count;
    /// Values of the schema of an imported operation's output; parts beyond it accept every value.
    IMPORT_OUTPUT_VALUES = 300, Count;
    /// Allowed values of one parameter that an import keeps; a longer list is left to the API.
    IMPORT_ENUM = 500, Count;
    /// Work of translating all schemas of one import; operations beyond it are left out.
    IMPORT_STEPS = 150_000_000, Steps;
    /// Operations that one import lists as left out, with their reasons.
    IMPORT_LEFT_OUT = 1_000, Count;
    /// Routing tests made from summaries, for each package of an import.
    IMPORT_TESTS = 200, Count;
    /// Routing tests of a package; each is routed when the package is checked.
    PACKAGE_TESTS = 2_000, Count;
    /// Problems of each severity that one check of a package or of skills shows.
    PACKAGE_PROBLEMS = 1_000, Count;
    /// Files and directories scanned by an import of skills.
    SKILL_ENTRIES = 1_000_000, Count;
    /// MCP servers in the configuration of a client that is imported.
    MCP_CLIENT_SERVERS = 200, Count;
    /// Number of files in one import of skills.
    SKILL_FILES = 20_000, Count;
    /// Total size of the files in one import of skills.
    SKILL_IMPORT_BYTES = 64 * MIB, Bytes;
    /// A file of a skill.
    SKILL_FILE_BYTES = 8 * MIB, Bytes;
    /// A `SKILL.md`.
    SKILL_MD_BYTES = MIB, Bytes;
    /// The frontmatter of a `SKILL.md`.
    FRONTMATTER_BYTES = 64 * KIB, Bytes;
    /// Scripts of one skill that become tools.
    SKILL_SCRIPTS = 100, Count;
    /// Nested directories above a skill's file.
    SKILL_LEVELS = 32, Levels;
    /// Links followed to detect cycles in one write of skills.
    LINK_STEPS = 2_000_000, Steps;
    /// Parameters that one document declares in one list.
    PARAMETERS = 1_000, Count;
    /// Synonyms that one parameter declares for its allowed values.
    SYNONYMS = 1_000, Count;
    /// Fields of nested objects in one tool's arguments that policies may read; later objects have unknown fields.
    INPUT_FIELDS = 500, Count;
    /// Nesting of such objects.
    INPUT_LEVELS = 4, Levels;
    /// Prefix of a request's text that is searched for parameter values.
    SENTENCE_BYTES = 16 * KIB, Bytes;
    /// Length of that prefix times the number of parameters; above 64 parameters the searched prefix is shorter.
    SENTENCE_WORK = MIB, Bytes;
    /// Placeholders in one text, or in one argument of a step.
    PLACEHOLDERS = 10_000, Count;
    /// The state before or after a change in a request's result; a larger state is omitted, with a warning.
    RESULT_STATE_BYTES = 64 * KIB, Bytes;
    /// All states in a request's result, in total.
    RESULT_STATES_BYTES = MIB, Bytes;
    /// Steps of a compiled plan, including its fallbacks and reversals.
    PLAN_STEPS = 2_000, Count;
    /// Dependencies between the steps of a compiled plan, including its fallbacks.
    PLAN_EDGES = 10_000, Count;
    /// Calls that one approval may be for.
    APPROVAL_CALLS = 1_000, Count;
    /// Earlier runs with the same pending call that a run looks at before it requests approval.
    SAME_CALL_RUNS = 16, Count;
    /// Runs that wait for one another, in a chain. A run that would extend a longer chain does not wait.
    SAME_CALL_CHAIN = 32, Count;
    /// Interval at which a run that waits for another run checks whether it still has to.
    SAME_CALL_POLL_MS = 15_000, Milliseconds;
    /// Items of a step that is repeated for each item of a list.
    FOR_EACH_ITEMS = 500, Count;
    /// Items of such a step that run at the same time.
    FOR_EACH_CONCURRENCY = 20, Count;
    /// Steps of a run whose own steps add more, such as a mission.
    RUN_STEPS = 10_000, Count;
    /// Dependencies between the steps of such a run.
    RUN_EDGES = 50_000, Count;
    /// A CEL expression of a guardrail or a plan.
    CEL_BYTES = 4 * KIB, Bytes;
    /// Operators, brackets and dots in a CEL expression, including those inside its string literals.
    CEL_OPERATORS = 256, Count;
    /// Total work of all CEL expressions in one gate decision, or in one evaluation of a plan.
    CEL_STEPS = 1_000_000, Steps;
    /// A regular expression passed to `matches` in a CEL expression.
    CEL_PATTERN_BYTES = 512, Bytes;
    /// Memory of such a compiled regular expression.
    CEL_PATTERN_MEMORY = 256 * KIB, Bytes;
    /// Guardrails that apply to one call, or to one answer without a call.
    GUARDRAILS_PER_CALL = 500, Count;
    /// The Cedar text of one policy.
    CEDAR_BYTES = 64 * KIB, Bytes;
    /// Rules of one policy.
    CEDAR_RULES = 500, Count;
    /// Nesting of a Cedar rule: its brackets, and its operators on any path.
    CEDAR_LEVELS = 256, Levels;
    /// Operators, members and calls of one Cedar rule.
    CEDAR_OPERATORS = 1_000, Count;
    /// Opening brackets of one policy.
    CEDAR_BRACKETS = 4_000, Count;
    /// Pattern of one `like` operator in a Cedar rule.
    CEDAR_LIKE_BYTES = KIB, Bytes;
    /// Cedar rules of one layer that govern one tool.
    CEDAR_TOOL_RULES = 500, Count;
    /// Cedar text of one layer that governs one tool.
    CEDAR_TOOL_BYTES = 256 * KIB, Bytes;
    /// Checks of a Cedar rule against a tool in one registration; tools with equal declarations count once.
    CEDAR_CHECKS = 20_000, Count;
    /// Values and field names in the arguments of one call that policies govern.
    CEDAR_VALUES = 20_000, Count;
    /// Work of evaluating the policies that govern one call.
    CEDAR_STEPS = 100_000_000, Steps;
    /// A jq filter.
    JQ_BYTES = 16 * KIB, Bytes;
    /// Nesting of brackets in a jq filter.
    JQ_LEVELS = 128, Levels;
    /// Nested operators and keywords of a jq filter, on any path.
    JQ_OPERATORS = 1_000, Count;
    /// Opening brackets of a jq filter.
    JQ_BRACKETS = 2_000, Count;
    /// JSON values of a schema that a tool, a prompt, a mission type or an MCP server declares.
    SCHEMA_VALUES = 20_000, Count;
    /// Names and strings of such a schema.
    SCHEMA_TEXT = MIB, Bytes;
    /// Subschemas of such a schema.
    SCHEMA_SUBSCHEMAS = 2_000, Count;
    /// References of such a schema.
    SCHEMA_REFERENCES = 500, Count;
    /// A JSON pointer to a subschema.
    SCHEMA_POINTER = 2 * KIB, Bytes;
    /// Chain of subschemas that apply to the same value through each other, as with `allOf` and `$ref`.
    SCHEMA_CHAIN = 32, Levels;
    /// Subschemas that apply to the same value, counted once per reference path.
    SCHEMA_EXPANSION = 4_000, Count;
    /// `true` and `false` subschemas in one `allOf`, `anyOf` or `oneOf`.
    SCHEMA_CONSTANTS = 64, Count;
    /// Parts of a compiled schema, estimated; references below `unevaluatedProperties` are expanded.
    SCHEMA_PARTS = 100_000, Count;
    /// Compiled parts of all schemas of a package.
    PACKAGE_SCHEMA_PARTS = 1_000_000, Count;
    /// Compiled parts of all input schemas, or of all output schemas, of an MCP server.
    SERVER_SCHEMA_PARTS = 200_000, Count;
    /// Regular expressions of a schema.
    SCHEMA_PATTERNS = 64, Count;
    /// Total text of the regular expressions of a schema.
    SCHEMA_PATTERN_TEXT = 16 * KIB, Bytes;
    /// Memory of all compiled regular expressions of a schema, or of a list of parameters, estimated.
    SCHEMA_PATTERN_MEMORY = 8 * MIB, Bytes;
    /// One compiled regular expression of a schema or a parameter.
    PATTERN_SIZE = MIB, Bytes;
    /// Memory that matching one regular expression of a schema may use, per thread.
    PATTERN_CACHE = 2 * MIB, Bytes;
    /// Work of validating one value against a schema.
    SCHEMA_STEPS = 5_000_000, Steps;
    /// Work of finding all violations of one value; beyond it only the first violation is reported.
    SCHEMA_FAULT_STEPS = 1_000_000, Steps;
    /// Memory of all violations of one value, estimated; beyond it only the first violation is reported.
    SCHEMA_FAULT_MEMORY = 32 * MIB, Bytes;
    /// Work of a validation on the calling thread; a longer one runs on its own thread.
    SCHEMA_INLINE_STEPS = 50_000, Steps;
    /// Text of all violations of one document.
    VIOLATION_TEXT = MIB, Bytes;
    /// Head of an HTTP request: the request line and the headers.
    HEAD_BYTES = 64 * KIB, Bytes;
    /// Request body, and memory of its document, that is read at once; a larger body waits for capacity.
    LIGHT_BODY = 64 * KIB, Bytes;
    /// Larger request bodies being read concurrently, for all callers.
    BODIES_BYTES = 32 * MIB, Bytes;
    /// Memory of the larger documents in running requests, for all callers, estimated.
    BODIES_MEMORY = 72 * MIB, Bytes;
    /// Response that is sent at once; a larger response waits for capacity.
    LIGHT_ANSWER = MIB, Bytes;
    /// Larger responses that clients have not received yet, for all callers.
    ANSWERS_BYTES = 32 * MIB, Bytes;
    /// Pause between two parts of a request body.
    BODY_PAUSE_MS = 10_000, Milliseconds;
    /// Time per MiB of a request body, in addition to `limits.body_ms`.
    BODY_MS_PER_MIB = 8_000, Milliseconds;
    /// Unread rest of a request body that is drained after the response; for a longer rest the connection is closed.
    UNREAD_BYTES = 64 * MIB, Bytes;
    /// Time for draining that rest.
    UNREAD_MS = 5_000, Milliseconds;
    /// Pause in which a client reads nothing of a response.
    ANSWER_PAUSE_MS = 60_000, Milliseconds;
    /// Idle time of a connection between two requests.
    CONNECTION_IDLE_MS = 75_000, Milliseconds;
    /// Concurrent requests without a credential.
    ANONYMOUS_REQUESTS = 32, Count;
    /// Open sessions of the Model Context Protocol, for all callers.
    MCP_SESSIONS = 1_000, Count;
    /// Blocks of content in the result of an MCP server's tool; further ones are left out.
    CONTENT_BLOCKS = 64, Count;
    /// An image, a sound or the bytes of a resource in the result of a tool; a larger one is left out.
    CONTENT_BYTES = 10 * MIB, Bytes;
    /// All content that one answer of the Model Context Protocol contains; further content is a link.
    CONTENT_ANSWER_BYTES = 8 * MIB, Bytes;
    /// Concurrent tool calls of the Model Context Protocol, for all callers.
    MCP_CALLS = 512, Count;
    /// Pinned tools, skills and playbooks of one caller.
    PINNED_TOOLS = 128, Count;
    /// Resources, resource templates and prompts of one MCP server that clients are offered, of each kind.
    OFFERED_ENTRIES = 1_000, Count;
    /// Running calls of pinned tools, and ended ones whose results are still kept, in one process.
    LINKED_CALLS = 1_000, Count;
    /// Messages of a running call of a pinned tool that wait for its client.
    LINKED_EVENTS = 256, Count;
    /// Memory of messages and results that calls of pinned tools keep for clients; without room, the output is sent.
    LINKED_MEMORY = 256 * MIB, Bytes;
    /// Whole result of a call of a pinned tool, as JSON; of a larger one the client gets the recorded output.
    LINKED_RESULT_BYTES = 8 * MIB, Bytes;
    /// Open questions of an MCP server in one call.
    SERVER_QUESTIONS = 16, Count;
    /// These questions, as JSON.
    SERVER_QUESTION_BYTES = 64 * KIB, Bytes;
    /// Text examined for its intent; for a longer text only the beginning and the end are.
    INTENT_BYTES = 8 * KIB, Bytes;
    /// Identifier shapes from a catalogue's parameters to recognise in a text, by pattern and by example each.
    IDENTIFIER_SHAPES = 1_000, Count;
    /// Memory of the compiled regular expressions of these shapes, estimated.
    IDENTIFIER_MEMORY = 32 * MIB, Bytes;
    /// Options of a clarifying question.
    CLARIFICATION_OPTIONS = 5, Count;
    /// Undecided route examples of one document in one tenant.
    ROUTE_EXAMPLES_SUGGESTED = 10, Count;
    /// Accepted route examples of one document in one tenant.
    ROUTE_EXAMPLES_ACCEPTED = 20, Count;
    /// Undecided route examples of one tenant.
    ROUTE_EXAMPLES_WAITING = 1_000, Count;
    /// Results that an outside agent may submit for one turn of an assignment; then the assignment is closed.
    ASSIGNMENT_SUBMISSIONS = 10, Count;
    /// Artifacts in one submission of an outside agent.
    ASSIGNMENT_ARTIFACTS = 32, Count;
    /// Schedules and triggers of one tenant.
    SCHEDULES = 1_000, Count;
    /// The definition of a schedule, as JSON.
    SCHEDULE_BYTES = 256 * KIB, Bytes;
    /// Parameters of one schedule.
    SCHEDULE_PARAMETERS = 100, Count;
    /// Shortest interval between two occurrences of a schedule, in seconds.
    SCHEDULE_INTERVAL_S = 60, Count;
    /// Longest random delay of a scheduled start, in seconds.
    SCHEDULE_JITTER_S = 3_600, Count;
    /// Missed occurrences of a schedule that are started late.
    SCHEDULE_CATCH_UP = 24, Count;
    /// Items that the report of one occurrence of a schedule keeps.
    SCHEDULE_REPORT_ITEMS = 1_000, Count;
    /// Unfinished occurrences of one schedule or trigger; further webhooks are refused, others recorded as skipped.
    TRIGGER_BACKLOG = 100, Count;
    /// Proposals of a playbook that one event starts; the record of its occurrence has the number of the others.
    TRIGGER_PROPOSALS = 10, Count;
    /// The body of an incoming webhook.
    WEBHOOK_EVENT_BYTES = 256 * KIB, Bytes;
    /// Findings in one digest that a channel gets.
    DIGEST_FINDINGS = 100, Count;
    /// The body of an interaction that Slack sends.
    SLACK_INTERACTION_BYTES = 64 * KIB, Bytes;
    /// Credentials that one tool names.
    TOOL_CREDENTIALS = 8, Count;
    /// A secret that a file, a program or an authorization server returns.
    CREDENTIAL_BYTES = 64 * KIB, Bytes;
    /// Time that a call waits while another call renews the same token.
    TOKEN_WAIT_MS = 30_000, Milliseconds;
    /// Time in which a user can complete a connection of an account, or a sign-in.
    CONNECTION_WAIT_MS = 600_000, Milliseconds;
    /// Console sessions of one user; a new one ends the oldest.
    CONSOLE_SESSIONS = 20, Count;
    /// Time that a call waits for a tool's rate limit.
    RATE_LIMIT_WAIT_MS = 30_000, Milliseconds;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_description_and_is_reachable() {
        for bound in TABLE {
            assert!(bound.value > 0, "{}", bound.name);
            assert!(bound.what.ends_with('.'), "{}", bound.name);
        }
    }

    /// An accepted document can be put into an envelope, stored in a record, and returned in another envelope:
    /// serde_json, which clients read with, accepts 127 levels.
    #[test]
    fn accepted_values_can_be_stored_and_read_by_every_client() {
        const { assert!(JSON_LEVELS + JSON_ENVELOPE_LEVELS < STORED_LEVELS) };
        const { assert!(STORED_LEVELS + JSON_ENVELOPE_LEVELS < 127) };
        const { assert!(STORED_LEVELS < STORED_LEVELS_READ) };
        const { assert!(DRAFT_LEVELS + JSON_ENVELOPE_LEVELS <= JSON_LEVELS) };
        const { assert!(PARAMETER_LEVELS <= JSON_LEVELS) };
    }

    /// Protocol Buffers readers accept 100 nested messages. Task, status, message and part are four, and the response
    /// around the task makes five. In the binary form each object takes three, and the innermost value takes one.
    #[test]
    fn a_data_part_can_be_read_by_every_client_of_a2a() {
        const { assert!(5 + 3 * A2A_DATA_LEVELS < 100) };
    }

    /// The largest value of each kind fits into memory when it is the only one in its process.
    #[test]
    fn accepted_values_fit_into_the_reserved_memory() {
        const { assert!(JSON_BYTES <= BODIES_BYTES && JSON_MEMORY <= BODIES_MEMORY) };
        const { assert!(JSON_BYTES < MCP_MEMORY && 2 * MCP_MEMORY <= JSON_MEMORY) };
        const { assert!(2 * (JSON_BYTES + JSON_MEMORY) <= VALUES_MEMORY) };
        const { assert!(JSON_MEMORY <= RUN_MEMORY && RUN_MEMORY <= VALUES_MEMORY) };
        // A tenant may use half of it.
        const { assert!(2 * RUN_MEMORY <= RUNS_MEMORY) };
        const { assert!(RESULT_MEMORY <= RESULTS_MEMORY) };
        // An event holds up to a run's limit, and an answer may hold several outputs.
        const { assert!(4 * RUN_MEMORY <= STORED_MEMORY && BUNDLE_MEMORY <= STORED_MEMORY) };
    }
}
