/** Asks for an API key. */

import type { CharterError } from "@charter/client";
import { Button, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";

import { Command } from "~/parts/command";
import { Failure } from "~/parts/failure";

interface Props {
  /** Why the last try failed. */
  error: CharterError | undefined;
  /** Tries a key; none asks again without one. */
  onKey: (key: string | undefined) => Promise<void>;
}

export default function SignIn({ error, onKey }: Props) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const send = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    void onKey(text.trim() === "" ? undefined : text.trim()).finally(() => setBusy(false));
  };
  return (
    <main className="sign-in">
      <title>Sign in · Charter</title>
      <form onSubmit={send} className="panel sign-in-form">
        <Stack gap="md">
          <div>
            <Title order={1}>Charter</Title>
            <Text c="dimmed" mt={4}>
              See what your agents may do, what they did and why; approve or stop them.
            </Text>
          </div>
          <PasswordInput
            label="API key"
            description="It begins with chk_. It stays in this tab and is forgotten when you close it."
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
            autoFocus
          />
          {error !== undefined && <Failure error={error} />}
          <Button type="submit" loading={busy}>
            Sign in
          </Button>
          <div>
            <Text size="sm" c="dimmed" mb={6}>
              No key yet? An administrator of your tenant makes one in the console under Keys. The first one is made
              where Charter keeps its data:
            </Text>
            <Command text="charter key --tenant acme create ann --role admin --user ann" />
          </div>
        </Stack>
      </form>
    </main>
  );
}
