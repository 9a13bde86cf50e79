/**
 * The screens in the navigation: a new one is a line here, and a route in its feature's `routes.ts`.
 */

import {
  IconActivityHeartbeat,
  IconHome,
  IconListDetails,
  type TablerIcon,
} from "@tabler/icons-react";

/** One screen of the navigation. */
export interface Screen {
  /** Its path below `/console`. */
  to: string;
  label: string;
  icon: TablerIcon;
  /** The second letter of its shortcut, after `g`. */
  key: string;
}

/** Screens by what they are for. */
export const GROUPS: { label: string; screens: Screen[] }[] = [
  {
    label: "Work",
    screens: [
      { to: "/", label: "Overview", icon: IconHome, key: "o" },
    ],
  },
  {
    label: "Catalogue",
    screens: [
      { to: "/catalogue", label: "Documents", icon: IconListDetails, key: "d" },
    ],
  },
  {
    label: "Administration",
    screens: [
      { to: "/health", label: "Health and quotas", icon: IconActivityHeartbeat, key: "h" },
    ],
  },
];

