import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/schedules",
    component: lazyRouteComponent(() => import("./schedules"), "Schedules"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/schedules/enable",
    component: lazyRouteComponent(() => import("./enable"), "Enable"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/schedules/$schedule",
    component: lazyRouteComponent(() => import("./schedule"), "OneSchedule"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/schedules/$schedule/report",
    validateSearch: readSearch((raw) => ({
      /** The key of an occurrence, which may contain a slash; the latest one with a report if it is absent. */
      occurrence: textOf(raw, "occurrence"),
    })),
    component: lazyRouteComponent(() => import("./report"), "Report"),
  }),
] as const;
