/** What is wrong among the skills: children that do not exist, empty folders, cycles. */

import { List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

export function LintFindings() {
  const charter = useCharter();
  const lint = useQuery({ queryKey: ["skills", "lint"], queryFn: () => charter.post("/v1/agent-skills/lint") });
  return (
    <Section
      title="Check of all skills"
      lead="Select a skill on the left to read it. This list has remarks on all skills."
    >
      <Loaded query={lint}>
        {({ findings }) =>
          findings.length === 0 ? (
            <Text>No child is missing, no folder is empty, nothing points at itself.</Text>
          ) : (
            <List listStyleType="none" spacing={6}>
              {findings.map(({ skill_id, rule, message }, at) => (
                <List.Item key={at}>
                  <Mark tone="warn">{rule.replaceAll("_", " ")}</Mark>{" "}
                  <Link from="/skills" to="/skills" search={(last) => ({ ...last, skill: skill_id })} className="mono">
                    {skill_id}
                  </Link>{" "}
                  {message}
                </List.Item>
              ))}
            </List>
          )
        }
      </Loaded>
    </Section>
  );
}
