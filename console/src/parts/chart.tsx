/**
 * A graph, laid out from left to right. Beside the picture is a list with the same content, for screen readers
 * and for users who prefer a list.
 */

import "@xyflow/react/dist/style.css";

import dagre from "@dagrejs/dagre";
import { useComputedColorScheme } from "@mantine/core";
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import { type ReactNode, useMemo } from "react";

import { KeepsCentre } from "~/parts/keeps-centre";
import type { Tone } from "~/parts/mark";

/** A node of the picture. */
export interface ChartNode {
  id: string;
  label: string;
  /** What it is, above the label. */
  kind: string;
  tone?: Tone;
  /** Drawn in bold: what the picture is about. */
  isMain?: boolean;
  /** Shown below the label. */
  note?: ReactNode;
}

/** An arrow from one node to another. */
export interface ChartEdge {
  from: string;
  to: string;
  label?: string;
}

interface Props {
  label: string;
  nodes: ChartNode[];
  edges: ChartEdge[];
  /** `LR` from left to right, `TB` from top to bottom. */
  direction?: "LR" | "TB";
  onOpen?: (id: string) => void;
  height?: number;
}

const WIDTH = 216;
const HEIGHT = 58;

type Drawn = Node<{ node: ChartNode; vertical: boolean }, "document">;

export function Chart({ label, nodes, edges, direction = "LR", onOpen, height = 420 }: Props) {
  const scheme = useComputedColorScheme("light");
  const drawn = useMemo(() => laidOut(nodes, edges, direction), [nodes, edges, direction]);
  return (
    <div className="chart panel" style={{ height }} role="region" aria-label={label}>
      <ReactFlow
        key={drawn.nodes.map(({ id }) => id).join(" ")}
        nodes={drawn.nodes}
        edges={drawn.edges}
        nodeTypes={KINDS}
        colorMode={scheme}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        onlyRenderVisibleElements
        proOptions={{ hideAttribution: false }}
        onNodeClick={(_, node) => onOpen?.(node.id)}
        ariaLabelConfig={{ "node.a11yDescription.default": "Press Enter to open it." }}
        onKeyDown={(event) => {
          const focused = (event.target as HTMLElement).closest<HTMLElement>("[data-id]")?.dataset["id"];
          if (event.key === "Enter" && focused !== undefined) onOpen?.(focused);
        }}
      >
        <Background gap={20} />
        <Controls showInteractive={false} />
        <KeepsCentre />
      </ReactFlow>
    </div>
  );
}

function Box({ data: { node, vertical } }: NodeProps<Drawn>) {
  return (
    <div className="chart-node" data-tone={node.tone ?? "calm"} data-main={node.isMain ?? false}>
      <Handle type="target" position={vertical ? Position.Top : Position.Left} isConnectable={false} />
      <span className="chart-kind">{node.kind}</span>
      <span className="chart-label" title={node.label}>
        {node.label}
      </span>
      {node.note}
      <Handle type="source" position={vertical ? Position.Bottom : Position.Right} isConnectable={false} />
    </div>
  );
}

const KINDS = { document: Box };

function laidOut(nodes: ChartNode[], edges: ChartEdge[], direction: "LR" | "TB") {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  const hasWords = edges.some(({ label }) => label !== undefined);
  graph.setGraph({ rankdir: direction, nodesep: 14, ranksep: hasWords ? 120 : 56, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  edges.forEach(({ from, to }, at) => graph.setEdge(from, to, {}, String(at)));
  dagre.layout(graph);
  return {
    nodes: nodes.map((node): Drawn => {
      const { x, y } = graph.node(node.id);
      return {
        id: node.id,
        type: "document",
        position: { x: x - WIDTH / 2, y: y - HEIGHT / 2 },
        data: { node, vertical: direction === "TB" },
        ariaLabel: `${node.kind} ${node.label}`,
        width: WIDTH,
        height: HEIGHT,
      };
    }),
    edges: edges.map(
      ({ from, to, label }, at): Edge => ({
        id: String(at),
        source: from,
        target: to,
        ...(label === undefined ? {} : { label }),
        markerEnd: { type: MarkerType.ArrowClosed },
      }),
    ),
  };
}
