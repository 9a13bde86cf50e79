/** Chooses a node of the expert graph by its id. */

import type { Listed } from "@charter/client";
import { Autocomplete } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { EmptyState } from "~/parts/empty-state";
import { Loaded } from "~/parts/loaded";
import { useCharter } from "~/session/session";

const route = getRouteApi("/graph");

/** Nodes that are offered; more of them are found by typing their ids in full. */
const OFFERED = 1_000;

/** Draws `children` for the chosen node, below the field that chooses it. */
export function PickNode({ children }: { children: (node: string) => React.ReactNode }) {
  const charter = useCharter();
  const nodes = useQuery({
    queryKey: ["graph", "nodes"],
    queryFn: () =>
      charter.get("/v1/list/{kind}", { params: { path: { kind: "graph_node" }, query: { limit: OFFERED } } }),
  });
  return (
    <Loaded query={nodes}>
      {({ entries }) =>
        entries.length === 0 ? (
          <EmptyState title="The graph is empty" command="charter package register packages/aws-security">
            Packages bring nodes and edges in expert_graph/*.yaml: controls, requirements, kinds of evidence, resource
            types, risks and remediations.
          </EmptyState>
        ) : (
          <Chosen nodes={entries}>{children}</Chosen>
        )
      }
    </Loaded>
  );
}

function Chosen({ nodes, children }: { nodes: Listed[]; children: (node: string) => React.ReactNode }) {
  const { node } = route.useSearch();
  const navigate = route.useNavigate();
  const ids = nodes.map(({ id }) => id);
  const [text, setText] = useState(node ?? "");
  useEffect(() => setText(node ?? ""), [node]);
  const choose = (id: string) => {
    if (ids.includes(id)) void navigate({ search: (last) => ({ ...last, node: id }) });
  };
  return (
    <div className="panes">
      <Autocomplete
        label="Node"
        description="A control, requirement, kind of evidence, resource type, risk or remediation"
        placeholder={ids[0] ?? ""}
        data={ids}
        limit={50}
        value={text}
        onChange={(value) => {
          setText(value);
          choose(value);
        }}
        maw={520}
        data-search
      />
      {node === undefined ? (
        <EmptyState title="Choose a node">
          There are {ids.length}. A control shows what it requires and which evidence is collected for it; a risk shows
          its category and its remedies.
        </EmptyState>
      ) : (
        children(node)
      )}
    </div>
  );
}
