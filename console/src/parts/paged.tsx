/** Draws what pages read: a skeleton until the first is there, the failure where one failed, then the entries. */

import { Text } from "@mantine/core";
import type { ReactNode } from "react";

import { Failure } from "~/parts/failure";
import { Listing, type ListingProps } from "~/parts/listing";
import { Waiting } from "~/parts/loaded";
import type { Pages } from "~/parts/pages";

interface Props<Entry> extends Pick<ListingProps<Entry>, "label" | "columns" | "rowKey" | "rowHeight" | "className"> {
  pages: Pages<Entry>;
  /** What is said where there is no entry. */
  empty: ReactNode;
}

export function Paged<Entry>({ pages, empty, ...listing }: Props<Entry>) {
  if (pages.error !== null) return <Failure error={pages.error} onRetry={pages.refetch} />;
  const isEmpty = pages.entries.length === 0;
  if (pages.isPending || (isEmpty && pages.onMore !== undefined)) return <Waiting />;
  if (isEmpty) return empty;
  return <Listing {...listing} rows={pages.entries} onMore={pages.onMore} isReading={pages.isReading} />;
}

/** How many entries were read. */
export function SoFar<Entry>({ pages, one, many }: { pages: Pages<Entry>; one: string; many: string }) {
  const count = pages.entries.length;
  return (
    <Text size="sm" c="dimmed" role="status">
      {count} {count === 1 ? one : many}
      {pages.onMore === undefined ? "" : " so far"}
    </Text>
  );
}
