/** The kinds of documents, in the words of the glossary. */

import type { DocumentKind } from "@charter/client";

/** A kind and what it is. */
export interface Kind {
  kind: DocumentKind;
  /** Several of them. */
  label: string;
  /** One of them. */
  one: string;
  /** What they are, in a sentence. */
  what: string;
}

export const KINDS: Kind[] = [
  { kind: "skill", label: "Skills", one: "Skill", what: "Answer a question: a plan of readonly steps, and rules that turn results into findings." },
  { kind: "playbook", label: "Playbooks", one: "Playbook", what: "Change something: parameters, a plan to confirm, writes, and how they are reversed." },
  { kind: "tool", label: "Tools", one: "Tool", what: "One callable act each: a script, an HTTP exchange, a built-in or an imported tool." },
  { kind: "guardrail", label: "Guardrails", one: "Guardrail", what: "Block, ask for an approval, or warn before a tool is called." },
  { kind: "policy", label: "Policies", one: "Policy", what: "Say who may call the tools that they govern, and with which arguments." },
  { kind: "agent", label: "Agents", one: "Agent", what: "Own skills, with capabilities and a boundary." },
  { kind: "template", label: "Templates", one: "Template", what: "The form in which findings are shown." },
  { kind: "domain_lens", label: "Lenses", one: "Lens", what: "Reference knowledge of a domain, with its source." },
  { kind: "mission_type", label: "Mission types", one: "Mission type", what: "What missions of a kind may look at, and how their proposals are written back." },
  { kind: "prompt_template", label: "Prompt templates", one: "Prompt template", what: "Versioned texts that instruct a role of a mission." },
  { kind: "schedule", label: "Schedules", one: "Schedule", what: "Start work by the time, a webhook or a finding, once a user has enabled them." },
  { kind: "graph_node", label: "Graph nodes", one: "Graph node", what: "Pieces of expert knowledge: controls, requirements, risks, remediations." },
  { kind: "graph_edge", label: "Graph edges", one: "Graph edge", what: "Typed links between two graph nodes." },
  { kind: "domain", label: "Domains", one: "Domain", what: "Fields of work that documents belong to." },
];

/** The kind of a name; `undefined` for what is none. */
export function kindOf(name: string): Kind | undefined {
  return KINDS.find(({ kind }) => kind === name);
}
