/**
 * What the server answers, by path and method, as far as the OpenAPI document says only that an answer
 * is an object. Written by hand after the types that the server serialises.
 */

import type { components } from "./generated/openapi.js";

/** Documents and other contracts, as the OpenAPI document describes them. */
type Schemas = components["schemas"];

/** The kinds of documents of a catalogue. */
export type DocumentKind =
  | "skill"
  | "tool"
  | "guardrail"
  | "policy"
  | "template"
  | "playbook"
  | "agent"
  | "domain"
  | "domain_lens"
  | "graph_node"
  | "graph_edge"
  | "mission_type"
  | "prompt_template";

/** A layer of the catalogue. */
export type LayerScope = "tenant" | "global";

/** Which layer a document was found in; `tenant_over_global` shadows a global one of the same id. */
export type Won = "tenant" | "global" | "tenant_over_global";

/** A page that goes on at `next`. */
export interface Page<Entry> {
  entries: Entry[];
  /** Where the next page starts; null or absent on the last one. */
  next?: string | null;
}

/** A document in a listing. */
export interface Listed {
  id: string;
  kind: DocumentKind;
  /** Its name or title; null where its kind has none. */
  title: string | null;
  /** What it is for, shortened. */
  summary: string | null;
  domain: string | null;
  status: "active" | "inactive";
  /** Whether it was generated and nobody has accepted it yet. */
  is_candidate: boolean;
  /** Whether it is the tenant's own. */
  tenant: boolean;
  package: string;
  package_version: string;
}

/** A document in force, and why this one. */
export interface InForce<Document> {
  document: Document;
  package: string;
  package_version: string;
  layer: Won;
}

/** A document as one layer has it. */
export interface DocumentLayer {
  scope: LayerScope;
  /** Whether this layer's document is in force; of guardrails and policies both layers' may be. */
  in_force: boolean;
  package: string;
  package_version: string;
  document: Record<string, unknown>;
  /** Where it stands in its package; null for what was built in or imported. */
  source: { file: string; line: number; text: string } | null;
}

/** A document in every layer that has it, the tenant's own first. */
export interface DocumentShown {
  kind: DocumentKind;
  id: string;
  layers: DocumentLayer[];
  /** JSON pointers of the parts in which the layers differ. */
  differs: string[];
}

/** A document by kind and id. */
export interface DocumentRef {
  kind: DocumentKind;
  id: string;
}

/** A document near another one; `document` is null where it is missing. */
export interface DependencyNode extends DocumentRef {
  side: "needs" | "needed_by";
  distance: number;
  document: Listed | null;
}

/** What a document needs, and what needs it: what breaks if it changes. */
export interface Dependencies {
  root: Listed;
  nodes: DependencyNode[];
  /** `from` needs `to`; the pointer says where it says so. */
  edges: { from: DocumentRef; to: DocumentRef; pointer: string }[];
  truncated: boolean;
}

/** How many documents there are. */
export interface CatalogueShown {
  kinds: { kind: DocumentKind; documents: number; of_tenant: number }[];
}

/** Who is asking, what they may do, and what their tenant may ask. */
export interface CallerShown {
  tenant: string;
  user: string;
  role: "user" | "operator" | "admin";
  tier: "basic" | "advanced";
  catalogue: "viewer" | "editor" | "admin";
  agent_skills: string[];
  scopes: string[];
  quota: {
    calls: { per_minute: number; burst: number } | null;
    runs: { most: number; unfinished: number } | null;
  };
}

/** A guardrail or policy that bears on something, with the glob that matched. */
export interface Matched<Document> extends InForce<Document> {
  matched: string;
}

/** One entry of a package's history. */
export interface PackageShown {
  package: string;
  version: string;
  scope: LayerScope;
  change: "registered" | "rolled_back" | "unregistered";
  documents: number;
  content_hash: string;
  revision: number;
  actor: string;
  at: string;
}

/** What happens to a document. */
export interface DocumentChange {
  kind: DocumentKind;
  id: string;
  difference: "added" | "changed" | "removed";
  /** JSON pointers of the parts that differ. */
  fields: string[];
}

/** What a package changes. */
export interface PackageDiff {
  package: string;
  from: string | null;
  to: string;
  changes: DocumentChange[];
}

/** A changed document with both of its forms. */
export interface DocumentDifference extends DocumentChange {
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** A page of the differences between two versions of a package. */
export interface VersionDiff {
  package: string;
  from: string | null;
  to: string;
  changes: DocumentDifference[];
  next?: string | null;
}

/** Where a verdict turns. */
export interface Thresholds {
  floor: number;
  narrow: number;
  margin: number;
}

/** Something that a query may be routed to, with the parts of its score. */
export interface RoutedCandidate {
  kind: DocumentKind;
  id: string;
  scope: LayerScope;
  /** Chance that it is right, 0 to 1. */
  score: number;
  /** What it is ranked by within this query. */
  fused: number;
  /** Words in common, weighted. */
  lexical: number;
  /** The words in common as a share of what the query could reach, 0 to 1. */
  coverage: number;
  /** Similarity of meaning; null where only words were compared. */
  cosine: number | null;
}

/** Where a query goes, with everything that this depends on. */
export interface RoutedVerdict {
  query: string;
  kind: "narrow" | "broad" | "miss";
  /** At or above the floor, best first. */
  candidates: RoutedCandidate[];
  /** Found, and below the floor. */
  dropped: RoutedCandidate[];
  /** The thresholds that this verdict was made with. */
  thresholds: Thresholds;
  /** Those that requests are routed with. */
  in_force: Thresholds;
  model: string | null;
  reason: string;
}

/** An agent skill without its instruction. */
export interface AgentSkillShown {
  skill_id: string;
  summary: string;
  is_folder: boolean;
  sub_skills: string[];
}

/** A hit of a search for agent skills. */
export interface AgentSkillFound extends AgentSkillShown {
  score: number;
}

/** A file of an agent skill, without its content. */
export interface AgentSkillFile {
  path: string;
  digest: string;
  bytes: number;
  executable: boolean;
}

/** What is wrong among agent skills. */
export interface LinkFinding {
  skill_id: string;
  rule: "dangling_child" | "empty_folder" | "cycle";
  message: string;
}

/** How far the indexing of a lens is. */
export type LensStage =
  { stage: "fetching" } | { stage: "reading" } | { stage: "embedding"; done: number; of: number };

/** What indexing a lens came to. */
export type LensWork = { at: string } & (
  | { outcome: "unchanged"; chunks: number }
  | { outcome: "indexed"; chunks: number; embedded: number }
  | { outcome: "not_fetched" }
  | { failed: string }
);

/** A lens with what became of its source. */
export type LensShown = Schemas["domain_lens"] & {
  lens_id: string;
  domain: string;
  scope: LayerScope;
  index: {
    chunks: number;
    bytes: number;
    model: string | null;
    other_model: boolean;
    fetched_at: string;
    indexed_at: string;
  } | null;
  indexing: LensStage | null;
  last: LensWork | null;
};

/** A passage of a lens, quoted. */
export interface Passage {
  lens_id: string;
  title: string;
  domain: string;
  scope: LayerScope;
  text: string;
  position: {
    file?: string;
    start: number;
    end: number;
    start_char: number;
    end_char: number;
    headings?: string[];
    page?: number;
  };
  source: { type: "url" | "file"; ref: string };
  content_hash: string;
  score: number;
  lexical: number;
  cosine: number | null;
}

/** The passages that come closest. */
export interface LensAnswer {
  query: string;
  extractive: boolean;
  model: string | null;
  lenses: string[];
  passages: Passage[];
}

/** A node of the expert graph, under the names that answers use. */
export type GraphNodeShown = Schemas["graph_node"] & { id: string };

/** A node near another one of the expert graph. */
export interface Neighbour {
  distance: number;
  from: string;
  edge: string;
  direction: "in" | "out";
  node: GraphNodeShown;
  layer: Won;
}

/** How a control of a framework is looked after. */
export interface ControlCoverage {
  control: string;
  title: string | null;
  standing: "covered" | "partial" | "none";
  resource_types: {
    resource_type: string;
    covered_by: { kind: DocumentKind; id: string; tools: string[] }[];
  }[];
  without_evidence: string[];
  guardrails: string[];
}

/** A risk that nothing addresses. */
export interface OpenRisk {
  id: string;
  domain: string | null;
  severity: string | null;
  /** The categories that it belongs to, nearest first. */
  categories: string[];
}

/** What the expert graph says. */
export type GraphAnswer =
  | {
      query: "neighbours";
      node: GraphNodeShown;
      layer: Won;
      found: Neighbour[];
      truncated: boolean;
    }
  | { query: "paths"; found: { nodes: string[]; edges: string[] }[]; truncated: boolean }
  | { query: "unremediated"; found: OpenRisk[]; truncated: boolean }
  | { query: "coverage"; framework: string; controls: ControlCoverage[] };

/** One version of a memory, with where it stands. */
export interface MemoryShown {
  memory_id: string;
  owner: string;
  visibility: "private" | "shared";
  version: number;
  state: "proposed" | "accepted" | "superseded" | "rejected";
  at: string;
  author: string;
  agent_id?: string;
  supersedes?: number;
  decided_by?: string;
  decided_at?: string;
  /** The version that waits for a decision. */
  proposed?: number;
  expires_at?: string;
  removed_at?: string;
  removed_by?: string;
  /** Absent once it was removed. */
  memory?: Schemas["memory_entry"];
}

/** A memory that a search found. */
export interface MemoryFound extends MemoryShown {
  fused: number;
  lexical: number;
  cosine: number | null;
}

/** A key of the API without its secret. */
export interface KeyShown {
  key_id: string;
  tenant_id: string;
  name: string;
  state: "live" | "expired" | "revoked";
  user: string;
  role: "user" | "operator" | "admin";
  tier: "basic" | "advanced";
  catalogue: "viewer" | "editor" | "admin";
  agent_skills: string[];
  scopes: string[];
  created_by: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
  rotated_from: string | null;
}

/** A new key with its text, which is not shown again. */
export interface KeyMade extends KeyShown {
  secret: string;
}

/** An event of the tenant, as pages have it. */
export interface EventShown {
  id: number;
  topic: string;
  at: string;
  data: Record<string, unknown>;
}

/** Answers by path and method. */
export interface Answers {
  "/v1/list/{kind}": { get: Page<Listed> };
  "/v1/resolve/skill/{id}": { get: InForce<Schemas["skill"]> };
  "/v1/resolve/playbook/{id}": { get: InForce<Schemas["playbook"]> };
  "/v1/resolve/agent/{id}": { get: InForce<Schemas["agent"]> };
  "/v1/resolve/tool/{id}": { get: InForce<Schemas["tool"]> };
  "/v1/resolve/mission_type/{id}": { get: InForce<Schemas["mission_type"]> };
  "/v1/resolve/prompt_template/{id}": { get: InForce<Schemas["prompt_template"]> };
  "/v1/resolve/guardrails": { get: Matched<Schemas["guardrail"] & { guardrail_id: string }>[] };
  "/v1/resolve/policies": { get: Matched<Schemas["policy"] & { policy_id: string }>[] };
  "/v1/documents/{kind}/{document}": { get: DocumentShown };
  "/v1/documents/{kind}/{document}/dependencies": { get: Dependencies };
  "/v1/catalogue": { get: CatalogueShown };
  "/v1/caller": { get: CallerShown };
  "/v1/packages/{name}/diff": { get: VersionDiff };
  "/v1/packages": { get: PackageShown[] };
  "/v1/packages/{name}/history": { get: PackageShown[] };
  "/v1/packages/diff": { post: PackageDiff };
  "/v1/route": { get: RoutedVerdict };
  "/v1/agent-skills": { get: Page<AgentSkillShown> };
  "/v1/agent-skills/{id}": { get: AgentSkillShown & { scope: LayerScope } };
  "/v1/agent-skills/{id}/children": { get: Page<AgentSkillShown> };
  "/v1/agent-skills/{id}/instruction": { get: { skill_id: string; instruction: string } };
  "/v1/agent-skills/{id}/files": { get: { files: AgentSkillFile[] } };
  "/v1/agent-skills/search": { post: { hits: AgentSkillFound[] } };
  "/v1/agent-skills/lint": { post: { findings: LinkFinding[] } };
  "/v1/lenses": { get: LensShown[] };
  "/v1/lenses/{id}": { get: LensShown };
  "/v1/lenses/{id}/reindex": { post: LensShown };
  "/v1/lenses/search": { post: LensAnswer };
  "/v1/lenses/{id}/search": { post: LensAnswer };
  "/v1/graph/query": { post: GraphAnswer };
  "/v1/memories": { get: Page<MemoryShown>; post: MemoryShown };
  "/v1/memories/search": { post: MemoryFound[] };
  "/v1/memories/{id}": { get: MemoryShown };
  "/v1/memories/{id}/history": { get: MemoryShown[] };
  "/v1/memories/{id}/versions": { post: MemoryShown };
  "/v1/memories/{id}/versions/{version}/accept": { post: MemoryShown };
  "/v1/memories/{id}/versions/{version}/reject": { post: MemoryShown };
  "/v1/keys": { get: Page<KeyShown>; post: KeyMade };
  "/v1/keys/{id}": { get: KeyShown };
  "/v1/keys/{id}/rotate": { post: KeyMade };
  "/v1/keys/{id}/revoke": { post: KeyShown };
  "/v1/events": { get: { entries: EventShown[]; next: number } };
}
