import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";

import { numberOf, readSearch, textOf, wordOf } from "~/parts/search-params";
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
      package: textOf(raw, "package"),
    })),
    component: lazyRouteComponent(() => import("./documents"), "Documents"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/catalogue/$kind/$id",
    validateSearch: readSearch((raw) => ({
      view: wordOf(raw, "view", ["layers", "dependencies"]),
      depth: numberOf(raw, "depth", 1, 10),
    })),
    component: lazyRouteComponent(() => import("./document"), "Document"),
  }),
] as const;
