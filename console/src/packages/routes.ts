import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/packages",
    component: lazyRouteComponent(() => import("./packages"), "Packages"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/packages/register",
    component: lazyRouteComponent(() => import("./register"), "Register"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/packages/$scope/$name",
    validateSearch: readSearch((raw) => ({
      from: textOf(raw, "from"),
      to: textOf(raw, "to"),
      open: textOf(raw, "open"),
      only: wordOf(raw, "only", ["added", "changed", "removed"]),
    })),
    component: lazyRouteComponent(() => import("./package"), "PackageHistory"),
  }),
] as const;
