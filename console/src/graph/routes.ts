import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { numberOf, readSearch, textOf, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/graph",
    validateSearch: readSearch((raw) => ({
      view: wordOf(raw, "view", ["paths", "coverage", "unremediated"]),
      node: textOf(raw, "node"),
      depth: numberOf(raw, "depth", 1, 10),
      direction: wordOf(raw, "direction", ["in", "out"]),
      framework: textOf(raw, "framework"),
    })),
    component: lazyRouteComponent(() => import("./graph"), "ExpertGraph"),
  }),
] as const;
