import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/memory",
    validateSearch: readSearch((raw) => ({
      q: textOf(raw, "q"),
      tag: textOf(raw, "tag"),
      show: wordOf(raw, "show", ["proposed"]),
    })),
    component: lazyRouteComponent(() => import("./memories"), "Memories"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/memory/$id",
    component: lazyRouteComponent(() => import("./memory"), "Memory"),
  }),
] as const;
