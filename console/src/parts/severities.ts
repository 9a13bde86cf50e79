/** How bad something is, as a tone. */

import type { Finding } from "@charter/client";

import type { Tone } from "~/parts/mark";

export const SEVERITIES: Record<Finding["severity"], Tone> = {
  critical: "bad",
  high: "bad",
  medium: "warn",
  low: "calm",
  info: "calm",
};
