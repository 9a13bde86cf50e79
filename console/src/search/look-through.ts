/** Looks through a listing page by page. */

import type { Page } from "@charter/client";

/** Hits of one source. */
export const MOST_HITS = 8;

/** Entries of a listing that are looked through. */
const MOST_READ = 1_000;

/** Pages of a listing that are read: a page of a filtered listing may have few entries. */
const MOST_PAGES = 10;

/** The part of a listing that was read. */
export interface Reading<Entry> {
  /** The entries that fit, in the order of the listing. */
  found: Entry[];
  /** The number of entries that were read. */
  read: number;
  /** Whether the whole listing was read. */
  isWhole: boolean;
}

/** Reads pages until there are enough hits, the listing ends, or its bound is reached. */
export async function lookThrough<Entry>(
  page: (after: string | undefined) => Promise<Page<Entry>>,
  fits: (entry: Entry) => boolean,
): Promise<Reading<Entry>> {
  const found: Entry[] = [];
  let read = 0;
  let after: string | undefined;
  for (let pages = 0; pages < MOST_PAGES && read < MOST_READ && found.length < MOST_HITS; pages++) {
    const { entries, next } = await page(after);
    found.push(...entries.filter(fits));
    read += entries.length;
    after = next ?? undefined;
    if (after === undefined) return { found, read, isWhole: true };
  }
  return { found, read, isWhole: false };
}
