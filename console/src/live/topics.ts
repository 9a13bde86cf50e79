/** Which answers an event makes stale. The first word of a query's key is the feature that reads it. */

const TOUCHED: [prefix: string, features: string[]][] = [
  // A run leaves its evidence before it ends, and what it came to is shown with its request.
  ["run.", ["runs", "approvals", "missions", "evidence", "requests", "notifications"]],
  ["request.", ["requests"]],
  ["approval.", ["approvals", "runs", "missions", "notifications"]],
  ["catalogue.", ["catalogue", "packages", "routing", "lenses", "graph", "skills"]],
  ["route_example.", ["routing"]],
  ["key.", ["keys"]],
  // An occurrence starts a request, a run or a mission.
  ["schedule.", ["schedules", "requests", "runs", "missions"]],
  ["finding.", ["schedules", "notifications"]],
];

/** The features whose answers an event of this topic touches. */
export function touchedBy(topic: string): string[] {
  return TOUCHED.filter(([prefix]) => topic.startsWith(prefix)).flatMap(([, features]) => features);
}
