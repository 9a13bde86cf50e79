/**
 * Keeps what is shown in step with the server: each event of the tenant makes the answers stale that it
 * touches, and they are read again where they are on the screen.
 */

import type { CharterError, LinkState } from "@charter/client";
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";

import { oneAtATime } from "~/live/one-at-a-time";
import { touchedBy } from "~/live/topics";
import { useCharter } from "~/session/session";

/** The state of the stream. */
export interface Link {
  state: LinkState;
  /** Why it is broken. */
  error: CharterError | undefined;
}

const LinkContext = createContext<Link>({ state: "connecting", error: undefined });

/** The state of the stream of events. */
export function useLink(): Link {
  return useContext(LinkContext);
}

/** A list of which more pages were read is read again when it is next opened, and not at every event. */
const MOST_PAGES = 5;

/** Makes what a feature has read stale, and reads what is on the screen again. */
async function readAgain(queries: QueryClient, feature: string): Promise<void> {
  const isLong = ({ state }: Query) => ((state.data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) > MOST_PAGES;
  const isFirst = ({ state }: Query) => state.data === undefined;
  const first = queries.getQueryCache().findAll({ queryKey: [feature], fetchStatus: "fetching", predicate: isFirst });
  await Promise.all([
    queries.invalidateQueries({ queryKey: [feature], predicate: (query) => !isLong(query) }),
    queries.invalidateQueries({ queryKey: [feature], predicate: isLong, refetchType: "none" }),
  ]);
  // A first reading under way is not begun anew, and may have begun before the event.
  await Promise.all(first.map(({ queryKey }) => queries.invalidateQueries({ queryKey, exact: true })));
}

/** Follows the tenant's events while it is drawn. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [link, setLink] = useState<Link>({ state: "connecting", error: undefined });

  useEffect(() => {
    const ended = new AbortController();
    let wasBroken = false;
    const onState = (state: LinkState, error?: CharterError) => {
      if (ended.signal.aborted) return;
      // A resumed stream sends the events since then, unless they are too old.
      if (state === "open" && wasBroken) void queries.invalidateQueries();
      wasBroken = state === "broken" || (wasBroken && state === "connecting");
      setLink((last) => ({ state, error: error ?? (state === "open" ? undefined : last.error) }));
    };
    const readers = new Map<string, () => void>();
    const readerOf = (feature: string) => {
      const reader = readers.get(feature) ?? oneAtATime(() => readAgain(queries, feature));
      readers.set(feature, reader);
      return reader;
    };
    const watch = async () => {
      for await (const { topic } of charter.streamEvents({ signal: ended.signal, onState })) {
        for (const feature of touchedBy(topic)) readerOf(feature)();
      }
    };
    // A stream that will not come back said so by `onState`.
    watch().catch(() => undefined);
    return () => ended.abort();
  }, [charter, queries]);

  return <LinkContext.Provider value={link}>{children}</LinkContext.Provider>;
}
