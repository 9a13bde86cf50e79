/** What a run was after an event of its journal, as the server folds it. */

import type { RunShown, RunStatus, StepShown, ValueSource } from "@charter/client";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { useCharter } from "~/session/session";

/** A run after an event. */
export interface RunThen {
  /** The event that it is shown after. */
  sequence: number;
  status: RunStatus;
  parameters: Record<string, unknown>;
  /** Where each value comes from; absent for a value that the caller gave. */
  sources: Record<string, ValueSource>;
  /** In listed order, reversals last. */
  steps: StepShown[];
  /** Steps whose writes started and whose outcome is unknown. */
  in_doubt: string[];
}

export interface RunAt {
  /** What is shown: until it is read, or where that fails, what was shown before. */
  then: RunThen;
  isReading: boolean;
  error: Error | null;
  retry: () => void;
}

/** How long a state that is not shown is kept, in milliseconds: states of large runs are large. */
const KEPT_MS = 30_000;

/** The state of the run after event `at`, or its present state. A call that another place makes idle is called off. */
export function useRunAt(run: RunShown, at: number | undefined): RunAt {
  const charter = useCharter();
  const { data, error, refetch } = useQuery({
    queryKey: ["run-at", run.run_id, at],
    queryFn: ({ signal }) =>
      charter.get("/v1/runs/{id}/at/{sequence}", { params: { path: { id: run.run_id, sequence: at ?? 0 } }, signal }),
    enabled: at !== undefined,
    // What was stays so.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEPT_MS,
  });
  const present = useMemo((): RunThen => ({ ...run, sequence: run.version }), [run]);
  const read: RunThen | undefined = at === undefined ? present : data;
  const [shown, setShown] = useState(read ?? present);
  if (read !== undefined && read !== shown) setShown(read);
  return {
    then: read ?? shown,
    isReading: read === undefined && error === null,
    error: at === undefined ? null : error,
    retry: () => void refetch(),
  };
}
