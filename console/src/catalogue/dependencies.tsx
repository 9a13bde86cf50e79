/** What a document needs, and what breaks if it changes: as a picture and as a list. */

import type { Dependencies, DependencyNode, DocumentKind, DocumentRef } from "@charter/client";
import { List, NativeSelect, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";

import { kindOf } from "~/catalogue/kinds";
import type { ChartEdge, ChartNode } from "~/parts/chart";
import { Loaded } from "~/parts/loaded";
import { Mark, type Tone } from "~/parts/mark";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const Chart = lazy(() => import("~/parts/chart").then(({ Chart }) => ({ default: Chart })));

/** More nodes than this make no picture that is readable. */
const MOST_DRAWN = 150;

const route = getRouteApi("/catalogue/$kind/$id");

export function DependencyView({ kind, id }: { kind: DocumentKind; id: string }) {
  const charter = useCharter();
  const { depth } = route.useSearch();
  const navigate = route.useNavigate();
  const dependencies = useQuery({
    queryKey: ["catalogue", "dependencies", kind, id, depth],
    queryFn: () =>
      charter.get("/v1/documents/{kind}/{document}/dependencies", {
        params: { path: { kind, document: id }, query: depth === undefined ? {} : { depth } },
      }),
  });
  return (
    <Loaded query={dependencies}>
      {(found) => (
        <div className="panes">
          <div className="toolbar">
            <Text>{summed(found)}</Text>
            <NativeSelect
              ml="auto"
              aria-label="How far"
              size="xs"
              value={depth === undefined ? "" : String(depth)}
              data={[
                { value: "", label: "As far as it goes" },
                { value: "1", label: "Next to it only" },
                { value: "2", label: "Over two steps" },
              ]}
              onChange={(event) => {
                const far = event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value);
                void navigate({ search: (last) => ({ ...last, depth: far }), replace: true });
              }}
            />
          </div>
          <Picture found={found} />
          <div className="sections">
            <Side
              title="Breaks if this changes"
              lead="What needs it, directly or through others. Unregistering it is refused while any of these is in force."
              nothing="Nothing that is in force needs it."
              nodes={found.nodes.filter(({ side }) => side === "needed_by")}
            />
            <Side
              title="Needs"
              lead="What it cannot do without."
              nothing="It needs nothing else."
              nodes={found.nodes.filter(({ side }) => side === "needs")}
            />
          </div>
        </div>
      )}
    </Loaded>
  );
}

function summed({ nodes, truncated }: Dependencies): string {
  const count = (side: DependencyNode["side"]) => nodes.filter((node) => node.side === side).length;
  const more = truncated ? " There are more; these are the nearest." : "";
  return `${count("needed_by")} would break if this changes; it needs ${count("needs")}.${more}`;
}

function keyOf({ kind, id }: DocumentRef): string {
  return `${kind} ${id}`;
}

const TONES: Partial<Record<DocumentKind, Tone>> = {
  skill: "info",
  playbook: "warn",
  tool: "good",
  guardrail: "bad",
  policy: "bad",
};

function Picture({ found }: { found: Dependencies }) {
  const navigate = useNavigate();
  const all: (DocumentRef & { document: unknown })[] = [{ ...found.root, document: found.root }, ...found.nodes];
  if (all.length === 1) return null;
  if (all.length > MOST_DRAWN) {
    return <Text c="dimmed">{all.length} documents are too many for a picture; the lists below have them all.</Text>;
  }
  const nodes = all.map(
    (node, at): ChartNode => ({
      id: keyOf(node),
      label: node.id,
      kind: `${kindOf(node.kind)?.one ?? node.kind}${node.document === null ? " · missing" : ""}`,
      tone: node.document === null ? "bad" : (TONES[node.kind] ?? "calm"),
      isMain: at === 0,
    }),
  );
  const edges = found.edges.map(({ from, to }): ChartEdge => ({ from: keyOf(from), to: keyOf(to) }));
  return (
    <Suspense fallback={<div className="chart-room" />}>
      <Chart
        label="Dependencies; an arrow leads to what is needed"
        nodes={nodes}
        edges={edges}
        onOpen={(key) => {
          const [kind = "", id = ""] = key.split(" ");
          void navigate({ to: "/catalogue/$kind/$id", params: { kind, id }, search: { view: "dependencies" } });
        }}
      />
    </Suspense>
  );
}

interface SideProps {
  title: string;
  lead: string;
  nothing: string;
  nodes: DependencyNode[];
}

function Side({ title, lead, nothing, nodes }: SideProps) {
  return (
    <Section title={title} lead={lead}>
      {nodes.length === 0 ? (
        <Text c="dimmed">{nothing}</Text>
      ) : (
        <List listStyleType="none" spacing={4}>
          {nodes.map((node) => (
            <List.Item key={keyOf(node)} style={{ paddingLeft: `${(node.distance - 1) * 1.1}rem` }}>
              <Mark tone={TONES[node.kind] ?? "calm"}>{kindOf(node.kind)?.one.toLowerCase() ?? node.kind}</Mark>{" "}
              {node.document === null ? (
                <span className="mono">{node.id}</span>
              ) : (
                <Link
                  to="/catalogue/$kind/$id"
                  params={{ kind: node.kind, id: node.id }}
                  search={{ view: "dependencies" }}
                  className="mono"
                >
                  {node.id}
                </Link>
              )}{" "}
              {node.document === null && <Mark tone="bad">missing</Mark>}
              {node.distance > 1 && (
                <Text span size="sm" c="dimmed">
                  over {node.distance} steps
                </Text>
              )}
            </List.Item>
          ))}
        </List>
      )}
    </Section>
  );
}
