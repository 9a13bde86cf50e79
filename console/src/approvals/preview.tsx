/** The preview of a pending approval, on demand: the present state beside the state after, for each call of a list. */

import type { ApprovalEntry, ApprovalPreview, WriteEffect } from "@charter/client";
import { Anchor, Button, List, Text } from "@mantine/core";
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
      {preview.data !== undefined && <Effects preview={preview.data} />}
    </Section>
  );
}

function Effects({ preview: { calls = [], ...effect } }: { preview: ApprovalPreview }) {
  return (
    <div role="status">
      {calls.length === 0 ? <Effect effect={effect} /> : <Note note={effect.note} />}
      {calls.length > 0 && (
        <List listStyleType="none" className="queue" aria-label="Effects of the calls">
          {calls.map(({ step, ...one }) => (
            <List.Item key={step}>
              <Text size="sm" fw={600} className="mono" mb={4}>
                {step}
              </Text>
              <Effect effect={one} step={step} />
            </List.Item>
          ))}
        </List>
      )}
    </div>
  );
}

function Note({ note }: { note: string | undefined }) {
  if (note === undefined) return null;
  return (
    <Text size="sm" mb="xs">
      {sentence(note)}
    </Text>
  );
}

interface EffectProps {
  effect: WriteEffect;
  /** The step of a call of a list. */
  step?: string;
}

function Effect({ effect: { before, after, note, run_ids: runs = [] }, step }: EffectProps) {
  const isUnknown = before === undefined && after === undefined;
  return (
    <>
      <Note note={note} />
      {isUnknown && note === undefined && <Text size="sm">The tool declares no preview.</Text>}
      {!isUnknown && <States before={before} after={after} of={step === undefined ? "" : ` of ${step}`} />}
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
    </>
  );
}

/** Both states; `of` names the step in labels, with a space before it. */
function States({ before, after, of }: { before: unknown; after: unknown; of: string }) {
  if (before === undefined) return <LongJson value={after} label={`Later state${of}`} />;
  if (after === undefined) return <LongJson value={before} label={`Present state${of}`} />;
  if (JSON.stringify(before) === JSON.stringify(after)) return <Text size="sm">The state would not change.</Text>;
  return <JsonDifference before={before} after={after} label={`Present and later state${of}`} />;
}

/** A note as a sentence. */
function sentence(note: string): string {
  const end = /[.!?]$/.test(note) ? "" : ".";
  return `${note.charAt(0).toUpperCase()}${note.slice(1)}${end}`;
}
