/** The calls of a list approval by tool: equal arguments once, the others for each call, and a box that includes the call. */

import type { ExactCall } from "@charter/client";
import { Button, Checkbox, Group, List, NativeSelect, Text } from "@mantine/core";
import { useState } from "react";

import { argumentsOf, type CallGroup, groupsOf, sortedBy } from "~/approvals/listed";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";

/** Calls of one tool that are drawn at first. */
const FIRST = 50;

interface Choice {
  /** Steps whose calls are excluded. */
  excluded: ReadonlySet<string>;
  /** Sets the excluded steps; absent if the caller decides nothing here. */
  onExclude?: ((excluded: ReadonlySet<string>) => void) | undefined;
}

export function Calls({ calls, excluded, onExclude }: { calls: ExactCall[] } & Choice) {
  const remaining = calls.filter(({ step }) => !excluded.has(step)).length;
  return (
    <>
      <Group gap="sm">
        <Text size="sm" role="status">
          {remaining === calls.length ? `All ${calls.length} calls are included.` : `${remaining} of ${calls.length} calls are included.`}
        </Text>
        {onExclude !== undefined && excluded.size > 0 && (
          <Button size="compact-xs" variant="default" onClick={() => onExclude(new Set())}>
            Include all
          </Button>
        )}
      </Group>
      {groupsOf(calls).map((group) => (
        <CallsOfTool key={group.tool} group={group} excluded={excluded} onExclude={onExclude} />
      ))}
    </>
  );
}

function CallsOfTool({ group, excluded, onExclude }: { group: CallGroup } & Choice) {
  const { tool, calls, common, differing } = group;
  const [order, setOrder] = useState("");
  const [isWhole, setIsWhole] = useState(false);
  const ordered = sortedBy(calls, order);
  const shown = isWhole ? ordered : ordered.slice(0, FIRST);
  return (
    <div className="below">
      <Group justify="space-between" align="center" gap="sm" mb="xs">
        <Text size="sm" fw={600}>
          <span className="mono">{tool}</span> ({calls.length})
        </Text>
        {calls.length > 1 && differing.length > 0 && (
          <NativeSelect
            size="xs"
            aria-label={`Order of the calls of ${tool}`}
            value={order}
            data={[{ value: "", label: "In the order of the plan" }, ...differing.map((name) => ({ value: name, label: `By ${name}` }))]}
            onChange={(event) => setOrder(event.currentTarget.value)}
          />
        )}
      </Group>
      {Object.keys(common).length > 0 && <LongJson value={common} label={`Arguments of all ${calls.length} calls`} />}
      <List listStyleType="none" className="queue calls" aria-label={`Calls of ${tool}`}>
        {shown.map((call) => (
          <List.Item key={call.step}>
            <ListedCall call={call} differing={differing} excluded={excluded} onExclude={onExclude} />
          </List.Item>
        ))}
      </List>
      {shown.length < calls.length && (
        <Button size="compact-sm" variant="default" mt="xs" onClick={() => setIsWhole(true)}>
          Show all {calls.length} calls
        </Button>
      )}
    </div>
  );
}

function ListedCall({ call, differing, excluded, onExclude }: { call: ExactCall; differing: string[] } & Choice) {
  const { step } = call;
  const isIncluded = !excluded.has(step);
  const include = (isOn: boolean) => {
    const others = [...excluded].filter((one) => one !== step);
    onExclude?.(new Set(isOn ? others : [...others, step]));
  };
  return (
    <>
      <Group gap="xs" mb={4}>
        {onExclude === undefined ? (
          <span className="mono">{step}</span>
        ) : (
          <Checkbox
            label={<span className="mono">{step}</span>}
            checked={isIncluded}
            onChange={(event) => include(event.currentTarget.checked)}
          />
        )}
        {!isIncluded && <Mark>excluded</Mark>}
      </Group>
      {differing.length > 0 && <LongJson value={argumentsOf(call, differing)} label={`Arguments of ${step}`} />}
    </>
  );
}
