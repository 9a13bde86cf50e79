import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { daysOf } from "~/parts/days";
import { readSearch, textOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/evidence",
    validateSearch: readSearch((raw) => ({
      type: textOf(raw, "type"),
      system: textOf(raw, "system"),
      /** What it is attached to: a run or a finding. */
      of: textOf(raw, "of"),
      ...daysOf(raw),
    })),
    component: lazyRouteComponent(() => import("./records"), "Records"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/evidence/$id",
    component: lazyRouteComponent(() => import("./record"), "OneRecord"),
  }),
] as const;
