import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { daysOf } from "~/parts/days";
import { numberOf, readSearch, textOf, wordOf } from "~/parts/search-params";
import { ORIGINS, STATUS_FILTERS } from "~/runs/words";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/runs",
    validateSearch: readSearch((raw) => ({
      /** The status filter: a status, `open` or `ended`. */
      status: wordOf(raw, "status", STATUS_FILTERS),
      origin: wordOf(raw, "origin", ORIGINS),
      title: textOf(raw, "title"),
      ...daysOf(raw),
    })),
    component: lazyRouteComponent(() => import("./runs"), "Runs"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/runs/$run",
    validateSearch: readSearch((raw) => ({
      step: textOf(raw, "step"),
      /** The event of the journal that the run is shown after. */
      at: numberOf(raw, "at", 1, Number.MAX_SAFE_INTEGER),
      tab: wordOf(raw, "tab", ["journal", "timeline", "values", "evidence", "versions"]),
    })),
    component: lazyRouteComponent(() => import("./run"), "OneRun"),
  }),
] as const;
