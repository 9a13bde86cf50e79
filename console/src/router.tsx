/** All routes: each feature has its own in `routes.ts`. */

import { createRouter } from "@tanstack/react-router";

import { routes as catalogue } from "~/catalogue/routes";
import { routes as health } from "~/health/routes";
import { routes as home } from "~/home/routes";
import { rootRoute, ScreenFailed } from "~/shell/root";

const routeTree = rootRoute.addChildren([
  ...home,
  ...catalogue,
  ...health,
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  defaultPreload: "intent",
  defaultErrorComponent: ScreenFailed,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
