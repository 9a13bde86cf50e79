import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/playbooks",
    validateSearch: readSearch((raw) => ({ q: textOf(raw, "q") })),
    component: lazyRouteComponent(() => import("./playbooks"), "Playbooks"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/playbooks/$playbook",
    component: lazyRouteComponent(() => import("./run-playbook"), "RunPlaybook"),
  }),
] as const;
