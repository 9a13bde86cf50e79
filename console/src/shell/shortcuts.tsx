/** Keys that lead somewhere: `?` lists them, `/` goes to the search, `g` and a letter to a screen. */

import { Kbd, Modal, Switch, Table } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { GROUPS } from "~/shell/screens";

/** How long `g` waits for its letter, in milliseconds. */
const WAIT_MS = 1_500;

/** Whether somebody is typing, so that letters are letters. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

interface Props {
  opened: boolean;
  onOpen: () => void;
  onClose: () => void;
  onScheme: () => void;
}

/** Listens for shortcuts, and shows their list. */
export function Shortcuts({ opened, onOpen, onClose, onScheme }: Props) {
  const navigate = useNavigate();
  const [enabled, setEnabled] = useLocalStorage({ key: "charter.shortcuts", defaultValue: true });
  const [begun, setBegun] = useState(0);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "?") return onOpen();
      if (!enabled) return;
      const screens = GROUPS.flatMap((group) => group.screens);
      const screen = screens.find(({ key }) => key === event.key);
      if (Date.now() - begun < WAIT_MS && screen !== undefined) {
        setBegun(0);
        event.preventDefault();
        return void navigate({ to: screen.to });
      }
      if (event.key === "g") setBegun(Date.now());
      if (event.key === "c") onScheme();
      if (event.key === "/") {
        const search = document.querySelector<HTMLInputElement>("[data-search]");
        if (search !== null) event.preventDefault();
        search?.focus();
      }
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [begun, enabled, navigate, onOpen, onScheme]);

  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts" size="md">
      <Table>
        <Table.Tbody>
          <Row keys={["?"]} what="Show this list" />
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
        onChange={(event) => setEnabled(event.currentTarget.checked)}
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
