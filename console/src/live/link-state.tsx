/** Shows in the header whether what is on the screen is live. */

import { Tooltip } from "@mantine/core";

import { useLink } from "~/live/live";

const SHOWN = {
  open: { word: "Live", tone: "good", help: "Changes show here as they happen." },
  connecting: { word: "Connecting", tone: "warn", help: "Asking the server for its events." },
  broken: {
    word: "Not live",
    tone: "bad",
    help: "The stream of events broke off. It is taken up again; until then reload to see changes.",
  },
} as const;

export function LinkMark() {
  const { state, error } = useLink();
  const shown = SHOWN[state];
  const help = error === undefined ? shown.help : `${shown.help} ${error.message}`;
  return (
    <Tooltip label={help} multiline w={280} withArrow>
      <span role="status" className="link-state" data-tone={shown.tone} tabIndex={0}>
        <span className="link-dot" aria-hidden />
        <span className="link-word">{shown.word}</span>
      </span>
    </Tooltip>
  );
}
