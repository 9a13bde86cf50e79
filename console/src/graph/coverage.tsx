/** Which controls of a framework registered skills and playbooks look after. */

import type { ControlCoverage } from "@charter/client";
import { Button, Group, List, Table, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";

import { EmptyState } from "~/parts/empty-state";
import { Loaded } from "~/parts/loaded";
import { Mark, type Tone } from "~/parts/mark";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const TONES: Record<ControlCoverage["status"], Tone> = { covered: "good", partial: "warn", none: "bad" };

const route = getRouteApi("/graph");

export function CoverageView() {
  const { framework } = route.useSearch();
  const navigate = route.useNavigate();
  const [text, setText] = useState(framework ?? "");
  const send = (event: FormEvent) => {
    event.preventDefault();
    void navigate({ search: (last) => ({ ...last, framework: text.trim() || undefined }) });
  };
  return (
    <div className="panes">
      <form onSubmit={send}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Framework"
            description="As controls name it, e.g. SOC2"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            data-search
          />
          <Button type="submit" variant="default">
            Show its coverage
          </Button>
        </Group>
      </form>
      {framework === undefined ? (
        <EmptyState title="Name a framework">
          A control counts as covered when a registered skill or playbook looks at every resource type that its evidence
          comes from. It says that something looks at the right service, not that it checks the control to the letter.
        </EmptyState>
      ) : (
        <Coverage framework={framework} />
      )}
    </div>
  );
}

function Coverage({ framework }: { framework: string }) {
  const charter = useCharter();
  const answer = useQuery({
    queryKey: ["graph", "coverage", framework],
    queryFn: async () => {
      const found = await charter.post("/v1/graph/query", { body: { query: "coverage", framework } });
      if (found.query !== "coverage") throw new Error(`the graph answered ${found.query}`);
      return found;
    },
  });
  return (
    <Loaded query={answer}>
      {({ controls }) => (
        <Section
          title={`Controls of ${framework}`}
          lead={`${controls.filter(({ status }) => status === "covered").length} of ${controls.length} are covered.`}
        >
          <div className="wide" tabIndex={0} role="region" aria-label="Controls, to be scrolled sideways">
            <Table verticalSpacing={8}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Control</Table.Th>
                  <Table.Th>Standing</Table.Th>
                  <Table.Th>Resource types, and what looks at them</Table.Th>
                  <Table.Th>Without evidence</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {controls.map((control) => (
                  <Control key={control.control} control={control} />
                ))}
              </Table.Tbody>
            </Table>
          </div>
        </Section>
      )}
    </Loaded>
  );
}

function Control({ control }: { control: ControlCoverage }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Link from="/graph" to="/graph" search={{ node: control.control }} className="mono">
          {control.control}
        </Link>
        <div className="quiet">{control.title}</div>
      </Table.Td>
      <Table.Td>
        <Mark tone={TONES[control.status]}>{control.status}</Mark>
      </Table.Td>
      <Table.Td>
        <List listStyleType="none" spacing={2}>
          {control.resource_types.map(({ resource_type, covered_by }) => (
            <List.Item key={resource_type}>
              <span className="mono">{resource_type}</span>{" "}
              <span className="quiet">
                {covered_by.length === 0 ? "by nothing" : `by ${covered_by.map(({ id }) => id).join(", ")}`}
              </span>
            </List.Item>
          ))}
        </List>
      </Table.Td>
      <Table.Td className="mono">{control.without_evidence.join(", ")}</Table.Td>
    </Table.Tr>
  );
}
