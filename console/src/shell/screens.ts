/**
 * The screens in the navigation: a new one is a line here, and a route in its feature's `routes.ts`.
 */

import {
  IconActivityHeartbeat,
  IconBell,
  IconBinaryTree,
  IconBook2,
  IconBrain,
  IconCalendarTime,
  IconHistory,
  IconHome,
  IconKey,
  IconListCheck,
  IconListDetails,
  IconMessageQuestion,
  IconPackage,
  IconPlayerPlay,
  IconRosetteDiscountCheck,
  IconRoute,
  IconSearch,
  IconTargetArrow,
  IconTopologyStar3,
  IconUserCheck,
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
      { to: "/search", label: "Search", icon: IconSearch, key: "f" },
      { to: "/ask", label: "Ask", icon: IconMessageQuestion, key: "q" },
      { to: "/requests", label: "Requests", icon: IconHistory, key: "u" },
      { to: "/approvals", label: "Approvals", icon: IconUserCheck, key: "a" },
      { to: "/runs", label: "Runs", icon: IconPlayerPlay, key: "r" },
      { to: "/evidence", label: "Evidence", icon: IconRosetteDiscountCheck, key: "e" },
      { to: "/missions", label: "Missions", icon: IconTargetArrow, key: "m" },
      { to: "/playbooks", label: "Playbooks", icon: IconListCheck, key: "b" },
      { to: "/schedules", label: "Schedules", icon: IconCalendarTime, key: "w" },
    ],
  },
  {
    label: "Catalogue",
    screens: [
      { to: "/catalogue", label: "Documents", icon: IconListDetails, key: "d" },
      { to: "/packages", label: "Packages", icon: IconPackage, key: "p" },
      { to: "/routing", label: "Routing", icon: IconRoute, key: "t" },
    ],
  },
  {
    label: "Knowledge",
    screens: [
      { to: "/skills", label: "Agent skills", icon: IconBinaryTree, key: "s" },
      { to: "/lenses", label: "Lenses", icon: IconBook2, key: "l" },
      { to: "/graph", label: "Expert graph", icon: IconTopologyStar3, key: "x" },
      { to: "/memory", label: "Memory", icon: IconBrain, key: "y" },
    ],
  },
  {
    label: "Administration",
    screens: [
      { to: "/notifications", label: "Notifications", icon: IconBell, key: "n" },
      { to: "/keys", label: "Keys", icon: IconKey, key: "k" },
      { to: "/health", label: "Health and quotas", icon: IconActivityHeartbeat, key: "h" },
    ],
  },
];

