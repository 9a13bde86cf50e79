/** Counting what happened on each of the last days. */

/** The count of a day. */
export interface DayCount {
  /** `2026-03-01`, where the reader is. */
  day: string;
  total: number;
  /** Of those, the ones that went wrong. */
  bad: number;
}

const DAY = new Intl.DateTimeFormat("sv-SE");

/** The day of a moment, where the reader is. */
export function dayOf(at: string | Date): string {
  return DAY.format(new Date(at));
}

/** The last days, today included, oldest first. */
export function lastDays(count: number, now: Date): string[] {
  return Array.from({ length: count }, (_, at) => {
    const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - (count - 1 - at), 12);
    return dayOf(day);
  });
}

/** When the first of the last days began. */
export function startOf(count: number, now: Date): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - (count - 1)).toISOString();
}

/** Entries by the day on which they began. What began on another day is left out. */
export function countedByDay<Entry extends { created_at: string }>(
  entries: readonly Entry[],
  days: readonly string[],
  isBad: (entry: Entry) => boolean,
): DayCount[] {
  const counts = new Map(days.map((day): [string, DayCount] => [day, { day, total: 0, bad: 0 }]));
  for (const entry of entries) {
    const count = counts.get(dayOf(entry.created_at));
    if (count === undefined) continue;
    count.total += 1;
    if (isBad(entry)) count.bad += 1;
  }
  return [...counts.values()];
}

/** The middle of some numbers; absent where there are none. */
export function medianOf(numbers: readonly number[]): number | undefined {
  const sorted = [...numbers].sort((one, other) => one - other);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2;
}
