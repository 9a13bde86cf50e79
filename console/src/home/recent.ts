/** Queries of the last days: runs, requests and the tokens of missions. */

import type { MissionShown, MissionSummary, Page, RequestSummary, RunSummary } from "@charter/client";
import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";

import { lastDays, startOf } from "~/parts/by-day";
import { useCharter } from "~/session/session";

/** How many days are looked at, today included. */
export const DAYS = 7;

/** Runs that are looked at; the newest, where there were more. */
export const MOST_RUNS = 500;

/** Requests that are looked at. */
const MOST_REQUESTS = 50;

/** Missions whose tokens are added up. */
const MOST_MISSIONS = 10;

/** Names of the last days, oldest first. */
export const days = (): string[] => lastDays(DAYS, new Date());

/** Runs of the last days, newest first. */
export function useRecentRuns(): UseQueryResult<Page<RunSummary>> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["runs", "recent"],
    queryFn: () =>
      charter.get("/v1/runs", { params: { query: { created_from: startOf(DAYS, new Date()), limit: MOST_RUNS } } }),
  });
}

/** The newest requests. */
export function useRecentRequests(): UseQueryResult<Page<RequestSummary>> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["requests", "recent"],
    queryFn: () => charter.get("/v1/requests", { params: { query: { limit: MOST_REQUESTS } } }),
  });
}

/** The newest missions of the last days, each with its tokens where they are read. */
export function useRecentMissions(): { missions: UseQueryResult<Page<MissionSummary>>; shown: MissionShown[] } {
  const charter = useCharter();
  const missions = useQuery({
    queryKey: ["missions", "recent"],
    queryFn: () => charter.get("/v1/missions", { params: { query: { limit: MOST_MISSIONS } } }),
  });
  const since = startOf(DAYS, new Date());
  const recent = (missions.data?.entries ?? []).filter(({ created_at }) => created_at >= since);
  const shown = useQueries({
    queries: recent.map(({ mission_id: id, updated_at }) => ({
      // A mission that changed has another key, so that its tokens are read again.
      queryKey: ["mission-tokens", id, updated_at],
      queryFn: () => charter.get("/v1/missions/{id}", { params: { path: { id } } }),
    })),
    combine: (results) => results.flatMap(({ data }) => (data === undefined ? [] : [data])),
  });
  return { missions, shown };
}
