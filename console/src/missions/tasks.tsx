/** The tasks of a mission, as a graph and as a list. */

import type { MissionShown, MissionTask } from "@charter/client";
import { Text } from "@mantine/core";
import { useMemo } from "react";

import { TASKS } from "~/missions/words";
import { Chart } from "~/parts/chart";
import { EmptyState } from "~/parts/empty-state";
import { type Column, Listing } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { inWords } from "~/runs/words";

export function Tasks({ mission: { tasks } }: { mission: MissionShown }) {
  const nodes = useMemo(
    () =>
      tasks.map(({ task_id: id, role_type, state }) => ({
        id,
        label: id,
        kind: `${inWords(role_type)} · ${state}`,
        tone: TASKS[state],
      })),
    [tasks],
  );
  const edges = useMemo(() => tasks.flatMap(({ task_id: to, depends_on }) => depends_on.map((from) => ({ from, to }))), [tasks]);
  if (tasks.length === 0) {
    return <EmptyState title="No tasks yet">They are shown as soon as the planner has laid them out.</EmptyState>;
  }
  return (
    <>
      <Chart label="Task graph" nodes={nodes} edges={edges} height={340} />
      <Text size="sm" c="dimmed" py="xs">
        A task waits for those that it depends on. One that failed blocks its dependants and nothing else.
      </Text>
      <Listing label="Tasks" columns={COLUMNS} rows={tasks} rowKey={({ task_id }) => task_id} className="outputs" />
    </>
  );
}

const COLUMNS: Column<MissionTask>[] = [
  { name: "Task", width: "minmax(9rem, 1fr)", cell: ({ task_id }) => <span className="mono">{task_id}</span> },
  { name: "By", width: "9rem", cell: ({ role_type }) => inWords(role_type) },
  { name: "State", width: "8rem", cell: ({ state }) => <Mark tone={TASKS[state]}>{state}</Mark> },
  {
    name: "To achieve",
    width: "minmax(18rem, 3fr)",
    cell: ({ objective, reason }) => <span title={objective}>{reason ?? objective}</span>,
  },
  {
    name: "After",
    width: "minmax(9rem, 1fr)",
    cell: ({ depends_on }) => <span className="quiet">{depends_on.join(", ")}</span>,
  },
];
