/** Which answers an event makes stale. The first word of a query's key is the feature that reads it. */

const TOUCHED: [prefix: string, features: string[]][] = [
  ["run.", ["runs", "approvals", "missions"]],
  ["approval.", ["approvals", "runs", "missions"]],
  ["catalogue.", ["catalogue", "packages", "routing", "lenses", "graph", "skills"]],
  ["key.", ["keys"]],
];

/** The keys of the queries that an event of this topic touches. */
export function touchedBy(topic: string): string[][] {
  const touched = TOUCHED.filter(([prefix]) => topic.startsWith(prefix));
  return touched.flatMap(([, features]) => features.map((feature) => [feature]));
}
