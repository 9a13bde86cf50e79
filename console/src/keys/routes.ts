import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/keys",
    component: lazyRouteComponent(() => import("./keys"), "Keys"),
  }),
] as const;
