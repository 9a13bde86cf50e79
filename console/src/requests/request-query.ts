/** Reading a request and the session that it belongs to. */

import type { RequestShown } from "@charter/client";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";

import { useCharter } from "~/session/session";

/** How often a request is read again until it is answered, in milliseconds: no event of the tenant announces the answer. */
const WHILE_ANSWERED_MS = 1_000;

/** A request with its answer. The event of its result makes it stale. */
export function useRequest(id: string): UseQueryResult<RequestShown> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["requests", "one", id],
    queryFn: async () => (await charter.get("/v1/requests/{id}", { params: { path: { id } } })) as RequestShown,
    refetchInterval: (query) => (query.state.data?.answer === null ? WHILE_ANSWERED_MS : false),
  });
}

/** The turns of a session, oldest first; nothing where there is no session, or it has expired. */
export function useTurns(session: string | undefined) {
  const charter = useCharter();
  const { data } = useQuery({
    queryKey: ["requests", "session", session],
    queryFn: () => charter.get("/v1/sessions/{id}", { params: { path: { id: session ?? "" } } }),
    enabled: session !== undefined,
  });
  return data?.turns;
}
