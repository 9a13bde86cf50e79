/** Reading a listing page by page. */

import type { Page } from "@charter/client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";

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

/** Reads pages with `read`, from the first on. */
export function usePages<Entry>(
  queryKey: readonly unknown[],
  read: (after: string | undefined) => Promise<Page<Entry>>,
): Pages<Entry> {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
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
