/** What has been read from the server, and for how long it counts as fresh. */

import { CharterError } from "@charter/client";
import { QueryCache, QueryClient } from "@tanstack/react-query";

/** How long an answer is shown without asking again, in milliseconds. Live events make it stale sooner. */
const FRESH_MS = 30_000;

/** How often a call that may succeed later is tried again. */
const TRIES = 2;

type Listener = (error: CharterError) => void;
const refusals = new Set<Listener>();

/** Calls `listener` whenever the server does not know the credential any more. */
export function onRefusal(listener: Listener): () => void {
  refusals.add(listener);
  return () => refusals.delete(listener);
}

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (!(error instanceof CharterError) || error.code !== "unauthenticated") return;
      for (const listener of refusals) listener(error);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) =>
        failures < TRIES && error instanceof CharterError && error.isTransient,
    },
  },
});
