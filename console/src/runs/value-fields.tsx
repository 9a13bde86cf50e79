/** Fields for values that are missing: a text, or JSON. */

import { TextInput } from "@mantine/core";

/** Typed texts, by parameter. */
export type Typed = Readonly<Record<string, string>>;

interface Props {
  names: readonly string[];
  typed: Typed;
  onChange: (to: Typed) => void;
  /** Why words of a request give no value, by parameter. */
  unclear?: Readonly<Record<string, string>> | undefined;
}

export function ValueFields({ names, typed, onChange, unclear = {} }: Props) {
  return names.map((name) => (
    <TextInput
      key={name}
      label={name}
      description={[unclear[name], "A text, or JSON: 3, true, [“a”], {“b”: 1}"].filter((part) => part !== undefined).join(". ")}
      maw="30rem"
      mb="sm"
      value={typed[name] ?? ""}
      onChange={(event) => onChange({ ...typed, [name]: event.currentTarget.value })}
    />
  ));
}

/** The values that were typed; a field that is empty gives none. */
export function typedValues(typed: Typed): Record<string, unknown> {
  const given = Object.entries(typed).filter(([, text]) => text !== "");
  return Object.fromEntries(given.map(([name, text]) => [name, valueOf(text)]));
}

/** A typed text: JSON where it is JSON, else the text itself. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
