import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/ask",
    component: lazyRouteComponent(() => import("./ask"), "Ask"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/requests",
    component: lazyRouteComponent(() => import("./requests"), "Requests"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/requests/$request",
    component: lazyRouteComponent(() => import("./request"), "OneRequest"),
  }),
] as const;
