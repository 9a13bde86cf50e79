/** The search of a screen; `/` leads here. A change is reported after a short pause. */

import { Textarea, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { type ChangeEvent, useEffect, useState } from "react";

/** How long typing has to rest, in milliseconds. */
const REST_MS = 250;

interface Props {
  label: string;
  placeholder?: string;
  value: string;
  /** Whether pasted text keeps its line ends. */
  isMultiline?: boolean;
  onChange: (text: string) => void;
}

export function SearchField({ label, placeholder, value, isMultiline = false, onChange }: Props) {
  const [text, setText] = useState(value);
  const tell = useDebouncedCallback(onChange, REST_MS);
  // A link or the way back may change the value from outside.
  useEffect(() => setText(value), [value]);
  const shared = {
    "aria-label": label,
    placeholder: placeholder ?? label,
    leftSection: <IconSearch size={16} />,
    value: text,
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      setText(event.currentTarget.value);
      tell(event.currentTarget.value);
    },
    "data-search": true,
    className: "search-field",
  };
  return isMultiline ? <Textarea autosize minRows={1} maxRows={8} {...shared} /> : <TextInput type="search" {...shared} />;
}
