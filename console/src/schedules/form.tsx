/** The form of a schedule that is in no package, with the common fields. */

import { Button, JsonInput, NativeSelect, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Failure } from "~/parts/failure";
import { definitionOf, EMPTY, isTrigger, problemsOf, type ScheduleFields, type Timing, type WorkKind } from "~/schedules/definition";
import { useEnable } from "~/schedules/enabling";
import { BY_SEVERITY } from "~/schedules/words";
import { useCharter } from "~/session/session";

/** Documents that can be chosen from. */
const MOST = 1_000;

/** A field's value, and how it changes. */
interface PartProps {
  fields: ScheduleFields;
  onChange: (to: Partial<ScheduleFields>) => void;
}

/** The time zone of the browser. */
const zone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

export function ScheduleForm() {
  const { enable, secret } = useEnable();
  const [fields, setFields] = useState<ScheduleFields>(() => ({ ...EMPTY, zone: zone() }));
  const change = (to: Partial<ScheduleFields>) => setFields((now) => ({ ...now, ...to }));
  const problems = problemsOf(fields);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (problems.length === 0 && !enable.isPending) enable.mutate({ schedule: definitionOf(fields) });
      }}
    >
      <Stack gap="md" maw="46rem">
        <TextInput
          label="Schedule id"
          description="Letters, digits, dots and hyphens. An enabled schedule of the same id is replaced."
          placeholder="security.nightly"
          value={fields.id}
          onChange={(event) => change({ id: event.currentTarget.value })}
        />
        <TextInput label="Title" value={fields.title} onChange={(event) => change({ title: event.currentTarget.value })} />
        <WorkFields fields={fields} onChange={change} />
        <JsonInput
          label="Parameters"
          description="A JSON object with exact values."
          placeholder='{"region": "eu-west-1"}'
          value={fields.parameters}
          onChange={(parameters) => change({ parameters })}
          error={problems.includes("parameters") ? "This is not a JSON object." : undefined}
          autosize
          minRows={2}
        />
        <TimingFields fields={fields} onChange={change} />
        <NativeSelect
          label="While earlier work is unfinished"
          value={fields.overlap}
          data={[
            { value: "skip", label: "Skip the occurrence" },
            { value: "queue", label: "Let the occurrence wait" },
            { value: "allow", label: "Start the occurrence" },
          ]}
          onChange={(event) => change({ overlap: event.currentTarget.value as ScheduleFields["overlap"] })}
        />
      </Stack>
      <Button type="submit" mt="md" disabled={problems.length > 0} loading={enable.isPending}>
        Enable the schedule
      </Button>
      {problems.length > 0 && (
        <Text size="sm" c="dimmed" mt="xs">
          Missing or invalid: {problems.map((name) => NAMES[name] ?? name).join(", ")}.
        </Text>
      )}
      {enable.error !== null && (
        <div className="below">
          <Failure error={enable.error} />
        </div>
      )}
      {secret}
    </form>
  );
}

/** Names of fields in a sentence, if they differ from the key. */
const NAMES: Partial<Record<keyof ScheduleFields, string>> = {
  document: "skill or playbook",
  expression: "cron expression",
  zone: "time zone",
  at: "time",
  taken: "parameters from the event",
};

const WORKS: { value: WorkKind; label: string }[] = [
  { value: "skill", label: "A skill" },
  { value: "playbook", label: "A playbook" },
  { value: "mission", label: "A mission" },
];

function WorkFields({ fields: { work, document, goal }, onChange }: PartProps) {
  const charter = useCharter();
  const kind = work === "mission" ? "mission_type" : work;
  const found = useQuery({
    queryKey: ["catalogue", "of a schedule", kind],
    queryFn: () => charter.get("/v1/list/{kind}", { params: { path: { kind }, query: { limit: MOST, status: "active" } } }),
  });
  const documents = (found.data?.entries ?? []).map(({ id, title }) => ({
    value: id,
    label: title === null || title === id ? id : `${title} (${id})`,
  }));
  return (
    <>
      <NativeSelect
        label="Starts"
        value={work}
        data={WORKS}
        onChange={(event) => onChange({ work: event.currentTarget.value as WorkKind, document: "" })}
      />
      <NativeSelect
        label={work === "mission" ? "Mission type" : work === "skill" ? "Skill" : "Playbook"}
        value={document}
        data={[{ value: "", label: work === "mission" ? "general" : "Choose one" }, ...documents]}
        onChange={(event) => onChange({ document: event.currentTarget.value })}
      />
      {found.error !== null && <Failure error={found.error} />}
      {work === "mission" && (
        <Textarea label="Goal" value={goal} onChange={(event) => onChange({ goal: event.currentTarget.value })} autosize minRows={2} />
      )}
    </>
  );
}

const TIMINGS: { value: Timing; label: string }[] = [
  { value: "cron", label: "At the times of a cron expression" },
  { value: "interval", label: "At an interval" },
  { value: "once", label: "Once" },
  { value: "webhook", label: "On a signed webhook" },
  { value: "finding", label: "On a new finding of another schedule" },
];

/** Fields of a timing that are texts. */
type TextField = "expression" | "zone" | "minutes" | "at" | "types" | "jitter";

function TimingFields({ fields, onChange }: PartProps) {
  const text = (name: TextField, label: string, description: string, type = "text") => (
    <TextInput
      label={label}
      description={description}
      type={type}
      value={fields[name]}
      onChange={(event) => onChange({ [name]: event.currentTarget.value } as Partial<ScheduleFields>)}
    />
  );
  return (
    <>
      <NativeSelect
        label="When"
        value={fields.timing}
        data={TIMINGS}
        onChange={(event) => onChange({ timing: event.currentTarget.value as Timing })}
      />
      {fields.timing === "cron" && (
        <>
          {text("expression", "Cron expression", "Minute, hour, day of the month, month, day of the week.")}
          {text("zone", "Time zone", "By its IANA name: Europe/Paris.")}
        </>
      )}
      {fields.timing === "interval" && text("minutes", "Interval", "In minutes, from the time when it is enabled.")}
      {fields.timing === "once" && text("at", "Time", "In your time zone.", "datetime-local")}
      {fields.timing === "webhook" && text("types", "Accepted types", "Values of the field type, separated by commas; any if empty.")}
      {fields.timing === "finding" && (
        <NativeSelect
          label="Least severity"
          value={fields.severity}
          data={BY_SEVERITY.map((severity) => ({ value: severity, label: severity }))}
          onChange={(event) => onChange({ severity: event.currentTarget.value })}
        />
      )}
      {isTrigger(fields.timing) ? (
        <JsonInput
          label="Parameters from the event"
          description="A JSON object: parameters with JSON pointers into the event."
          placeholder='{"bucket": "/data/bucket"}'
          value={fields.taken}
          onChange={(taken) => onChange({ taken })}
          autosize
          minRows={2}
        />
      ) : (
        <>
          <NativeSelect
            label="Missed occurrences"
            value={fields.missed}
            data={[
              { value: "run_once", label: "Start the latest one late" },
              { value: "skip", label: "Start none" },
              { value: "run_all", label: "Start each, the oldest first" },
            ]}
            onChange={(event) => onChange({ missed: event.currentTarget.value as ScheduleFields["missed"] })}
          />
          {text("jitter", "Jitter", "The longest random delay of a start, in seconds. None if empty.")}
        </>
      )}
    </>
  );
}
