/** A run's journal as a list of any length; a row leads to what the run was then. */

import type { RunEventShown } from "@charter/client";
import { UnstyledButton } from "@mantine/core";
import { memo, useMemo } from "react";

import { type Column, Listing } from "~/parts/listing";
import { Mark, type Tone } from "~/parts/mark";
import { isOver, inWords, runTone } from "~/runs/words";

interface Props {
  events: RunEventShown[];
  at: number;
  onSeek: (sequence: number) => void;
  onStep: (step: string) => void;
}

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

export const Journal = memo(function Journal({ events, at, onSeek, onStep }: Props) {
  const columns = useMemo((): Column<RunEventShown>[] => {
    const first = new Date(events[0]?.at ?? 0).getTime();
    return [
      {
        name: "Event",
        width: "5.5rem",
        align: "end",
        cell: ({ sequence }) => (
          <UnstyledButton
            className="journal-place"
            aria-current={sequence === at ? "step" : undefined}
            onClick={() => onSeek(sequence)}
            aria-label={`Show the run after event ${sequence}`}
          >
            {sequence}
          </UnstyledButton>
        ),
      },
      {
        name: "At",
        width: "7rem",
        cell: (event) => (
          <time dateTime={event.at} title={clock.format(new Date(event.at))}>
            +{((new Date(event.at).getTime() - first) / 1_000).toFixed(3)} s
          </time>
        ),
      },
      { name: "What", width: "11rem", cell: (event) => <Mark tone={toneOf(event)}>{inWords(event.event)}</Mark> },
      {
        name: "Step",
        width: "minmax(10rem, 1fr)",
        cell: (event) =>
          "step" in event && (
            <UnstyledButton className="journal-step mono" onClick={() => onStep(event.step)}>
              {event.step}
            </UnstyledButton>
          ),
      },
      {
        name: "Says",
        width: "minmax(16rem, 3fr)",
        cell: (event) => <span title={saidBy(event)}>{saidBy(event)}</span>,
      },
      { name: "Run then", width: "11.5rem", cell: ({ status }) => <Mark tone={runTone(status)}>{inWords(status)}</Mark> },
    ];
  }, [events, at, onSeek, onStep]);
  return (
    <Listing
      label="Journal"
      columns={columns}
      rows={events}
      rowKey={({ sequence }) => String(sequence)}
      className="journal"
      rowHeight={34}
    />
  );
});

function toneOf(event: RunEventShown): Tone {
  if (event.event === "step_failed" || event.event === "step_refused" || event.event === "approval_denied") return "bad";
  if (event.event === "step_succeeded" || event.event === "approval_granted") return "good";
  if (event.event === "approval_requested" || event.event === "retry_scheduled") return "warn";
  return isOver(event.status) ? runTone(event.status) : "calm";
}

/** What an event says, on one line. */
function saidBy(event: RunEventShown): string {
  switch (event.event) {
    case "started":
      return `${event.graph.steps.length} steps for ${event.by}${event.dry_run ? ", a dry run" : ""}`;
    case "confirmed":
    case "paused":
    case "resumed":
      return `by ${event.by}`;
    case "parameters_given":
      return event.missing.length === 0 ? "all of them" : `still missing: ${event.missing.join(", ")}`;
    case "step_begun":
      return `attempt ${event.attempt}; the gate: ${inWords(event.policy_decision.verdict)}`;
    case "approval_requested":
      return event.policy_decision.verdict === "needs_approval"
        ? `because of ${event.policy_decision.rules.map(({ id }) => id).join(", ")}`
        : event.approval;
    case "approval_granted":
      return `by ${event.by}`;
    case "step_succeeded":
      return `${event.duration_ms} ms, ${typeof event.source === "string" ? event.source : `reported by ${event.source.reported.by}`}`;
    case "approval_denied":
    case "step_failed":
    case "step_refused":
    case "retry_scheduled":
      return `${event.failure.code}: ${event.failure.message}`;
    case "step_expanded":
      return `items: ${(event.growth.steps ?? []).filter(({ item }) => item !== undefined).length}`;
    case "step_skipped":
      if (event.reason.because === "excluded") return `excluded from the approval by ${event.reason.by}`;
      return event.reason.because === "source" ? `because of ${event.reason.step}` : inWords(event.reason.because);
    case "waiting_for_run":
      return `until ${event.run} has ended: it requested the same call first`;
    case "run_wait_ended":
      return `${event.run}${event.run_status ? `: ${inWords(event.run_status)}` : ""}${event.restarts ? "; all steps start again" : ""}`;
    case "fallback_started":
      return `after ${event.step}`;
    case "completed":
      return (event.missing_evidence ?? []).length === 0 ? "" : `without ${event.missing_evidence?.join(", ")}`;
    case "stopping":
    case "failed":
    case "rolled_back":
    case "rollback_failed": {
      const { cause } = event;
      if (cause.because === "failure") return `${cause.step}: ${cause.failure.message}`;
      return cause.because === "aborted" ? `by ${cause.by}: ${cause.reason}` : inWords(cause.because);
    }
  }
}
