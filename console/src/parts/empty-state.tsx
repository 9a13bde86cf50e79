/** Shown where there is nothing yet: what would be here, and how the first one is made. */

import { Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

import { Command } from "~/parts/command";

interface Props {
  title: string;
  /** What would be here and what it is good for. */
  children: ReactNode;
  /** The command that makes the first one. */
  command?: string;
}

export function EmptyState({ title, children, command }: Props) {
  return (
    <div className="empty-state">
      <Title order={2}>{title}</Title>
      <Text component="div" c="dimmed" mt={6} maw="38rem">
        {children}
      </Text>
      {command !== undefined && (
        <div className="empty-state-command">
          <Command text={command} />
        </div>
      )}
    </div>
  );
}
