/** Reading a listing page by page. */

import type { Page } from "@charter/client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";

/** How often pages with an entry that is going to change are read again, in milliseconds. */
const READ_AGAIN_MS = 3_000;

/** Longer lists are not read again by themselves. */
const MOST_READ_AGAIN = 3;

/** Entries of the pages read so far, and how to read on. */
export interface Pages<Entry> {
  entries: Entry[];
  /** Whether nothing is known yet. */
  isPending: boolean;
  isReading: boolean;
  error: Error | null;
  /** Reads the next page; absent where there is none. */
  onMore: (() => void) | undefined;
  refetch: () => void;
}

/**
 * Reads pages with `read`, from the first on. `isMoving` is true while an entry is going to change without an event: the
 * pages are then read again every few seconds.
 */
export function usePages<Entry>(
  queryKey: readonly unknown[],
  read: (after: string | undefined) => Promise<Page<Entry>>,
  isMoving?: (entry: Entry) => boolean,
): Pages<Entry> {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      const pages = (state.data as { pages: Page<Entry>[] } | undefined)?.pages ?? [];
      const moves = isMoving !== undefined && pages.some(({ entries }) => entries.some(isMoving));
      return moves && pages.length <= MOST_READ_AGAIN ? READ_AGAIN_MS : false;
    },
  });
  const { fetchNextPage, refetch } = query;
  const onMore = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  const entries = useMemo(() => query.data?.pages.flatMap((page) => page.entries) ?? [], [query.data]);
  // A page whose filter looks at titles may be empty and go on.
  const isEmptySoFar = entries.length === 0 && query.hasNextPage && !query.isFetching;
  useEffect(() => {
    if (isEmptySoFar) void fetchNextPage();
  }, [isEmptySoFar, fetchNextPage]);
  return {
    entries,
    isPending: query.isPending,
    isReading: query.isFetching,
    error: query.error,
    onMore: query.hasNextPage ? onMore : undefined,
    refetch: () => void refetch(),
  };
}
