/** The preview of a pending approval, on demand: the present state of the target beside the state after the call. */

import type { ApprovalEntry, ApprovalPreview } from "@charter/client";
import { Anchor, Button, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { JsonDifference } from "~/parts/difference";
import { Failure } from "~/parts/failure";
import { LongJson } from "~/parts/long-json";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

export function Preview({ approval: { approval_id: id } }: { approval: ApprovalEntry }) {
  const charter = useCharter();
  const preview = useMutation({
    mutationFn: () => charter.post("/v1/approvals/{id}/preview", { params: { path: { id } } }),
  });
  return (
    <Section
      title="Effect"
      lead="A preview changes nothing. It runs a dry run or readonly tools in your name, as the tool declares."
      actions={
        <Button size="compact-sm" variant="default" loading={preview.isPending} onClick={() => preview.mutate()}>
          Preview
        </Button>
      }
    >
      {preview.data === undefined && preview.error === null && (
        <Text size="sm" c="dimmed">
          No preview yet.
        </Text>
      )}
      {preview.error !== null && <Failure error={preview.error} />}
      {preview.data !== undefined && <Effect preview={preview.data} />}
    </Section>
  );
}

function Effect({ preview: { before, after, note, run_ids: runs = [] } }: { preview: ApprovalPreview }) {
  const isUnknown = before === undefined && after === undefined;
  return (
    <div role="status">
      {note !== undefined && (
        <Text size="sm" mb="xs">
          {sentence(note)}
        </Text>
      )}
      {isUnknown && note === undefined && <Text size="sm">The tool declares no preview.</Text>}
      {!isUnknown && <States before={before} after={after} />}
      {runs.length > 0 && (
        <Text size="sm" c="dimmed" mt="xs">
          Made by{" "}
          {runs.map((run, at) => (
            <span key={run}>
              {at > 0 && ", "}
              <Anchor className="mono" renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>
                {run}
              </Anchor>
            </span>
          ))}
          .
        </Text>
      )}
    </div>
  );
}

function States({ before, after }: { before: unknown; after: unknown }) {
  if (before === undefined) return <LongJson value={after} label="State after" />;
  if (after === undefined) return <LongJson value={before} label="Present state" />;
  if (JSON.stringify(before) === JSON.stringify(after)) return <Text size="sm">The state would not change.</Text>;
  return <JsonDifference before={before} after={after} label="Present state and state after" />;
}

/** A note as a sentence. */
function sentence(note: string): string {
  const end = /[.!?]$/.test(note) ? "" : ".";
  return `${note.charAt(0).toUpperCase()}${note.slice(1)}${end}`;
}
