/** The three thresholds as sliders, with a mark where the one in force is. */

import type { Thresholds } from "@charter/client";
import { Group, Slider, Text } from "@mantine/core";
import { useEffect, useId, useState } from "react";

const SLIDERS: { name: keyof Thresholds; label: string; what: string }[] = [
  { name: "floor", label: "Floor", what: "Candidates with a lower score are dropped." },
  { name: "narrow", label: "Narrow", what: "From this score on the best one is used alone." },
  { name: "margin", label: "Margin", what: "How far it has to lead the next one, in fused score." },
];

interface Props {
  inForce: Thresholds;
  chosen: Thresholds;
  onChoose: (next: Partial<Thresholds>) => void;
}

export function Sliders({ inForce, chosen, onChoose }: Props) {
  return (
    <div className="sliders">
      {SLIDERS.map(({ name, label, what }) => (
        <Threshold
          key={name}
          label={label}
          what={what}
          inForce={inForce[name]}
          value={chosen[name]}
          onChoose={(value) => onChoose({ [name]: value })}
        />
      ))}
    </div>
  );
}

interface ThresholdProps {
  label: string;
  what: string;
  inForce: number;
  value: number;
  onChoose: (value: number) => void;
}

function Threshold({ label, what, inForce, value, onChoose }: ThresholdProps) {
  const id = useId();
  const [shown, setShown] = useState(value);
  useEffect(() => setShown(value), [value]);
  return (
    <div>
      <Group justify="space-between" gap="sm">
        <Text fw={550} id={id}>
          {label}
        </Text>
        <Text size="sm" className="mono">
          {shown.toFixed(2)}
          {Math.abs(shown - inForce) > 0.0049 && <span className="quiet"> · in force {inForce.toFixed(2)}</span>}
        </Text>
      </Group>
      <Slider
        thumbProps={{ "aria-labelledby": id }}
        min={0}
        max={1}
        step={0.01}
        label={null}
        marks={[{ value: inForce }]}
        value={shown}
        onChange={setShown}
        onChangeEnd={onChoose}
      />
      <Text size="xs" c="dimmed" mt={4}>
        {what}
      </Text>
    </div>
  );
}
