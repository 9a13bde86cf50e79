/** The form for a new key. */

import type { NewKey } from "@charter/client";
import { Button, Chip, Group, Modal, NativeSelect, Radio, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { Failure } from "~/parts/failure";
import { useCharter } from "~/session/session";

/** The parts of the interface; each can be read and written. */
const PARTS = ["requests", "runs", "approvals", "catalogue", "missions", "memory", "evidence", "admin"] as const;

const DAY_S = 86_400;

const LIVES = [
  { value: String(30 * DAY_S), label: "30 days" },
  { value: String(90 * DAY_S), label: "90 days" },
  { value: String(365 * DAY_S), label: "A year" },
  { value: "", label: "Until it is revoked" },
];

const LEVELS = [
  { value: "user", label: "User", what: "Asks, and steers what it started." },
  { value: "operator", label: "Operator", what: "Also decides on approvals and steers the tenant's runs." },
  { value: "admin", label: "Admin", what: "Also keeps keys and calls tools of the level admin." },
] as const;

const REACHES = [
  { value: "all", label: "All that you have" },
  { value: "agent", label: "For an agent: all but decisions" },
  { value: "some", label: "Only these" },
] as const;

type Reach = (typeof REACHES)[number]["value"];

interface Props {
  opened: boolean;
  onClose: () => void;
  onMade: (key: NewKey) => void;
}

export function MakeKey({ opened, onClose, onMade }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Make a key" size="lg">
      {opened && <Form onMade={onMade} />}
    </Modal>
  );
}

function Form({ onMade }: { onMade: (key: NewKey) => void }) {
  const charter = useCharter();
  const [name, setName] = useState("");
  const [user, setUser] = useState("");
  const [role, setRole] = useState<(typeof LEVELS)[number]["value"]>("user");
  const [tier, setTier] = useState<"basic" | "advanced">("basic");
  const [life, setLife] = useState(LIVES[1]?.value ?? "");
  const [reach, setReach] = useState<Reach>("all");
  const [scopes, setScopes] = useState<string[]>([]);
  const make = useMutation({
    mutationFn: () =>
      charter.post("/v1/keys", {
        body: {
          name,
          role,
          tier,
          user: user === "" ? null : user,
          for: reach === "agent" ? "agent" : "person",
          scopes: reach === "some" ? scopes : null,
          expires_in_s: life === "" ? null : Number(life),
        },
      }),
    onSuccess: onMade,
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <form onSubmit={send}>
      <Stack gap="md">
        <Group grow align="flex-start">
          <TextInput
            label="Name"
            description="What people call it, e.g. ci"
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <TextInput
            label="User"
            description="The user that it belongs to; you if empty"
            value={user}
            onChange={(event) => setUser(event.currentTarget.value)}
          />
        </Group>
        <Radio.Group
          label="Level"
          value={role}
          onChange={(value) => setRole(LEVELS.find((level) => level.value === value)?.value ?? "user")}
        >
          <Stack gap={6} mt={6}>
            {LEVELS.map(({ value, label, what }) => (
              <Radio key={value} value={value} label={label} description={what} />
            ))}
          </Stack>
        </Radio.Group>
        <Group grow align="flex-start">
          <NativeSelect
            label="Tier"
            description="Lenses and the expert graph are for advanced"
            value={tier}
            data={[
              { value: "basic", label: "Basic" },
              { value: "advanced", label: "Advanced" },
            ]}
            onChange={(event) => setTier(event.currentTarget.value === "advanced" ? "advanced" : "basic")}
          />
          <NativeSelect
            label="Lets in for"
            description="After that it ends by itself"
            value={life}
            data={LIVES}
            onChange={(event) => setLife(event.currentTarget.value)}
          />
        </Group>
        <Radio.Group
          label="Scopes"
          description="Parts of the interface that it opens. None includes another."
          value={reach}
          onChange={(value) => setReach(REACHES.find((reach) => reach.value === value)?.value ?? "all")}
        >
          <Group gap="md" mt={6}>
            {REACHES.map(({ value, label }) => (
              <Radio key={value} value={value} label={label} />
            ))}
          </Group>
        </Radio.Group>
        {reach === "some" && <Scopes value={scopes} onChange={setScopes} />}
        {make.error !== null && <Failure error={make.error} />}
        <Group>
          <Button type="submit" loading={make.isPending}>
            Make the key
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Scopes({ value, onChange }: { value: string[]; onChange: (scopes: string[]) => void }) {
  return (
    <Chip.Group multiple value={value} onChange={onChange}>
      <div className="scopes">
        {PARTS.map((part) => (
          <div key={part} role="group" aria-label={part}>
            <Text size="sm">{part}</Text>
            <Chip size="xs" value={`${part}:read`}>
              read<span className="unseen"> {part}</span>
            </Chip>
            <Chip size="xs" value={`${part}:write`}>
              write<span className="unseen"> {part}</span>
            </Chip>
          </div>
        ))}
      </div>
    </Chip.Group>
  );
}
