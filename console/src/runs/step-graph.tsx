/**
 * The steps of a run with their states. Places are worked out once for a graph; what changes as the run
 * goes on, or as it is scrubbed, is drawn anew without laying out again.
 */

import "@xyflow/react/dist/style.css";

import type { PlannedStep, StepShown } from "@charter/client";
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
  type Viewport,
} from "@xyflow/react";
import { memo, useMemo, useRef } from "react";

import { KeepsCentre } from "~/parts/keeps-centre";
import type { Tone } from "~/parts/mark";
import { frameHeight, HEIGHT, laidOut, type Places, WIDTH } from "~/runs/layout";
import { inWords, stepTone } from "~/runs/words";

interface Props {
  steps: StepShown[];
  /** What each of them does, where that is no call of a tool. */
  plans: Map<string, PlannedStep>;
  selected: string | undefined;
  /** Chooses a step; the chosen one again: none. */
  onSelect: (step: string | undefined) => void;
  /** Where the graph's steps come from: another one is laid out anew. */
  graphKey: string;
}

/** Above so many steps only those in view are drawn, and not all of them are when the picture opens. */
const LARGE = 60;

/** How small a large graph may be when it opens, and how far from the edges of the frame, in pixels. */
const SMALLEST = 0.6;
const MARGIN = 16;

interface Drawn extends Record<string, unknown> {
  label: string;
  what: string;
  state: string;
  tone: Tone;
  reverses: boolean;
}

export const StepGraph = memo(function StepGraph({ steps, plans, selected, onSelect, graphKey }: Props) {
  const scheme = useComputedColorScheme("light");
  // A run that grew has other steps or arrows; everything else leaves the places as they are.
  const shape = steps.map(({ step, entry }) => `${step}<${entry.edges.map(({ from }) => from).join(",")}`).join(" ");
  const { places, edges } = useMemo(() => drawnOnce(steps), [shape]);
  // A node that is as it was keeps its object, so that only what changed is drawn anew.
  const drawn = useRef(new Map<string, Node<Drawn>>());
  const nodes = steps.map((step): Node<Drawn> => {
    const { step: id, tool } = step;
    const what = tool ?? plans.get(id)?.action.do ?? "";
    const state = inWords(step.state);
    const position = places.get(id) ?? { x: 0, y: 0 };
    const last = drawn.current.get(id);
    const isSelected = id === selected;
    if (last?.data.state === state && last.data.what === what && last.position === position && last.selected === isSelected) return last;
    const node: Node<Drawn> = {
      id,
      type: "step",
      position,
      data: { label: id, what, state, tone: stepTone(step.state), reverses: step.reverses !== null },
      selected: isSelected,
      width: WIDTH,
      height: HEIGHT,
      ariaLabel: `${id}, ${what}, ${state}`,
    };
    drawn.current.set(id, node);
    return node;
  });
  const frame = useRef<HTMLDivElement>(null);
  const isLarge = steps.length > LARGE;
  const choose = (step: string) => onSelect(step === selected ? undefined : step);
  return (
    <div
      className="chart panel step-graph"
      role="region"
      aria-label="Step graph"
      ref={frame}
      style={{ height: frameHeight(places) }}
    >
      <ReactFlow
        key={`${graphKey} ${steps.length}`}
        nodes={nodes}
        edges={edges}
        nodeTypes={KINDS}
        colorMode={scheme}
        fitView={!isLarge}
        fitViewOptions={{ maxZoom: 1, padding: 0.12 }}
        onInit={(flow) => {
          const { clientWidth: width, clientHeight: height } = frame.current ?? document.body;
          if (isLarge) void flow.setViewport(opening(places, selected, width, height));
        }}
        minZoom={0.05}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        onlyRenderVisibleElements={isLarge}
        onNodeClick={(_, node) => choose(node.id)}
        ariaLabelConfig={{ "node.a11yDescription.default": "Press Enter to show it." }}
        onKeyDown={(event) => {
          const focused = (event.target as HTMLElement).closest<HTMLElement>("[data-id]")?.dataset["id"];
          if (event.key === "Enter" && focused !== undefined) choose(focused);
        }}
      >
        <Background gap={20} />
        <Controls showInteractive={false} />
        <KeepsCentre />
      </ReactFlow>
    </div>
  );
});

const Step = memo(function Step({ data, selected }: NodeProps<Node<Drawn>>) {
  return (
    <div className="chart-node step-node" data-tone={data.tone} data-main={selected} data-reverses={data.reverses}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <span className="step-node-head">
        <span className="chart-label mono">{data.label}</span>
        <span className="step-node-state">{data.state}</span>
      </span>
      <span className="chart-kind step-node-what" title={data.what}>
        {data.reverses ? `takes back by ${data.what}` : data.what}
      </span>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
});

const KINDS = { step: Step };

/** The initial view of a large graph: its first row is at the top, or the chosen step in the middle. */
function opening(places: Places, chosen: string | undefined, width: number, height: number): Viewport {
  const place = chosen === undefined ? undefined : places.get(chosen);
  if (place !== undefined) return { x: width / 2 - place.x - WIDTH / 2, y: height / 2 - place.y - HEIGHT / 2, zoom: 1 };
  const top = Math.min(...[...places.values()].map(({ y }) => y));
  const row = [...places.values()].filter(({ y }) => y === top).map(({ x }) => x);
  const left = Math.min(...row);
  const broad = Math.max(...row) + WIDTH - left;
  const zoom = Math.min(1, Math.max(SMALLEST, (width - 2 * MARGIN) / broad));
  return { x: Math.max(MARGIN, (width - broad * zoom) / 2) - left * zoom, y: MARGIN - top * zoom, zoom };
}

/** Places and arrows: a reversal hangs on what it reverses by a broken line. */
function drawnOnce(steps: StepShown[]) {
  const arrows = steps.flatMap(({ step, entry, reverses }) => [
    ...entry.edges.map(({ from, on }) => ({ from, to: step, on: on as string })),
    ...(reverses === null ? [] : [{ from: reverses, to: step, on: "reverses" }]),
  ]);
  const places = laidOut(
    steps.map(({ step }) => step),
    arrows,
  );
  const edges = arrows.map(
    ({ from, to, on }, at): Edge => ({
      id: `${at}`,
      source: from,
      target: to,
      ...(on === "success" ? {} : { label: on }),
      ...(on === "success" ? {} : { style: { strokeDasharray: "5 4" } }),
      markerEnd: { type: MarkerType.ArrowClosed },
    }),
  );
  return { places, edges };
}
