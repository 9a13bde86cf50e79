import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { numberOf, readSearch, textOf, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/routing",
    validateSearch: readSearch((raw) => ({
      q: textOf(raw, "q"),
      purpose: wordOf(raw, "purpose", ["request", "skills", "playbooks", "agents"]),
      floor: numberOf(raw, "floor", 0, 1),
      narrow: numberOf(raw, "narrow", 0, 1),
      margin: numberOf(raw, "margin", 0, 1),
    })),
    component: lazyRouteComponent(() => import("./playground"), "Playground"),
  }),
] as const;
