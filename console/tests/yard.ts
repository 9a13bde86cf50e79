/**
 * A package of one tenant that answers about tanks without any other system: a question with two meanings, a finding that
 * a playbook fits, and a change whose state before and after is known.
 */

/** Words that two skills of different domains fit alike. */
export const UNCLEAR = "show the readings";

/** What the skills are called that these words may mean. */
export const MEANINGS = ["Meter readings", "Cost readings"] as const;

/** A question that leads to a finding, with a value for the parameter `site`. */
export const QUESTION = "how full are our tanks in the south?";

/** The package's files. */
export function yard(): Record<string, string> {
  const files = {
    "package.yaml": { name: "yard", title: "A yard", version: "0.1.0", scope: "tenant", description: "Tanks of a yard." },
    "domains/yard.yaml": domain("yard", "Yard"),
    "domains/ledger.yaml": domain("ledger", "Ledger"),
    "tools/levels.yaml": LEVELS,
    "tools/drain.yaml": DRAIN,
    "skills/levels.yaml": { ...skill("yard", "levels", "Tank levels", ["how full are our tanks", "which tanks are full in the north"]), ...OF_LEVELS },
    "skills/meters.yaml": skill("yard", "meters", "Meter readings", ["show the readings of the meters"]),
    "skills/costs.yaml": skill("ledger", "costs", "Cost readings", ["show the readings of the costs"]),
    "playbooks/drain.yaml": PLAYBOOK,
  };
  // JSON is YAML.
  const texts = Object.entries(files).map(([path, value]): [string, string] => [path, JSON.stringify(value, null, 2)]);
  return { ...Object.fromEntries(texts), ...SCRIPTS };
}

const SCRIPTS = {
  "scripts/levels.py": 'import json\nprint(json.dumps([{"tank": "t-1", "percent": 97}, {"tank": "t-2", "percent": 12}]))\n',
  "scripts/drain.py":
    'import json, sys\ntank = json.load(sys.stdin)["parameters"]["tank"]\nprint(json.dumps({"before": {tank: 97}, "after": {tank: 0}}))\n',
};

function domain(domain_id: string, display_name: string): object {
  return { domain_id, display_name, description: `All about the ${domain_id}.`, domain_type: "domain" };
}

const SITE = { name: "site", type: "string", description: "The site", example: "north", enum: ["north", "south"] };

const LEVELS = {
  ...tool("levels", "readonly", "Reads the levels of all tanks."),
  parameters: [],
};

const DRAIN = {
  ...tool("drain", "write", "Drains a tank."),
  parameters: [{ name: "tank", type: "string", required: true, description: "The tank", example: "t-1" }],
};

function tool(name: string, tool_class: string, description: string): object {
  return {
    tool_id: `yard.${name}`,
    name,
    provider: "yard",
    service: "tanks",
    tool_class,
    domain: "yard",
    description,
    execution_target: "client",
    language: "python",
    implementation: { type: "script", path: `scripts/${name}.py` },
    permission_level: "user",
    evidence: { type: "api_call", system: "yard", native_id: '"all"', summary: description, console: { label: "View the tanks", href: "https://yard.example/tanks" } },
  };
}

function skill(domain: string, name: string, display_name: string, examples: string[]): object {
  return {
    skill_id: `${domain}.${name}`,
    name,
    domain,
    tier: "basic",
    display_name,
    description: `${display_name}.`,
    purpose: display_name,
    capabilities: [display_name],
    capability_id: `${domain}.${name}`,
    context: { context_descriptions: ["tanks"], supported_context_types: ["site"] },
    output_type: "finding",
    examples,
    parameters: [],
    execution_plan: { steps: [{ step_id: "step_1", type: "read", tool_id: "yard.levels", description: "Reads", parameters: {} }] },
  };
}

/** What the skill about levels has besides. */
const OF_LEVELS = {
  parameters: [{ ...SITE, default: "north" }],
  analysis: {
    findings: [
      {
        rule_id: "full",
        from: "step_1",
        description: "A tank that is nearly full.",
        triggers: ["tank_is_full"],
        filter: '.[] | select(.percent > 90) | {severity: "high", resource_type: "yard.tank", resource_id: .tank}',
      },
    ],
  },
};

const PLAYBOOK = {
  playbook_id: "yard.drain",
  name: "Drain a full tank",
  domain: "yard",
  tier: "basic",
  trigger_conditions: ["tank_is_full"],
  examples: ["drain the tank t-1"],
  context: { context_descriptions: ["tanks"], supported_context_types: ["site"] },
  steps: [
    { step_id: "step_1", name: "Drain", type: "write", tool_id: "yard.drain", parameters: { tank: "${user.tank}" } },
  ],
  mandatory_parameters: [
    { name: "tank", type: "string", description: "The tank", example: "t-1" },
    { name: "permit", type: "string", description: "The number of the work permit", example: "P-12" },
  ],
  parameters_from_findings: "[.[] | .resource_id] | unique[] | {tank: .}",
  approach_hints: ["Ask the yard before you drain a tank."],
  // A run that the console starts waits for a person all the same.
  safety: { safety_class: "automated" },
};
