/** Times, work, states and reports of schedules, in words and tones. */

import type { EnabledSchedule, ReportItem, ScheduleDefinition, ScheduleOccurrence, ScheduleReport } from "@charter/client";

import { durationOf } from "~/parts/duration";
import type { Tone } from "~/parts/mark";

export const SCHEDULE_TONES: Record<EnabledSchedule["state"], Tone> = { active: "good", paused: "calm" };

export const OCCURRENCE_TONES: Record<ScheduleOccurrence["state"], Tone> = {
  waiting: "info",
  started: "info",
  ended: "good",
  skipped: "calm",
  missed: "warn",
  failed: "bad",
};

/** How findings compare with those of the previous occurrence, in the order of a report. */
export const CHANGES: { change: ReportItem["change"]; title: string; lead: string; tone: Tone }[] = [
  { change: "new", title: "New", lead: "The previous occurrence did not find them.", tone: "warn" },
  { change: "unchanged", title: "Unchanged", lead: "The previous occurrence found them too.", tone: "calm" },
  { change: "resolved", title: "Resolved", lead: "The previous occurrence found them, and this one does not.", tone: "good" },
];

/** Severities, the most severe first. */
export const BY_SEVERITY: readonly ReportItem["severity"][] = ["critical", "high", "medium", "low", "info"];

/** When a schedule fires: `0 2 * * * (Europe/Paris)`, `every 1 h`, `once, on 1 March 2026 at 08:00`. */
export function timingOf(when: ScheduleDefinition["when"]): string {
  if ("cron" in when) return `${when.cron.expression} (${when.cron.time_zone})`;
  if ("every_s" in when) return `every ${durationOf(when.every_s * 1_000)}`;
  if ("at" in when) return `once, on ${new Date(when.at).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}`;
  if ("webhook" in when) {
    const types = when.webhook.types ?? [];
    return types.length === 0 ? "on a signed webhook" : `on a signed webhook of the type ${types.join(" or ")}`;
  }
  const filters = Object.entries(when.finding).filter(([, value]) => value !== null && value !== undefined);
  const shown = filters.map(([name, value]) => (name === "min_severity" ? `severity ${value} or more` : `${name.replaceAll("_", " ")} ${value}`));
  return ["on a new finding", ...shown].join(", ");
}

/** Whether a schedule fires at times, and not on an event. */
export function isByTime({ when }: Pick<ScheduleDefinition, "when">): boolean {
  return "cron" in when || "every_s" in when || "at" in when;
}

/** The work that a schedule starts. A document of the catalogue has a kind and an id. */
export function workOf(run: ScheduleDefinition["run"]): { what: string; kind?: "skill" | "playbook"; id?: string } {
  if ("skill" in run) return { what: "skill", kind: "skill", id: run.skill };
  if ("playbook" in run) return { what: "playbook", kind: "playbook", id: run.playbook };
  if ("mission" in run) return { what: `mission: ${run.mission.goal}` };
  return { what: "plan" };
}

/** Whether an occurrence changes without an event: it waits for its start, or its work has not ended. */
export const isUnfinished = ({ state }: Pick<ScheduleOccurrence, "state">): boolean => state === "waiting" || state === "started";

/** The numbers of a report: `2 new, 5 unchanged, 1 resolved`. */
export function numbersOf({ new: found, unchanged, resolved }: Pick<ScheduleReport, "new" | "unchanged" | "resolved">): string {
  return `${found} new, ${unchanged} unchanged, ${resolved} resolved`;
}

/** Counts items by severity, the most severe first. A severity without items is left out. */
export function countedBySeverity(items: readonly ReportItem[]): { severity: ReportItem["severity"]; findings: number }[] {
  return BY_SEVERITY.map((severity) => ({
    severity,
    findings: items.filter((item) => item.severity === severity).length,
  })).filter(({ findings }) => findings > 0);
}
