/** A field for a question or request. */

import { Button, Textarea } from "@mantine/core";
import { type KeyboardEvent, useState } from "react";

import { Failure } from "~/parts/failure";
import { useAsk } from "~/requests/asking";

interface Props {
  label: string;
  /** The session that is continued; a new one is opened where there is none. */
  session: string | undefined;
}

export function AskForm({ label, session }: Props) {
  const ask = useAsk(session);
  const [text, setText] = useState("");
  const input = text.trim();
  const send = () => {
    if (input !== "" && !ask.isPending) ask.mutate({ input });
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Textarea
        label={label}
        description="Enter asks, Shift and Enter begin a new line."
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={pressed}
        autosize
        minRows={2}
        maxRows={12}
        maw="46rem"
        data-search
      />
      <Button type="submit" mt="sm" disabled={input === ""} loading={ask.isPending}>
        Ask
      </Button>
      {ask.error !== null && (
        <div className="below">
          <Failure error={ask.error} />
        </div>
      )}
    </form>
  );
}
