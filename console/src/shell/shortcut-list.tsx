/** The list of shortcuts. */

import { Kbd, Modal, Switch, Table } from "@mantine/core";

import { GROUPS } from "~/shell/screens";

interface Props {
  onClose: () => void;
  /** Whether single keys are shortcuts. */
  enabled: boolean;
  onEnabled: (enabled: boolean) => void;
}

export default function ShortcutList({ onClose, enabled, onEnabled }: Props) {
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" size="md">
      <Table>
        <Table.Tbody>
          <Row keys={["?"]} what="Show this list" />
          <Row keys={["Ctrl K"]} what="Search everywhere" />
          <Row keys={["/"]} what="Go to the search of the screen" />
          <Row keys={["c"]} what="Change between dark and light" />
          {GROUPS.flatMap((group) => group.screens).map(({ key, label }) => (
            <Row key={key} keys={["g", key]} what={label} />
          ))}
        </Table.Tbody>
      </Table>
      <Switch
        mt="md"
        label="Single keys are shortcuts"
        description="Turn this off if speech input or an assistive tool sends single letters. ? always works."
        checked={enabled}
        onChange={(event) => onEnabled(event.currentTarget.checked)}
      />
    </Modal>
  );
}

function Row({ keys, what }: { keys: string[]; what: string }) {
  return (
    <Table.Tr>
      <Table.Td w={90}>
        {keys.map((key, at) => (
          <span key={at}>
            {at > 0 && " "}
            <Kbd>{key}</Kbd>
          </span>
        ))}
      </Table.Td>
      <Table.Td>{what}</Table.Td>
    </Table.Tr>
  );
}
