/** Of a graph whose frame becomes wider or narrower: what was in the middle stays there. */

import { useReactFlow, useStore } from "@xyflow/react";
import { useEffect, useRef } from "react";

/** Has to be drawn inside its graph. */
export function KeepsCentre() {
  const { getViewport, setViewport } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const last = useRef({ width, height });
  useEffect(() => {
    const before = last.current;
    last.current = { width, height };
    // Before it was first measured nothing was in the middle.
    if (before.width === 0 || before.height === 0) return;
    const { x, y, zoom } = getViewport();
    void setViewport({ x: x + (width - before.width) / 2, y: y + (height - before.height) / 2, zoom });
  }, [width, height, getViewport, setViewport]);
  return null;
}
