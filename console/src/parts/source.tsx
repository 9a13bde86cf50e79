/** A text with line numbers, such as a document's source. */

import { Group, Text } from "@mantine/core";

import { Copy } from "~/parts/command";

interface Props {
  text: string;
  /** What it is, e.g. the file. */
  label: string;
  /** The number of its first line. */
  start?: number;
}

export function Source({ text, label, start = 1 }: Props) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <figure className="source">
      <Group component="figcaption" justify="space-between" className="source-head">
        <Text size="sm" className="mono">
          {label}
        </Text>
        <Copy text={text} label="Copy the text" />
      </Group>
      <pre tabIndex={0} aria-label={label}>
        <code style={{ counterReset: `line ${start - 1}` }}>
          {lines.map((line, at) => (
            <span className="line" key={at}>
              {line}
              {"\n"}
            </span>
          ))}
        </code>
      </pre>
    </figure>
  );
}

/** A value as indented JSON. */
export function JsonSource({ value, label }: { value: unknown; label: string }) {
  return <Source text={JSON.stringify(value, null, 2)} label={label} />;
}
