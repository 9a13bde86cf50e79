/** Reading again what news made stale, where news may come faster than answers. */

/** Calls `read`, and once more when it came back if it was asked meanwhile. An answer that is on its way is not called off
 * for the next: else none would come while news do. `read` says itself where it failed. */
export function oneAtATime(read: () => Promise<unknown>): () => void {
  let isAsked = false;
  let isReading = false;
  const go = async () => {
    isReading = true;
    while (isAsked) {
      isAsked = false;
      await read();
    }
    isReading = false;
  };
  return () => {
    isAsked = true;
    if (!isReading) void go();
  };
}
