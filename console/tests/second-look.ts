/**
 * A package of one tenant whose two skills look at the same security groups in two ways and disagree about them:
 * one says that a group's rules let anybody reach it, the other that nothing public stands behind it.
 */

/** The mission type whose sources disagree. */
export const SECOND_LOOK = "security.second_look";

/** The package's files. */
export function secondLook(): Record<string, string> {
  const files = {
    "package.yaml": { name: "second-look", title: "A second look", version: "0.1.0", scope: "tenant", description: "Looks twice." },
    "skills/rules.yaml": skill("read_rules", "aws.describe_security_groups", RULES),
    "skills/behind.yaml": skill("look_behind_rules", "aws.describe_public_ingress_surface", BEHIND),
    "missions/second-look.yaml": MISSION,
  };
  // JSON is YAML.
  return Object.fromEntries(Object.entries(files).map(([path, value]) => [path, JSON.stringify(value, null, 2)]));
}

const RULES = `.[] | select(any(.IpPermissions[].IpRanges[]; .CidrIp == "0.0.0.0/0"))
  | { severity: "high", resource_type: "aws.ec2.security_group", resource_id: .GroupId, resource_name: .GroupName,
      description: "Its rules admit every address.", reachable: true }`;

const BEHIND = `.security_groups[] | select(.public_interfaces == 0)
  | { severity: "low", resource_type: "aws.ec2.security_group", resource_id: .group_id, resource_name: .group_name,
      description: "No public address stands behind it.", reachable: false }`;

const MISSION = {
  mission_type: SECOND_LOOK,
  domain: "security",
  title: "A second look",
  description: "Whether what the rules admit is reached, by two ways of looking.",
  risk_level: "low",
  sensitivity_class: "internal_security",
  token_budget: 100_000,
  requested_outputs: ["reviewed_summary"],
  resource_families: {
    "aws.network": {
      description: "Security groups of a region, with what stands behind them.",
      tools: ["aws.describe_security_groups", "aws.describe_public_ingress_surface"],
    },
  },
  outline: [
    task("rules", "Which groups admit every address by their rules?", "read_rules", "aws.describe_security_groups"),
    task("behind", "Behind which groups stands no public address?", "look_behind_rules", "aws.describe_public_ingress_surface"),
  ],
};

function task(task_id: string, objective: string, skill: string, tool: string): object {
  return {
    task_id,
    role_type: "worker",
    objective,
    required_capabilities: [`security.${skill}`],
    allowed_tools: [tool],
    required_data_scopes: ["aws.network"],
    success_criteria: ["every group is named"],
  };
}

function skill(name: string, tool: string, filter: string): object {
  const words = name.replaceAll("_", " ");
  return {
    skill_id: `security.${name}`,
    name,
    domain: "security",
    tier: "basic",
    display_name: words,
    description: `Looks at security groups: ${words}.`,
    purpose: `look at security groups and ${words}`,
    capabilities: [`${words} of security groups`],
    capability_id: `security.${name}`,
    context: { context_descriptions: ["security groups"], supported_context_types: ["environment_scope"] },
    output_type: "finding",
    examples: [`please ${words} of our groups twice`],
    parameters: [
      { name: "region", type: "string", required: true, description: "AWS region", example: "us-east-1", default: "us-east-1" },
    ],
    execution_plan: {
      steps: [{ step_id: "step_1", type: "read", tool_id: tool, description: "Looks", parameters: { region: "${user.region}" } }],
    },
    analysis: { findings: [{ rule_id: `${name}_of_group`, from: "step_1", description: "One for each group.", filter }] },
  };
}
