import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/",
    component: lazyRouteComponent(() => import("./overview"), "Overview"),
  }),
] as const;
