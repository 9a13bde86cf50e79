/** Which answers an event makes stale. The first word of a query's key is the feature that reads it. */

const TOUCHED: [prefix: string, features: string[]][] = [
  // A run leaves its evidence before it ends, and what it came to is shown with its request.
  ["run.", ["runs", "approvals", "missions", "evidence", "requests"]],
  ["request.", ["requests"]],
  ["approval.", ["approvals", "runs", "missions"]],
  ["catalogue.", ["catalogue", "packages", "routing", "lenses", "graph", "skills"]],
  ["route_example.", ["routing"]],
  ["key.", ["keys"]],
  ["schedule.", ["schedules", "runs"]],
  ["finding.", ["schedules"]],
];

/** The features whose answers an event of this topic touches. */
export function touchedBy(topic: string): string[] {
  return TOUCHED.filter(([prefix]) => topic.startsWith(prefix)).flatMap(([, features]) => features);
}
