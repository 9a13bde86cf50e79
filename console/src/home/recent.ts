/** Queries of the last days: runs, requests, the latest reports of schedules, and the tokens of requests and missions. */

import {
  CharterError,
  type EnabledSchedule,
  type MissionShown,
  type MissionSummary,
  type Page,
  type RequestShown,
  type RequestSummary,
  type RunSummary,
  type ScheduleOccurrence,
  type TokenUsage,
} from "@charter/client";
import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";

import { tokensOf } from "~/home/tokens";
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

/** Requests whose tokens are added up. */
const MOST_REQUEST_TOKENS = 20;

/** Schedules whose latest reports are read; the latest enabled. */
const MOST_SCHEDULES = 12;

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

/** The tokens that models used for the newest requests of the last days, each where they are read. */
export function useRequestTokens(): { count: number; tokens: TokenUsage[] } {
  const charter = useCharter();
  const since = startOf(DAYS, new Date());
  const entries = useRecentRequests().data?.entries ?? [];
  const recent = entries.filter(({ created_at, state }) => created_at >= since && state !== "open").slice(0, MOST_REQUEST_TOKENS);
  const tokens = useQueries({
    queries: recent.map(({ request_id: id, updated_at }) => ({
      // A request that changed has another key, so that its tokens are read again.
      queryKey: ["request-tokens", id, updated_at],
      queryFn: async () => tokensOf((await charter.get("/v1/requests/{id}", { params: { path: { id } } })) as RequestShown),
    })),
    combine: (results) => results.flatMap(({ data = [] }) => data),
  });
  return { count: recent.length, tokens };
}

/** A schedule with its latest report. */
export interface LatestReport {
  schedule: EnabledSchedule;
  occurrence: ScheduleOccurrence;
}

/** The latest report of each schedule; `isPending` until it is known whether there is one. */
export function useLatestReports(): { reports: LatestReport[]; isPending: boolean } {
  const charter = useCharter();
  const schedules = useQuery({
    queryKey: ["schedules", "recent"],
    queryFn: () => charter.get("/v1/schedules", { params: { query: { limit: MOST_SCHEDULES } } }),
  });
  const latest = useQueries({
    queries: (schedules.data?.entries ?? []).map((schedule) => ({
      queryKey: ["schedules", "report", schedule.schedule_id, "latest or none"],
      queryFn: async (): Promise<LatestReport | null> => {
        const occurrence = await latestOf(() =>
          charter.get("/v1/schedules/{id}/occurrences/{occurrence}", {
            params: { path: { id: schedule.schedule_id, occurrence: "latest" } },
          }),
        );
        return occurrence === null ? null : { schedule, occurrence };
      },
    })),
    combine: (results) => ({
      reports: results.flatMap(({ data }) => data ?? []),
      isPending: results.some(({ isPending }) => isPending),
    }),
  });
  return { reports: latest.reports, isPending: schedules.isPending || latest.isPending };
}

/** The latest occurrence with a report; null if no occurrence has one. */
async function latestOf(read: () => Promise<ScheduleOccurrence>): Promise<ScheduleOccurrence | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CharterError && error.status === 404) return null;
    throw error;
  }
}
