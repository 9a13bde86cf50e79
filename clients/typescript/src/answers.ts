/**
 * Names for what the server answers, as `schemas/openapi.json` describes it. Everything else that the document
 * describes is found under its own name in `components["schemas"]`.
 */

import type { components } from "./generated/openapi.js";

type Schemas = components["schemas"];

/** A page that goes on at `next`. */
export interface Page<Entry> {
  entries: Entry[];
  /** Where the next page starts; null or absent on the last one. */
  next?: string | null;
}

// The catalogue.
export type Listed = Schemas["document_summary"];
export type DocumentKind = Listed["kind"];
export type DocumentShown = Schemas["document"];
export type DocumentLayer = Schemas["document_layer"];
export type DocumentRef = Schemas["document_ref"];
export type Dependencies = Schemas["document_dependencies"];
export type DependencyNode = Schemas["dependency_node"];
export type CallerShown = Schemas["caller"];
export type PackageShown = Schemas["package"];
/** The files of a package, by path. */
export type PackageFiles = Schemas["package_bundle"]["files"];
export type PackageProblem = Schemas["package_problem"];
export type PackageReport = Schemas["package_report"];
export type DocumentChange = Schemas["document_change"];
export type PlaybookInForce = Schemas["playbook_in_force"];
export type VersionDiff = Schemas["package_version_diff"];
export type DocumentVersionChange = Schemas["document_version_change"];
export type RoutedVerdict = Schemas["verdict"];
export type RoutedCandidate = Schemas["routed_candidate"];
export type Thresholds = Schemas["thresholds"];
export type AgentSkillShown = Schemas["agent_skill_summary"];
export type AgentSkillHit = Schemas["agent_skill_hit"];

// What there is to know.
export type LensShown = Schemas["lens"];
export type LensAnswer = Schemas["lens_search_result"];
export type Passage = Schemas["passage"];
export type Neighbour = Schemas["neighbour"];
export type ControlCoverage = Schemas["control_coverage"];
export type MemoryHit = Schemas["memory_hits"][number];
export type MemoryShown = Schemas["memory"];

// Requests and their answers. The schema of a response leaves its metadata open; these are the fields that the server writes.
export type Finding = Schemas["finding"];
/** Where the value of a parameter comes from. */
export type ValueSource = Schemas["value_source"];
/** A parameter's value, with where it comes from. */
export type ParameterShown = { name: string; value: unknown } & ValueSource;
/** A value that a memory states for a missing parameter. */
export type ProposedValue = Schemas["proposed_value"];
/** Fields of a request besides its words. */
export type RequestMetadata = NonNullable<Schemas["agent_request"]["metadata"]> & {
  parameters?: Record<string, unknown>;
  skill_id?: string;
  playbook_id?: string;
  /** Whether a change waits for its plan to be confirmed, also where its playbook does not ask for that. */
  confirm?: boolean;
};
/** One of the things that a request may mean. */
export type ClarificationOption = { id: string; kind: "skill" | "playbook"; title: string };
/** A question that is asked back. The next turn of the session answers it with the id of an option. */
export type Clarification = { question: string; options: ClarificationOption[] };
/** A playbook that fits, with values for its parameters. Nothing was begun. */
export type Offer = {
  playbook_id: string;
  title: string;
  parameters: Record<string, unknown>;
  missing: string[];
  /** The skills whose findings it is offered for; absent where the words of the request speak of it. */
  finding_skills?: string[];
};
/** A sentence of an analysis with its citations. */
export type CitedSentence = {
  text: string;
  evidence_ids?: string[];
  finding_ids?: string[];
  /** Results without evidence, as `run/step`. */
  outputs?: string[];
  /** As `title (lens_id, passage 3)`. */
  passages?: string[];
};
/** A passage that an answer quotes, with its best sentence and the section of that sentence. */
export type PassageCited = Passage & {
  sentence?: string;
  section?: { headings: string[]; page?: number; text: string };
  similarity?: number;
};
/** A write that happened. */
export type ChangeMade = {
  step_id: string;
  tool_id: string | null;
  before: unknown;
  after: unknown;
  /** Whether it was taken back since. */
  reversed: boolean;
  evidence_ids: string[];
};
/** A step that was planned and is not done. */
export type StepUndone = {
  step_id: string;
  tool_id: string | null;
  writes: boolean;
  reason: "not_begun" | "failed" | "skipped" | "excluded" | "in_doubt" | "reversed" | "reversal_failed" | "dry_run";
  detail: string;
  /** The change that a dry run announces. */
  planned_change?: unknown;
};
export type ResponseMetadata = NonNullable<Schemas["agent_response"]["metadata"]> & {
  parameters?: ParameterShown[];
  findings?: Finding[];
  sentences?: CitedSentence[];
  evidence_ids?: string[];
  run_ids?: string[];
  warnings?: string[];
  clarification?: Clarification;
  offers?: Offer[];
  passages?: PassageCited[];
  nodes?: { node_id: string; text: string }[];
  documents?: { kind: DocumentKind; id: string; title: string }[];
  /** The tokens that models used for the answer, or for the run of a change; absent if none were used. */
  tokens?: TokenUsage;
  /** The status of the run of a change. */
  status?: RunStatus;
  changes?: ChangeMade[];
  undone?: StepUndone[];
  missing_evidence?: string[];
};
export type ResponseShown = Omit<Schemas["agent_response"], "metadata"> & { metadata?: ResponseMetadata };
/** The failure of a request. Where parameters are missing, it names those that are known. */
export type RequestFailure = Omit<Schemas["agent_error"], "technical_details"> & {
  technical_details?: { known?: ParameterShown[]; proposals?: ProposedValue[]; [more: string]: unknown };
};
/** A request in a list: who sent it, and what came of it. */
export type RequestSummary = Schemas["request_summary"];
export type SessionTurn = Schemas["session_turn"];
export type RequestShown = Omit<Schemas["request"], "received" | "verdict" | "answer" | "result"> & {
  received: { user: string; request: Schemas["agent_request"] };
  verdict: { verdict: Pick<RoutedVerdict, "intent" | "intent_reason" | "reason"> } | null;
  answer: ResponseShown | RequestFailure | null;
  /** The result of a change, once its run has ended. */
  result: ResponseShown | null;
};

// What agents do.
export type TokenUsage = Schemas["token_usage"];
export type RuleResult = Schemas["rule_result"];
export type GateDecision = Schemas["gate_decision"];
export type Approval = Schemas["approval"];
export type ApprovalEntry = Schemas["approval_entry"];
export type ApprovalPage = Schemas["approval_page"];
/** The effect of a write: the present state, the state after, or a note why one is unknown. */
export type WriteEffect = Omit<Schemas["approval_preview"], "calls">;
/** The effect of an approval's call, or of each call of its list. */
export type ApprovalPreview = WriteEffect & { calls?: (WriteEffect & { step: string })[] };
export type ApprovalState = Approval["state"];
/** A call that an approval is for. */
export type ExactCall = Schemas["exact_call"];
/** A run whose plan waits for a confirmation. */
export type PendingConfirmation = Schemas["pending_confirmation"];
export type RunSummary = Schemas["run_summary"];
export type RunStatus = RunSummary["status"];
export type RunShown = Schemas["run"];
export type RunEvent = Schemas["journal_event"];
export type RunEventShown = Schemas["run_event"];
export type RunReplay = Schemas["run_replay"];
export type PlannedStep = Schemas["planned_step"];
export type StepGraph = Schemas["step_graph"];
export type StepShown = Schemas["step"];
/** Where a step stands, with what belongs to that. */
export type StepStanding = StepShown extends infer Step
  ? Step extends unknown
    ? Omit<Step, "step" | "tool" | "writes" | "entry" | "reverses">
    : never
  : never;
export type StepFailure = Schemas["step_failure"];
export type ResultSource = Schemas["result_source"];
export type MissionSummary = Schemas["mission_summary"];
export type MissionState = MissionSummary["state"];
export type MissionShown = Schemas["mission"];
export type MissionTask = Schemas["mission_task"];
export type MissionProposal = Schemas["mission_proposal"];
export type MissionEvent = Schemas["mission_event"];
export type ArtifactShown = Schemas["mission_artifact"];

// Schedules, and the messages of channels.
export type ScheduleDefinition = Schemas["schedule"];
export type EnabledSchedule = Schemas["enabled_schedule"];
/** An enabled schedule. The secret of its webhooks is not shown again. */
export type NewSchedule = Schemas["new_schedule"];
export type ScheduleOccurrence = Schemas["schedule_occurrence"];
export type ScheduleReport = Schemas["schedule_report"];
export type ReportItem = Schemas["report_item"];
export type StartedWork = Schemas["started_work"];
export type NotificationChannel = Schemas["channel"];
export type NotificationSummary = Schemas["notification"];

// Proof.
/** A record of evidence. A document may write its id in two ways; the server writes it in this one. */
export type EvidenceEntry = Schemas["evidence_entry"];
export type EvidenceShown = Schemas["evidence"] & { id: string };
export type EvidenceAttachment = Schemas["evidence_attachment"];
export type EvidenceLogKey = Schemas["evidence_log_key"];
export type EvidenceHeader = Schemas["evidence_header"];
export type EvidenceLeaf = Schemas["evidence_leaf"];
export type EvidenceProof = Schemas["evidence_proof"];

// Keys.
export type KeyShown = Schemas["key"];
/** A new key with its text, which is not shown again. */
export type NewKey = Schemas["new_key"];
