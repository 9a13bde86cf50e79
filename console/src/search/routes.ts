import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/search",
    validateSearch: readSearch((raw) => ({ q: textOf(raw, "q") })),
    component: lazyRouteComponent(() => import("./search"), "Search"),
  }),
] as const;
