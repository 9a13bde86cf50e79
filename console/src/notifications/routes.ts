import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { STATES } from "~/notifications/words";
import { readSearch, textOf, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/notifications",
    validateSearch: readSearch((raw) => ({ state: wordOf(raw, "state", STATES), channel: textOf(raw, "channel") })),
    component: lazyRouteComponent(() => import("./notifications"), "Notifications"),
  }),
] as const;
