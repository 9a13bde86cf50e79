import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/health",
    component: lazyRouteComponent(() => import("./health"), "Health"),
  }),
] as const;
