/** A node with what is near it, as a picture and as a list. */

import type { Neighbour } from "@charter/client";
import { Group, NativeSelect, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";

import { toneOf } from "~/graph/node-types";
import { PickNode } from "~/graph/pick-node";
import type { ChartEdge, ChartNode } from "~/parts/chart";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const Chart = lazy(() => import("~/parts/chart").then(({ Chart }) => ({ default: Chart })));

const route = getRouteApi("/graph");

export function NodeView() {
  return <PickNode>{(node) => <Near key={node} id={node} />}</PickNode>;
}

function Near({ id }: { id: string }) {
  const charter = useCharter();
  const { depth = 1, direction } = route.useSearch();
  const navigate = route.useNavigate();
  const answer = useQuery({
    queryKey: ["graph", "neighbours", id, depth, direction],
    queryFn: async () => {
      const found = await charter.post("/v1/graph/query", {
        body: { query: "neighbours", node: id, depth, direction: direction ?? null },
      });
      if (found.query !== "neighbours") throw new Error(`the graph answered ${found.query}`);
      return found;
    },
  });
  const open = (node: string) => void navigate({ search: (last) => ({ ...last, node }) });
  return (
    <Loaded query={answer}>
      {({ node, layer, found, truncated }) => (
        <>
          <Group gap="sm">
            <NativeSelect
              label="How far"
              size="xs"
              value={String(depth)}
              data={["1", "2", "3", "5", "10"].map((far) => ({ value: far, label: far === "1" ? "1 edge" : `${far} edges` }))}
              onChange={(event) => {
                const far = Number(event.currentTarget.value);
                void navigate({ search: (last) => ({ ...last, depth: far }), replace: true });
              }}
            />
            <NativeSelect
              label="Which way"
              size="xs"
              value={direction ?? ""}
              data={[
                { value: "", label: "Both ways" },
                { value: "out", label: "Where edges lead" },
                { value: "in", label: "Where edges come from" },
              ]}
              onChange={(event) => {
                const word = event.currentTarget.value;
                const way = word === "in" || word === "out" ? word : undefined;
                void navigate({ search: (last) => ({ ...last, direction: way }), replace: true });
              }}
            />
          </Group>
          <Suspense fallback={<div className="chart-room" />}>
            <Chart
              label="The node and what is near it; arrows as the edges lead"
              nodes={[
                { id, label: titleOf(node) ?? id, kind: typeOf(node), tone: toneOf(typeOf(node)), isMain: true },
                ...found.map(
                  ({ node: near }): ChartNode => ({
                    id: near.id,
                    label: titleOf(near) ?? near.id,
                    kind: typeOf(near),
                    tone: toneOf(typeOf(near)),
                  }),
                ),
              ]}
              edges={found.map(drawn)}
              onOpen={open}
            />
          </Suspense>
          <div className="sections">
            <Section title={titleOf(node) ?? id}>
              <Facts
                rows={[
                  ["Id", <span key="id" className="mono">{id}</span>],
                  ["Type", <Mark key="type" tone={toneOf(typeOf(node))}>{typeOf(node)}</Mark>],
                  ["Layer", layer.replaceAll("_", " ")],
                  ["Domain", node.domain],
                  ["Description", node.description],
                  ["Framework", node.framework],
                  ["Severity", node.severity],
                  ["Approach", node.approach],
                ]}
              />
              <Link to="/catalogue/$kind" params={{ kind: "graph_node" }} search={{ q: id }}>
                Its document
              </Link>
            </Section>
            <Section title="Near it" lead={truncated ? "There is more; these are the nearest." : undefined}>
              <Nearby found={found} />
            </Section>
          </div>
        </>
      )}
    </Loaded>
  );
}

/** An edge as it leads, whichever way it was followed. */
function drawn({ from, edge, direction, node }: Neighbour): ChartEdge {
  const label = edge.replaceAll("_", " ");
  return direction === "out" ? { from, to: node.id, label } : { from: node.id, to: from, label };
}

function Nearby({ found }: { found: Neighbour[] }) {
  if (found.length === 0) return <>Nothing is near it this way.</>;
  return (
    <Table verticalSpacing={5}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Edge</Table.Th>
          <Table.Th>Node</Table.Th>
          <Table.Th ta="right">Edges away</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {found.map(({ node, edge, direction, distance }) => (
          <Table.Tr key={node.id}>
            <Table.Td>
              {direction === "out" ? "→" : "←"} {edge.replaceAll("_", " ")}
            </Table.Td>
            <Table.Td>
              <Link from="/graph" to="/graph" search={(last) => ({ ...last, node: node.id })} className="mono">
                {node.id}
              </Link>{" "}
              <Mark tone={toneOf(typeOf(node))}>{typeOf(node)}</Mark>
            </Table.Td>
            <Table.Td className="number">{distance}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

type GraphNode = Neighbour["node"];

function typeOf(node: GraphNode): string {
  return String(node.type);
}

function titleOf(node: GraphNode): string | undefined {
  return node.title ?? undefined;
}
