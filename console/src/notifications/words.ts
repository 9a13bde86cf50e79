/** States of notifications, and kinds of channels. */

import type { NotificationChannel, NotificationSummary } from "@charter/client";

import type { Tone } from "~/parts/mark";

export const STATE_TONES: Record<NotificationSummary["state"], Tone> = {
  pending: "info",
  delivered: "good",
  skipped: "calm",
  failed: "bad",
};

export const STATES = Object.keys(STATE_TONES) as NotificationSummary["state"][];

export const CHANNEL_KINDS: Record<NotificationChannel["kind"], string> = {
  slack: "Slack",
  email: "e-mail",
  webhook: "webhook",
};

/** Whether a notification changes without an event: it waits to be sent. */
export const isPending = ({ state }: Pick<NotificationSummary, "state">): boolean => state === "pending";
