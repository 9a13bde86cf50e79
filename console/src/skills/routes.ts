import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { readSearch, textOf, wordOf } from "~/parts/search-params";
import { rootRoute } from "~/shell/root";

export const routes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/skills",
    validateSearch: readSearch((raw) => ({
      q: textOf(raw, "q"),
      only: wordOf(raw, "only", ["folders", "leaves"]),
      skill: textOf(raw, "skill"),
      file: textOf(raw, "file"),
    })),
    component: lazyRouteComponent(() => import("./skills"), "AgentSkills"),
  }),
] as const;
