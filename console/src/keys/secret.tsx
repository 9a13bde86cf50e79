/** The text of a new key, once. */

import type { NewKey } from "@charter/client";
import { Button, Modal, Text } from "@mantine/core";

import { Command } from "~/parts/command";

export function Secret({ made, onClose }: { made: NewKey; onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`The key ${made.name}`}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Text mb="sm">
        Copy it now and keep it where secrets are kept. It is not shown again: Charter has its hash only.
      </Text>
      <Command text={made.secret} />
      <Text size="sm" c="dimmed" mt="sm" mb={6}>
        The command line takes it from a variable:
      </Text>
      <Command text={`export CHARTER_API_KEY=${made.secret}`} />
      <Button mt="md" onClick={onClose}>
        I have copied it
      </Button>
    </Modal>
  );
}
