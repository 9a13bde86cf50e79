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
export type DocumentRef = Schemas["document_name"];
export type Dependencies = Schemas["document_dependencies"];
export type DependencyNode = Schemas["dependency_node"];
export type CallerShown = Schemas["caller"];
export type PackageShown = Schemas["package"];
export type VersionDiff = Schemas["versions_diff"];
export type DocumentDifference = Schemas["changed_document"];
export type RoutedVerdict = Schemas["verdict"];
export type RoutedCandidate = Schemas["routed_candidate"];
export type Thresholds = Schemas["thresholds"];
export type AgentSkillShown = Schemas["agent_skill_summary"];
export type AgentSkillFound = Schemas["agent_skill_found"];

// What there is to know.
export type LensShown = Schemas["lens"];
export type LensAnswer = Schemas["lens_answer"];
export type Passage = Schemas["passage"];
export type Neighbour = Schemas["neighbour"];
export type ControlCoverage = Schemas["control_coverage"];
export type MemoryFound = Schemas["memory_hits"][number];
export type MemoryShown = Schemas["memory"];

// What agents do.
export type RuleSaid = Schemas["rule_said"];
export type GateSaid = Schemas["gate_decision"];
export type Approval = Schemas["approval"];
export type ApprovalEntry = Schemas["approval_entry"];
export type ApprovalState = Approval["state"];
export type RunSummary = Schemas["run_summary"];
export type RunStatus = RunSummary["status"];
export type RunShown = Schemas["run"];
export type RunEvent = Schemas["journal_event"];
export type RunEventShown = Schemas["run_event"];
export type Replayed = Schemas["run_replayed"];
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
export type KeyMade = Schemas["new_key"];
