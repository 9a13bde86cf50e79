/** Everything that a mission wrote. */

import type { ArtifactShown } from "@charter/client";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";

import { useCharter } from "~/session/session";

/** Artifacts of one page. */
const PAGE = 200;

/** All artifacts of a mission, in the order in which they were written. */
export function useArtifacts(mission: string): UseQueryResult<ArtifactShown[]> {
  const charter = useCharter();
  return useQuery({
    queryKey: ["mission", mission, "artifacts"],
    queryFn: async () => {
      const found: ArtifactShown[] = [];
      let after: number | undefined;
      do {
        const query = { limit: PAGE, ...(after === undefined ? {} : { after }) };
        const page = await charter.get("/v1/missions/{id}/artifacts", {
          params: { path: { id: mission }, query },
        });
        found.push(...page.entries);
        after = page.next ?? undefined;
      } while (after !== undefined);
      return found;
    },
  });
}

/** How an artifact is named in an address. */
export function nameOf({ kind, artifact_id }: ArtifactShown): string {
  return `${kind}/${artifact_id}`;
}
