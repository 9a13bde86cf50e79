/** A panel of a screen with a heading. */

import { Group, Text, Title } from "@mantine/core";
import { type ReactNode, useId } from "react";

interface Props {
  title: string;
  /** What the section says, in a sentence. */
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Section({ title, lead, actions, children }: Props) {
  const id = useId();
  return (
    <section className="panel section" aria-labelledby={id}>
      <Group justify="space-between" align="baseline" gap="sm">
        <Title order={2} id={id}>
          {title}
        </Title>
        {actions}
      </Group>
      {lead !== undefined && (
        <Text size="sm" c="dimmed" mt={2}>
          {lead}
        </Text>
      )}
      <div className="section-body">{children}</div>
    </section>
  );
}
