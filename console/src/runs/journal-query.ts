/** A run's journal: read by page, then followed as it is written. */

import type { Charter, RunEventShown } from "@charter/client";
import { type QueryClient, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useEffect } from "react";

import { isOver } from "~/runs/words";
import { useCharter } from "~/session/session";

/** Events of one page. */
const PAGE = 1_000;

/** New events are shown together this often, in milliseconds, so that a fast run does not stall the page. */
const TOGETHER_MS = 120;

/** Of which kind of subject the journal is. A mission's events have the state of the mission too. */
export type Journaled = "runs" | "missions";

/**
 * The journal of a run or mission. Not under the key of a feature: the tenant's events do not make it
 * stale, its own stream brings what is new. `onStatus` is called when the status changed.
 */
export function useJournal<Event extends RunEventShown>(
  of: Journaled,
  id: string,
  onStatus: () => void,
): UseQueryResult<Event[]> {
  const charter = useCharter();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ["journal", of, id],
    queryFn: ({ signal }) => whole<Event>(charter, of, id, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isRead = query.data !== undefined;
  useEffect(() => {
    const read = queries.getQueryData<Event[]>(["journal", of, id]);
    const last = read?.at(-1);
    if (!isRead || last === undefined || isOver(last.status)) return;
    return followed<Event>(charter, queries, of, id, last.sequence, onStatus);
  }, [charter, queries, of, id, isRead, onStatus]);
  return query;
}

async function whole<Event extends RunEventShown>(
  charter: Charter,
  of: Journaled,
  id: string,
  signal: AbortSignal,
): Promise<Event[]> {
  const events: Event[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const path = `/v1/${of}/${encodeURIComponent(id)}/events?after=${after}&limit=${PAGE}`;
    const response = await charter.download(path, signal);
    const page = (await response.json()) as { entries: Event[]; next?: number };
    for (const event of page.entries) events.push(event);
    after = page.next;
  }
  return events;
}

/** Puts new events behind those that were read, until it is called off. */
function followed<Event extends RunEventShown>(
  charter: Charter,
  queries: QueryClient,
  of: Journaled,
  id: string,
  last: number,
  onStatus: () => void,
): () => void {
  const ended = new AbortController();
  let waiting: Event[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = () => {
    timer = undefined;
    const news = waiting;
    waiting = [];
    queries.setQueryData<Event[]>(["journal", of, id], (read = []) => {
      const seen = read.at(-1)?.sequence ?? 0;
      return [...read, ...news.filter(({ sequence }) => sequence > seen)];
    });
    onStatus();
  };
  const watch = async () => {
    const path = `/v1/${of}/${encodeURIComponent(id)}/events`;
    const stream = charter.follow<Event>(path, { after: String(last), signal: ended.signal, endless: false });
    for await (const { data } of stream) {
      waiting.push(data);
      timer ??= setTimeout(show, TOGETHER_MS);
    }
  };
  // What refuses the stream refuses the page of the journal too, which says so.
  watch().catch(() => undefined);
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
}
