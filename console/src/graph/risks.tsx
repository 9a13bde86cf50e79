/** Risks without a registered remedy. */

import { Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import { Loaded } from "~/parts/loaded";
import { Mark, type Tone } from "~/parts/mark";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const TONES: Record<string, Tone> = { critical: "bad", high: "bad", medium: "warn", low: "info" };

export function RisksView() {
  const charter = useCharter();
  const answer = useQuery({
    queryKey: ["graph", "unremediated"],
    queryFn: async () => {
      const found = await charter.post("/v1/graph/query", { body: { query: "unremediated" } });
      if (found.query !== "unremediated") throw new Error(`the graph answered ${found.query}`);
      return found;
    },
  });
  return (
    <Loaded query={answer}>
      {({ found, truncated }) =>
        found.length === 0 ? (
          <EmptyState title="Every risk has a remedy">
            A remediation of a category counts for the risks in it. Risks and remediations come with packages.
          </EmptyState>
        ) : (
          <Section title="Risks without a remedy" lead={truncated ? "The worst; there are more." : "Worst first."}>
            <Table verticalSpacing={6}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Risk</Table.Th>
                  <Table.Th>Severity</Table.Th>
                  <Table.Th>Domain</Table.Th>
                  <Table.Th>Categories</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {found.map(({ id, severity, domain, categories }) => (
                  <Table.Tr key={id}>
                    <Table.Td>
                      <Link from="/graph" to="/graph" search={{ node: id }} className="mono">
                        {id}
                      </Link>
                    </Table.Td>
                    <Table.Td>
                      {severity !== null && <Mark tone={TONES[severity] ?? "calm"}>{severity}</Mark>}
                    </Table.Td>
                    <Table.Td>{domain}</Table.Td>
                    <Table.Td className="mono">{categories.join(", ")}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Section>
        )
      }
    </Loaded>
  );
}
