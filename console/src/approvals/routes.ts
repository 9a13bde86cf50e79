import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/approvals",
    validateSearch: readSearch((raw) => ({
      state: wordOf(raw, "state", ["pending", "approved", "rejected", "consumed", "lapsed"]),
    })),
    component: lazyRouteComponent(() => import("./inbox"), "Inbox"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/approvals/$approval",
    component: lazyRouteComponent(() => import("./approval"), "OneApproval"),
  }),
] as const;
