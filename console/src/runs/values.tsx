/** Values of parameters, each with where it comes from. */

import type { ParameterShown, ValueSource } from "@charter/client";
import { Anchor, Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { LongJson } from "~/parts/long-json";

/** Values whose JSON is longer are shown line by line. */
const ONE_LINE = 200;

const GIVEN: ValueSource = { from: "given" };

/** The values of a run. A value whose source the run does not name was given by the caller. */
export function valuesOf(parameters: Record<string, unknown>, sources: Record<string, ValueSource>): ParameterShown[] {
  return Object.entries(parameters).map(([name, value]) => ({ name, value, ...(sources[name] ?? GIVEN) }));
}

export function Values({ values, label }: { values: ParameterShown[]; label: string }) {
  return (
    <div className="wide" tabIndex={0} role="region" aria-label={`${label}, to be scrolled sideways`}>
      <Table verticalSpacing={6} aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Parameter</Table.Th>
            <Table.Th>Value</Table.Th>
            <Table.Th>From</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {values.map((shown) => (
            <Table.Tr key={`${shown.name} ${JSON.stringify(shown.value)} ${shown.from}`}>
              <Table.Td className="mono">{shown.name}</Table.Td>
              <Table.Td className="value">
                <Value value={shown.value} name={shown.name} />
              </Table.Td>
              <Table.Td>
                <Source source={shown} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Value({ value, name }: { value: unknown; name: string }) {
  const text = JSON.stringify(value);
  return text.length > ONE_LINE ? <LongJson value={value} label={name} /> : <span className="mono">{text}</span>;
}

function Source({ source }: { source: ValueSource }) {
  switch (source.from) {
    case "given":
      return "given by the caller";
    case "sentence":
      return <>the words “{source.words}”</>;
    case "session":
      return (
        <>
          the session:{" "}
          <Anchor
            underline="always"
            renderRoot={(props) => (
              <Link to="/requests/$request" params={{ request: source.request_id }} {...props} />
            )}
          >
            an earlier request
          </Anchor>
        </>
      );
    case "request_context":
      return (
        <>
          the request&apos;s context: <span className="mono">{source.field}</span>
        </>
      );
    case "memory":
      return (
        <Anchor underline="always" renderRoot={(props) => <Link to="/memory/$id" params={{ id: source.memory_id }} {...props} />}>
          a memory
        </Anchor>
      );
    case "model":
      return (
        <>
          drafted by the model <span className="mono">{source.model}</span>
        </>
      );
    case "default":
      return "the default";
  }
}
