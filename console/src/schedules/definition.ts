/** The form of a schedule's definition, and the definition that it makes. */

/** The kind of time or event that starts a schedule. */
export type Timing = "cron" | "interval" | "once" | "webhook" | "finding";

/** The kind of work that a schedule starts. */
export type WorkKind = "skill" | "playbook" | "mission";

/** The fields of the form. */
export interface ScheduleFields {
  id: string;
  title: string;
  work: WorkKind;
  /** The id of the skill or playbook, or of the mission type. */
  document: string;
  goal: string;
  timing: Timing;
  expression: string;
  zone: string;
  minutes: string;
  /** A time as a field for dates and times has it: `2026-03-01T08:00`. */
  at: string;
  types: string;
  severity: string;
  /** A JSON object. */
  parameters: string;
  /** A JSON object: parameters with JSON pointers into the event. */
  taken: string;
  overlap: "skip" | "queue" | "allow";
  missed: "run_once" | "skip" | "run_all";
  jitter: string;
}

export const EMPTY: ScheduleFields = {
  id: "",
  title: "",
  work: "skill",
  document: "",
  goal: "",
  timing: "cron",
  expression: "0 2 * * *",
  zone: "UTC",
  minutes: "60",
  at: "",
  types: "",
  severity: "high",
  parameters: "",
  taken: "",
  overlap: "skip",
  missed: "run_once",
  jitter: "",
};

/** Whether work starts on an event, and not at a time. */
export const isTrigger = (timing: Timing): boolean => timing === "webhook" || timing === "finding";

/** The names of the fields that are missing or wrong. */
export function problemsOf(fields: ScheduleFields): (keyof ScheduleFields)[] {
  const wrong: [keyof ScheduleFields, boolean][] = [
    ["id", !/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(fields.id.trim())],
    ["title", fields.title.trim() === ""],
    ["document", fields.work !== "mission" && fields.document === ""],
    ["goal", fields.work === "mission" && fields.goal.trim() === ""],
    ["expression", fields.timing === "cron" && fields.expression.trim().split(/\s+/).length !== 5],
    ["zone", fields.timing === "cron" && fields.zone.trim() === ""],
    ["minutes", fields.timing === "interval" && !isCount(fields.minutes)],
    ["at", fields.timing === "once" && Number.isNaN(new Date(fields.at).getTime())],
    ["parameters", objectOf(fields.parameters) === undefined],
    ["taken", isTrigger(fields.timing) && objectOf(fields.taken) === undefined],
    ["jitter", !isTrigger(fields.timing) && fields.jitter.trim() !== "" && !isCount(fields.jitter)],
  ];
  return wrong.filter(([, isWrong]) => isWrong).map(([name]) => name);
}

/** The definition of a schedule, as the server takes it. The fields must have no problem. */
export function definitionOf(fields: ScheduleFields): Record<string, unknown> {
  const parameters = objectOf(fields.parameters) ?? {};
  const taken = objectOf(fields.taken) ?? {};
  const byEvent = isTrigger(fields.timing);
  return {
    schedule_id: fields.id.trim(),
    title: fields.title.trim(),
    when: whenOf(fields),
    run: runOf(fields),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(byEvent && Object.keys(taken).length > 0 ? { parameters_from: taken } : {}),
    overlap: fields.overlap,
    ...(byEvent ? {} : { missed: fields.missed }),
    ...(byEvent || fields.jitter.trim() === "" ? {} : { jitter_s: Number(fields.jitter) }),
  };
}

function whenOf({ timing, expression, zone, minutes, at, types, severity }: ScheduleFields): object {
  switch (timing) {
    case "cron":
      return { cron: { expression: expression.trim().split(/\s+/).join(" "), time_zone: zone.trim() } };
    case "interval":
      return { every_s: Number(minutes) * 60 };
    case "once":
      return { at: new Date(at).toISOString() };
    case "webhook":
      return { webhook: { types: types.split(",").flatMap((type) => (type.trim() === "" ? [] : [type.trim()])) } };
    case "finding":
      return { finding: severity === "" ? {} : { min_severity: severity } };
  }
}

function runOf({ work, document, goal }: ScheduleFields): object {
  if (work !== "mission") return { [work]: document };
  return { mission: { goal: goal.trim(), ...(document === "" ? {} : { mission_type: document }) } };
}

/** A JSON object; empty for an empty text, `undefined` for anything else. */
function objectOf(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const isCount = (text: string): boolean => /^[1-9]\d*$/.test(text.trim());
