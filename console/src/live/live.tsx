/**
 * Keeps what is shown in step with the server: each event of the tenant makes the answers stale that it
 * touches, and they are read again where they are on the screen.
 */

import type { CharterError, LinkState } from "@charter/client";
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";

import { touchedBy } from "~/live/topics";
import { useCharter } from "~/session/session";

/** Where the stream stands. */
export interface Link {
  state: LinkState;
  /** Why it is broken. */
  error: CharterError | undefined;
}

const LinkContext = createContext<Link>({ state: "connecting", error: undefined });

/** Where the stream of events stands. */
export function useLink(): Link {
  return useContext(LinkContext);
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
      // What happened meanwhile is told when the stream is taken up, unless it is too long ago.
      if (state === "open" && wasBroken) void queries.invalidateQueries();
      wasBroken = state === "broken" || (wasBroken && state === "connecting");
      setLink((last) => ({ state, error: error ?? (state === "open" ? undefined : last.error) }));
    };
    const watch = async () => {
      for await (const { topic } of charter.events({ signal: ended.signal, onState })) {
        for (const queryKey of touchedBy(topic)) void queries.invalidateQueries({ queryKey });
      }
    };
    // A stream that will not come back said so by `onState`.
    watch().catch(() => undefined);
    return () => ended.abort();
  }, [charter, queries]);

  return <LinkContext.Provider value={link}>{children}</LinkContext.Provider>;
}
