/** Work that waits for a person: approvals, and runs that wait for values or for the confirmation of their plan. */

import type { ApprovalEntry, Page, RunSummary } from "@charter/client";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";

import { isLate } from "~/approvals/words";
import { useCharter } from "~/session/session";

/** Entries that are read of each kind. A badge is `99+` beyond them. */
const MOST = 100;

/** The statuses in which a run waits for a person. */
const ASKING = ["awaiting_confirmation", "awaiting_parameters"] as const;

/** Pending approvals. */
export function useWaitingApprovals(): UseQueryResult<Page<ApprovalEntry>> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["approvals", "waiting"],
    queryFn: () => charter.get("/v1/approvals", { params: { query: { state: "pending", limit: MOST } } }),
  });
}

/** Runs that have not started because a person has to give values or confirm the plan, newest first. */
export function useWaitingRuns(): UseQueryResult<Page<RunSummary>> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["runs", "waiting"],
    queryFn: async () => {
      const read = ASKING.map((status) => charter.get("/v1/runs", { params: { query: { status, limit: MOST } } }));
      const pages = await Promise.all(read);
      const entries = pages.flatMap((page) => page.entries);
      entries.sort((one, other) => other.created_at.localeCompare(one.created_at));
      return { entries, next: pages.find(({ next }) => next !== null)?.next ?? null };
    },
  });
}

/** The count of a badge; absent where nothing waits, or where the caller may not look. */
export function countOf<Entry>(page: Page<Entry> | undefined, waits: (entry: Entry) => boolean = () => true): string | undefined {
  const count = page?.entries.filter(waits).length ?? 0;
  if (count === 0) return undefined;
  return count >= MOST || (page?.next ?? null) !== null ? `${MOST - 1}+` : String(count);
}

/** The badges of the navigation, by the path of their screen. */
export function useBadges(): ReadonlyMap<string, string> {
  const approvals = countOf(useWaitingApprovals().data, (approval) => !isLate(approval));
  const runs = countOf(useWaitingRuns().data);
  const badges = new Map<string, string>();
  if (approvals !== undefined) badges.set("/approvals", approvals);
  if (runs !== undefined) badges.set("/runs", runs);
  return badges;
}
