/** All routes: each feature has its own in `routes.ts`. */

import { createRouter } from "@tanstack/react-router";

import { routes as approvals } from "~/approvals/routes";
import { routes as catalogue } from "~/catalogue/routes";
import { routes as credentials } from "~/credentials/routes";
import { routes as evidence } from "~/evidence/routes";
import { routes as graph } from "~/graph/routes";
import { routes as health } from "~/health/routes";
import { routes as home } from "~/home/routes";
import { routes as keys } from "~/keys/routes";
import { routes as lenses } from "~/lenses/routes";
import { routes as memory } from "~/memory/routes";
import { routes as missions } from "~/missions/routes";
import { routes as notifications } from "~/notifications/routes";
import { routes as packages } from "~/packages/routes";
import { routes as playbooks } from "~/playbooks/routes";
import { routes as requests } from "~/requests/routes";
import { routes as routing } from "~/routing/routes";
import { routes as runs } from "~/runs/routes";
import { routes as schedules } from "~/schedules/routes";
import { routes as search } from "~/search/routes";
import { rootRoute, ScreenFailed } from "~/shell/root";
import { routes as skills } from "~/skills/routes";

const routeTree = rootRoute.addChildren([
  ...home,
  ...search,
  ...requests,
  ...approvals,
  ...runs,
  ...evidence,
  ...missions,
  ...playbooks,
  ...schedules,
  ...catalogue,
  ...packages,
  ...routing,
  ...skills,
  ...lenses,
  ...graph,
  ...memory,
  ...notifications,
  ...keys,
  ...credentials,
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
