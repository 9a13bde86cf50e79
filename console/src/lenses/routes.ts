import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/lenses",
    validateSearch: readSearch((raw) => ({
      q: textOf(raw, "q"),
      domain: textOf(raw, "domain"),
    })),
    component: lazyRouteComponent(() => import("./lenses"), "Lenses"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/lenses/$id",
    validateSearch: readSearch((raw) => ({ q: textOf(raw, "q") })),
    component: lazyRouteComponent(() => import("./lens"), "Lens"),
  }),
] as const;
