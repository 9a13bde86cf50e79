import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";

import { readSearch, textOf, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/catalogue",
    beforeLoad: () => {
      throw redirect({ to: "/catalogue/$kind", params: { kind: "skill" }, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/catalogue/$kind",
    validateSearch: readSearch((raw) => ({
      q: textOf(raw, "q"),
      domain: textOf(raw, "domain"),
      status: wordOf(raw, "status", ["active", "inactive"]),
    })),
    component: lazyRouteComponent(() => import("./documents"), "Documents"),
  }),
] as const;
