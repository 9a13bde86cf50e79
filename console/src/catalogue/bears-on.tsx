/** Guardrails and policies that bear on a skill, playbook or tool. */

import type { DocumentKind } from "@charter/client";
import { List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { Loaded } from "~/parts/loaded";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

/** One rule that bears on it. */
interface Rule {
  kind: "guardrail" | "policy";
  id: string;
  matched: string;
  layer: string;
}

export function BearsOn({ kind, id }: { kind: DocumentKind; id: string }) {
  const charter = useCharter();
  const isSubject = kind === "skill" || kind === "playbook";
  const rules = useQuery({
    queryKey: ["catalogue", "bears on", kind, id],
    queryFn: async (): Promise<Rule[]> => {
      if (isSubject) {
        const found = await charter.get("/v1/resolve/guardrails", { params: { query: { skill_id: id } } });
        return found.map(({ document, matched, layer }) => ({
          kind: "guardrail",
          id: document.guardrail_id,
          matched,
          layer,
        }));
      }
      const found = await charter.get("/v1/resolve/policies", { params: { query: { tool: id } } });
      return found.map(({ document, matched, layer }) => ({ kind: "policy", id: document.policy_id, matched, layer }));
    },
    enabled: isSubject || kind === "tool",
  });
  if (!isSubject && kind !== "tool") return null;
  return (
    <Section
      title={isSubject ? "Guardrails that bear on it" : "Policies that govern it"}
      lead={
        isSubject
          ? "They are asked before each of its tools is called, in this order."
          : "A governed tool is denied unless a rule permits the call."
      }
    >
      <Loaded query={rules}>
        {(found) =>
          found.length === 0 ? (
            <Text c="dimmed">None.</Text>
          ) : (
            <List listStyleType="none" spacing={4}>
              {found.map((rule) => (
                <List.Item key={`${rule.layer} ${rule.id}`}>
                  <Link to="/catalogue/$kind/$id" params={{ kind: rule.kind, id: rule.id }} className="mono">
                    {rule.id}
                  </Link>{" "}
                  <Text span size="sm" c="dimmed">
                    by <span className="mono">{rule.matched}</span>, {rule.layer.replaceAll("_", " ")}
                  </Text>
                </List.Item>
              ))}
            </List>
          )
        }
      </Loaded>
    </Section>
  );
}
