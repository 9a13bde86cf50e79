/** What a claim cites, as links: evidence where there is some, else the step or the artifact. */

import type { ArtifactShown } from "@charter/client";
import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { nameOf } from "~/missions/artifacts-query";
import { evidenceOf } from "~/runs/evidence-of";
import { useCharter } from "~/session/session";

/** What references of a mission lead to. */
export interface Cited {
  mission: string;
  run: string;
  artifacts: Map<string, ArtifactShown>;
  /** Records of evidence by the step of the run that they are from. */
  evidence: Map<string, string[]>;
}

/** Reads what references lead to. Evidence of a mission is written when its run ends: the event of that makes it stale. */
export function useCited(mission: string, run: string, artifacts: ArtifactShown[]): Cited {
  const charter = useCharter();
  const records = useQuery({ queryKey: ["mission", mission, "evidence"], queryFn: () => evidenceOf(charter, run) });
  const evidence = new Map<string, string[]>();
  for (const { id, step } of records.data ?? []) {
    if (step !== undefined) evidence.set(step, [...(evidence.get(step) ?? []), id]);
  }
  return { mission, run, artifacts: new Map(artifacts.map((shown) => [shown.artifact_id, shown])), evidence };
}

export function Citations({ refs, cited }: { refs: string[]; cited: Cited }) {
  return (
    <span className="citations">
      {refs.map((ref) => (
        <Citation key={ref} citation={ref} cited={cited} />
      ))}
    </span>
  );
}

function Citation({ citation, cited }: { citation: string; cited: Cited }) {
  const records = citation.startsWith("ev_") ? [citation] : cited.evidence.get(citation);
  if (records !== undefined) {
    return records.map((id) => (
      <Anchor key={id} className="citation" data-tone="good" renderRoot={(props) => <Link to="/evidence/$id" params={{ id }} {...props} />}>
        evidence {citation}
      </Anchor>
    ));
  }
  const artifact = cited.artifacts.get(citation) ?? cited.artifacts.get(citation.replace(/[#./]\d+$/, ""));
  if (artifact !== undefined) {
    return (
      <Anchor
        className="citation"
        data-tone="info"
        renderRoot={(props) => (
          <Link
            to="/missions/$mission"
            params={{ mission: cited.mission }}
            search={{ tab: "artifacts", left: nameOf(artifact) }}
            {...props}
          />
        )}
      >
        {citation}
      </Anchor>
    );
  }
  if (citation.startsWith("call.")) {
    return (
      <Anchor
        className="citation"
        data-tone="calm"
        renderRoot={(props) => <Link to="/runs/$run" params={{ run: cited.run }} search={{ step: citation }} {...props} />}
      >
        {citation}
      </Anchor>
    );
  }
  return (
    <span className="citation" data-tone="calm">
      {citation}
    </span>
  );
}
