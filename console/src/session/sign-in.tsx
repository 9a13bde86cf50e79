/** Asks a user to sign in at an identity provider, or for an API key. */

import { Anchor, Button, Divider, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { Command } from "~/parts/command";
import { Failure } from "~/parts/failure";
import { leave, type Provider, providers } from "~/session/provider";

interface Props {
  /** Why the last try failed. */
  error: Error | undefined;
  /** After a sign-out: where the user ends the session at the provider too. */
  signOutUrl: string | undefined;
  /** Tries a key; none asks again without one. */
  onKey: (key: string | undefined) => Promise<void>;
}

/** One button for each provider. */
function Providers({ known }: { known: Provider[] }) {
  const leaving = useMutation({ mutationFn: leave });
  return (
    <Stack gap="sm">
      {known.map(({ issuer, label }) => (
        <Button
          key={issuer}
          loading={(leaving.isPending || leaving.isSuccess) && leaving.variables === issuer}
          onClick={() => leaving.mutate(issuer)}
        >
          Sign in with {label}
        </Button>
      ))}
      {leaving.error !== null && <Failure error={leaving.error} />}
    </Stack>
  );
}

export default function SignIn({ error, signOutUrl, onKey }: Props) {
  const [text, setText] = useState("");
  // Without an answer the form for a key remains.
  const known = useQuery({ queryKey: ["sign-in"], queryFn: providers }).data ?? [];
  const hasProviders = known.length > 0;
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
          {signOutUrl !== undefined && (
            <Text role="status">
              You are signed out of Charter. <Anchor href={signOutUrl}>Sign out of the identity provider too</Anchor>
            </Text>
          )}
          {hasProviders && <Providers known={known} />}
          {hasProviders && <Divider label="or with an API key" />}
          <PasswordInput
            label="API key"
            description="It begins with chk_. It stays in this tab and is forgotten when you close it."
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            data-autofocus={!hasProviders}
            autoFocus={!hasProviders}
          />
          {error !== undefined && <Failure error={error} />}
          <Button type="submit" variant={hasProviders ? "default" : "filled"} loading={busy}>
            {hasProviders ? "Sign in with the key" : "Sign in"}
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
