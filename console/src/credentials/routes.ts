import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/connect/$name",
    component: lazyRouteComponent(() => import("./connect"), "Connect"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/connected",
    component: lazyRouteComponent(() => import("./connect"), "Connected"),
  }),
] as const;
