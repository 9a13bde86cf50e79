/** The head of a screen: its title, lead, status and actions. */

import { Breadcrumbs, Group, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  /** A sentence that says what the screen shows. */
  lead?: ReactNode;
  /** The way here, as links. */
  crumbs?: ReactNode[];
  /** Beside the title: what the thing is, e.g. its status. */
  marks?: ReactNode;
  /** At the end: what can be done. */
  actions?: ReactNode;
}

export function PageHead({ title, lead, crumbs, marks, actions }: Props) {
  return (
    <header className="page-head">
      <title>{`${title} · Charter`}</title>
      {crumbs !== undefined && crumbs.length > 0 && (
        <Breadcrumbs separator="/" separatorMargin={6} className="crumbs">
          {crumbs}
        </Breadcrumbs>
      )}
      <Group justify="space-between" align="flex-start" gap="md">
        <Group gap="sm" align="center">
          <Title order={1} className="page-title">
            {title}
          </Title>
          {marks}
        </Group>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {lead !== undefined && (
        <Text c="dimmed" mt={4} maw="48rem">
          {lead}
        </Text>
      )}
    </header>
  );
}
