/** Work that waits for a person: approvals, plans that wait for a confirmation, and runs that wait for values. */

import type { ApprovalPage, Page, RunSummary } from "@charter/client";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";

import { isExpired } from "~/approvals/words";
import { useCharter } from "~/session/session";

/** Entries that are read of each kind. A badge is `99+` beyond them. */
const MOST = 100;

/** The queue of decisions: pending approvals, and plans that wait for a confirmation. */
export function usePendingDecisions(): UseQueryResult<ApprovalPage> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["approvals", "waiting"],
    queryFn: () => charter.get("/v1/approvals", { params: { query: { state: "pending", limit: MOST } } }),
  });
}

/** Runs that wait for parameters, newest first. */
export function useRunsAwaitingParameters(): UseQueryResult<Page<RunSummary>> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["runs", "waiting"],
    queryFn: () => charter.get("/v1/runs", { params: { query: { status: "awaiting_parameters", limit: MOST } } }),
  });
}

/** A count as a badge; absent if nothing waits. `next` is the cursor of a page that is not the last. */
export function badgeOf(count: number, next: string | null | undefined): string | undefined {
  if (count === 0) return undefined;
  return count >= MOST || (next ?? null) !== null ? `${MOST - 1}+` : String(count);
}

/** The badges of the navigation, by the path of their screen. */
export function useBadges(): ReadonlyMap<string, string> {
  const decisions = usePendingDecisions().data;
  const runs = useRunsAwaitingParameters().data;
  const badges = new Map<string, string>();
  const open = (decisions?.entries ?? []).filter((approval) => !isExpired(approval));
  const waiting = badgeOf(open.length + (decisions?.confirmations ?? []).length, decisions?.next);
  const asking = badgeOf((runs?.entries ?? []).length, runs?.next);
  if (waiting !== undefined) badges.set("/approvals", waiting);
  if (asking !== undefined) badges.set("/runs", asking);
  return badges;
}
