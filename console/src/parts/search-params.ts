/** Reads the query of an address. A value that does not fit counts as absent. */

type Raw = Record<string, unknown>;

/** Reads an address with `read`; a link may leave out each part of it. */
export function readSearch<Parts>(read: (raw: Raw) => Parts): (raw: Raw) => Partial<Parts> {
  return read;
}

/** A text that is not empty. */
export function textOf(raw: Raw, name: string): string | undefined {
  const value = raw[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** One of some words. */
export function wordOf<Word extends string>(raw: Raw, name: string, words: readonly Word[]): Word | undefined {
  return words.find((word) => word === raw[name]);
}

/** A number within bounds. */
export function numberOf(raw: Raw, name: string, least: number, most: number): number | undefined {
  const value = Number(raw[name] ?? Number.NaN);
  return Number.isFinite(value) && value >= least && value <= most ? value : undefined;
}
