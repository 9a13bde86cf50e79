/** Everything that a mission wrote, and any two of it side by side. */

import type { ArtifactShown } from "@charter/client";
import { Button, NativeSelect, Switch, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { nameOf } from "~/missions/artifacts-query";
import { JsonDifference } from "~/parts/difference";
import { EmptyState } from "~/parts/empty-state";
import { type Column, Listing } from "~/parts/listing";
import { LongJson } from "~/parts/long-json";
import { inWords } from "~/runs/words";

const route = getRouteApi("/missions/$mission");

export function Artifacts({ artifacts }: { artifacts: ArtifactShown[] }) {
  const { left, right } = route.useSearch();
  const navigate = route.useNavigate();
  const [asDifference, setAsDifference] = useState(false);
  const named = new Map(artifacts.map((shown) => [nameOf(shown), shown]));
  const go = (to: { left?: string | undefined; right?: string | undefined }) =>
    void navigate({ search: (now) => ({ ...now, ...to }), replace: true, resetScroll: false });
  if (artifacts.length === 0) {
    return <EmptyState title="No artifacts yet">Every stage writes what it came to; nothing is changed afterwards.</EmptyState>;
  }
  const [one, other] = [left, right].map((name) => (name === undefined ? undefined : named.get(name)));
  const choose = (side: "left" | "right", value: string | undefined) => (
    <NativeSelect
      aria-label={side === "left" ? "Artifact on the left" : "Artifact on the right"}
      value={value ?? ""}
      data={[{ value: "", label: "Choose an artifact" }, ...artifacts.map((shown) => ({ value: nameOf(shown), label: labelOf(shown) }))]}
      onChange={(event) => go({ [side]: event.currentTarget.value || undefined })}
    />
  );
  return (
    <>
      <div className="side-by-side">
        <div>
          {choose("left", left)}
          {one !== undefined && !asDifference && <Body shown={one} />}
        </div>
        <div>
          {choose("right", right)}
          {other !== undefined && !asDifference && <Body shown={other} />}
        </div>
      </div>
      {one !== undefined && other !== undefined && (
        <Switch
          my="sm"
          label="Only what differs"
          checked={asDifference}
          onChange={(event) => setAsDifference(event.currentTarget.checked)}
        />
      )}
      {one !== undefined && other !== undefined && asDifference && (
        <JsonDifference before={one.artifact} after={other.artifact} label={`${labelOf(one)} and ${labelOf(other)}`} />
      )}
      <Text size="sm" c="dimmed" py="xs">
        In the order of writing. An artifact is never changed.
      </Text>
      <Listing label="Artifacts" columns={columns(go)} rows={artifacts} rowKey={nameOf} className="outputs" />
    </>
  );
}

function labelOf({ place, kind, artifact_id }: ArtifactShown): string {
  return `${place}. ${inWords(kind)} ${artifact_id}`;
}

function Body({ shown }: { shown: ArtifactShown }) {
  const text = shown.artifact["output_text"] ?? shown.artifact["summary"];
  return (
    <div className="below">
      {typeof text === "string" && (
        <Text size="sm" className="mission-summary artifact-text" tabIndex={0}>
          {text}
        </Text>
      )}
      <LongJson value={shown.artifact} label={labelOf(shown)} />
    </div>
  );
}

function columns(go: (to: { left?: string; right?: string }) => void): Column<ArtifactShown>[] {
  return [
    { name: "Place", width: "3.5rem", align: "end", cell: ({ place }) => place },
    { name: "Kind", width: "12rem", cell: ({ kind }) => inWords(kind) },
    { name: "Id", width: "minmax(10rem, 2fr)", cell: ({ artifact_id }) => <span className="mono">{artifact_id}</span> },
    { name: "Task", width: "minmax(8rem, 1fr)", cell: ({ task_id }) => <span className="mono quiet">{task_id}</span> },
    { name: "Made by", width: "minmax(10rem, 1.4fr)", cell: ({ artifact }) => String(artifact["producer"] ?? "") },
    {
      name: "Show",
      width: "11rem",
      cell: (shown) => (
        <Button.Group>
          <Button size="compact-xs" variant="default" onClick={() => go({ left: nameOf(shown) })} aria-label={`Show ${labelOf(shown)} on the left`}>
            Left
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => go({ right: nameOf(shown) })} aria-label={`Show ${labelOf(shown)} on the right`}>
            Right
          </Button>
        </Button.Group>
      ),
    },
  ];
}
