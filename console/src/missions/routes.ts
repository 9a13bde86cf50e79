import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf, wordOf } from "~/parts/search-params";
import { STATES } from "~/missions/words";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/missions",
    validateSearch: readSearch((raw) => ({ state: wordOf(raw, "state", STATES) })),
    component: lazyRouteComponent(() => import("./missions"), "Missions"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/missions/start",
    component: lazyRouteComponent(() => import("./start"), "StartMission"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/missions/$mission",
    validateSearch: readSearch((raw) => ({
      tab: wordOf(raw, "tab", ["result", "tasks", "proposals", "artifacts", "journal"]),
      /** Artifacts side by side, each as `kind/id`. */
      left: textOf(raw, "left"),
      right: textOf(raw, "right"),
    })),
    component: lazyRouteComponent(() => import("./mission"), "OneMission"),
  }),
] as const;
