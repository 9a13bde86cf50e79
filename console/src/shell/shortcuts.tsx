/** Keys that lead somewhere: `?` lists them, `/` goes to the search, `g` and a letter to a screen. */

import { useLocalStorage } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";

import { GROUPS } from "~/shell/screens";

const ShortcutList = lazy(() => import("./shortcut-list"));

/** How long `g` waits for its letter, in milliseconds. */
const WAIT_MS = 1_500;

/** Whether the user is typing into a field: letters are no shortcuts then. */
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
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        return void navigate({ to: "/search" });
      }
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

  if (!opened) return null;
  return (
    <Suspense fallback={null}>
      <ShortcutList onClose={onClose} enabled={enabled} onEnabled={setEnabled} />
    </Suspense>
  );
}
