/** Keys of the tenant: made, replaced and ended. A secret is shown once, when it is made. */

import type { NewKey, KeyShown } from "@charter/client";
import { Button, Group, Modal, NumberInput, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { MakeKey } from "~/keys/make-key";
import { Secret } from "~/keys/secret";
import { EmptyState } from "~/parts/empty-state";
import { Failure } from "~/parts/failure";
import type { Column } from "~/parts/listing";
import { Mark, type Tone } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { useCharter } from "~/session/session";

const PAGE = 200;
const HOUR_S = 3_600;

/** What is being done about a key. */
type Doing = { what: "make" } | { what: "rotate" | "revoke"; key: KeyShown };

export function Keys() {
  const charter = useCharter();
  const queries = useQueryClient();
  const [doing, setDoing] = useState<Doing | undefined>();
  const [made, setMade] = useState<NewKey | undefined>();
  const pages = usePages<KeyShown>(["keys"], (after) =>
    charter.get("/v1/keys", { params: { query: { limit: PAGE, ...(after === undefined ? {} : { after }) } } }),
  );
  const done = (key?: NewKey) => {
    setDoing(undefined);
    setMade(key);
    void queries.invalidateQueries({ queryKey: ["keys"] });
  };
  return (
    <>
      <PageHead
        title="Keys"
        lead="A key belongs to a user of your tenant and has the rights of that user. Charter stores only its hash."
        actions={
          <Button size="xs" onClick={() => setDoing({ what: "make" })}>
            Make a key
          </Button>
        }
      />
      <Paged
        pages={pages}
        label="Keys"
        columns={columns(setDoing)}
        rowKey={({ key_id }) => key_id}
        rowHeight={48}
        empty={
          <EmptyState title="No keys yet" command="charter key create ci --role operator --scope catalogue:write">
            Without keys, this server accepts only connections from its own machine. After the first key is created, every
            caller needs a key, also on this machine.
          </EmptyState>
        }
      />
      <MakeKey opened={doing?.what === "make"} onClose={() => setDoing(undefined)} onMade={done} />
      {doing?.what === "rotate" && <Rotate shown={doing.key} onClose={() => setDoing(undefined)} onMade={done} />}
      {doing?.what === "revoke" && <Revoke shown={doing.key} onClose={() => setDoing(undefined)} onDone={done} />}
      {made !== undefined && <Secret made={made} onClose={() => setMade(undefined)} />}
    </>
  );
}

const TONES: Record<KeyShown["state"], Tone> = { live: "good", expired: "calm", revoked: "bad" };

/** Scopes in a few words. */
function opened(scopes: string[]): string {
  if (scopes.includes("*")) return "all scopes";
  return scopes.length <= 2 ? scopes.join(", ") : `${scopes.length} scopes`;
}

function columns(onDo: (doing: Doing) => void): Column<KeyShown>[] {
  return [
    {
      name: "Name",
      width: "minmax(11rem, 1.5fr)",
      cell: ({ name, key_id }) => (
        <>
          <div>{name}</div>
          <div className="quiet mono clipped" title={key_id}>
            {key_id}
          </div>
        </>
      ),
    },
    { name: "State", width: "6rem", cell: ({ state }) => <Mark tone={TONES[state]}>{state}</Mark> },
    { name: "User", width: "minmax(6rem, 0.8fr)", cell: ({ user }) => user },
    {
      name: "May",
      width: "minmax(12rem, 2fr)",
      cell: ({ role, tier, catalogue, scopes }) => (
        <span title={`Scopes: ${scopes.join(", ")}`}>
          <Mark tone={role === "admin" ? "warn" : "info"}>{role}</Mark> {tier}, catalogue {catalogue},{" "}
          {opened(scopes)}
        </span>
      ),
    },
    {
      name: "Last used",
      width: "8rem",
      cell: ({ last_used_at }) => (last_used_at === null ? "never" : <Moment at={last_used_at} />),
    },
    {
      name: "Ends",
      width: "8rem",
      cell: ({ expires_at, revoked_at }) => {
        const end = revoked_at ?? expires_at;
        return end === null ? "not by itself" : <Moment at={end} />;
      },
    },
    {
      name: "Actions",
      width: "11rem",
      align: "end",
      cell: (key) =>
        key.state === "live" && (
          <Group gap={6} justify="flex-end" wrap="nowrap">
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Rotate ${key.name}`}
              onClick={() => onDo({ what: "rotate", key })}
            >
              Rotate
            </Button>
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Revoke ${key.name}`}
              onClick={() => onDo({ what: "revoke", key })}
            >
              Revoke
            </Button>
          </Group>
        ),
    },
  ];
}

function Rotate({ shown, onClose, onMade }: { shown: KeyShown; onClose: () => void; onMade: (key: NewKey) => void }) {
  const charter = useCharter();
  const [hours, setHours] = useState<number | string>(24);
  const rotate = useMutation({
    mutationFn: () =>
      charter.post("/v1/keys/{id}/rotate", {
        params: { path: { id: shown.key_id } },
        body: { overlap_s: Math.round(Number(hours) * HOUR_S) },
      }),
    onSuccess: onMade,
  });
  return (
    <Modal opened onClose={onClose} title={`Rotate ${shown.name}`}>
      <Text mb="md">A new key with the same rights replaces it. The old key stays valid for a while, so that its users can change over.</Text>
      <NumberInput
        label="The old key lets in for"
        description="Hours; 0 ends it at once, 720 is the most."
        suffix=" h"
        min={0}
        max={720}
        value={hours}
        onChange={setHours}
      />
      {rotate.error !== null && <Failure error={rotate.error} />}
      <Group mt="md" gap="sm">
        <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
          Make the new key
        </Button>
        <Button variant="default" onClick={onClose}>
          Leave it
        </Button>
      </Group>
    </Modal>
  );
}

function Revoke({ shown, onClose, onDone }: { shown: KeyShown; onClose: () => void; onDone: () => void }) {
  const charter = useCharter();
  const revoke = useMutation({
    mutationFn: () => charter.post("/v1/keys/{id}/revoke", { params: { path: { id: shown.key_id } } }),
    onSuccess: () => onDone(),
  });
  return (
    <Modal opened onClose={onClose} title={`Revoke ${shown.name}?`}>
      <Text>
        Every process rejects the key from the next request on. Requests that have started continue. This cannot be
        undone.
      </Text>
      {revoke.error !== null && <Failure error={revoke.error} />}
      <Group mt="md" gap="sm">
        <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke the key
        </Button>
        <Button variant="default" onClick={onClose}>
          Keep it
        </Button>
      </Group>
    </Modal>
  );
}
