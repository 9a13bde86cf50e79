/** What went wrong, what to do about it, and what to name when asking for help. */

import { CharterError } from "@charter/client";
import { Alert, Anchor, Button, Code, Group, Spoiler, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";

interface Props {
  error: unknown;
  /** Tries again. */
  onRetry?: () => void;
}

export function Failure({ error, onRetry }: Props) {
  const known = error instanceof CharterError ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const details = known === undefined ? {} : rest(known.details);
  const account = known === undefined ? undefined : missingAccount(known);
  return (
    <Alert
      variant="outline"
      color="red"
      role="alert"
      icon={<IconAlertTriangle size={18} />}
      title={known === undefined ? "Something went wrong" : <span className="mono">{known.code}</span>}
      className="failure"
    >
      <Text>{message}</Text>
      {known?.recommendations.map(({ text }) => (
        <Text key={text} mt={4}>
          {text}
        </Text>
      ))}
      {account !== undefined && (
        <Anchor underline="always" mt={4} renderRoot={(props) => <Link to="/connect/$name" params={{ name: account }} {...props} />}>
          Connect the account {account}
        </Anchor>
      )}
      {Object.keys(details).length > 0 && (
        <Spoiler maxHeight={90} showLabel="Show all" hideLabel="Show less" mt="xs">
          <Code block>{JSON.stringify(details, null, 2)}</Code>
        </Spoiler>
      )}
      {(onRetry !== undefined || known?.requestId !== undefined) && (
        <Group mt="sm" gap="sm">
          {onRetry !== undefined && (
            <Button size="compact-sm" variant="default" onClick={onRetry}>
              Try again
            </Button>
          )}
          {known?.requestId !== undefined && (
            <Text size="xs" c="dimmed">
              Request <span className="mono">{known.requestId}</span>
            </Text>
          )}
        </Group>
      )}
    </Alert>
  );
}

/** The credential of the account that a call lacked. */
function missingAccount({ code, details }: CharterError): string | undefined {
  const credential = details["credential"];
  return code === "credential_required" && typeof credential === "string" ? credential : undefined;
}

/** Details that the text has not said already. */
function rest(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const said = ["error_code", "documentation", "retryable"];
  return Object.fromEntries(Object.entries(details).filter(([name]) => !said.includes(name)));
}
