/** Colours, sizes and type. The contrast of text against its background is at least 4.5 to 1, in both schemes. */

import {
  createTheme,
  type CSSVariablesResolver,
  localStorageColorSchemeManager,
  type MantineColorsTuple,
} from "@mantine/core";

/** The accent: a blue green. */
const lake: MantineColorsTuple = [
  "#e6f6fb",
  "#d3e9f1",
  "#a8d2e1",
  "#7abbd1",
  "#54a7c3",
  "#3b9abb",
  "#1c7f9f",
  "#1c6f8c",
  "#0b6079",
  "#004f66",
];

/** Greys of the dark scheme, from text to ground, with a little of the accent in them. */
const dark: MantineColorsTuple = [
  "#d3dae0",
  "#bac4cd",
  "#97a4b0",
  "#6c7a86",
  "#2d353d",
  "#262e35",
  "#1c2329",
  "#14181c",
  "#101418",
  "#0b0e11",
];

/** For actions that delete or end something: Mantine's reds, with darker ones for filled buttons, whose text is white. */
const red: MantineColorsTuple = [
  "#fff5f5",
  "#ffe3e3",
  "#ffc9c9",
  "#ffa8a8",
  "#ff8787",
  "#ff6b6b",
  "#fa5252",
  "#d32f2f",
  "#c92a2a",
  "#b02525",
];

export const theme = createTheme({
  colors: { lake, dark, red },
  primaryColor: "lake",
  primaryShade: { light: 7, dark: 8 },
  defaultRadius: "sm",
  cursorType: "pointer",
  focusRing: "always",
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace',
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.125rem" },
  components: {
    // Its `header` would count as another banner of the page.
    Modal: {
      defaultProps: { closeButtonProps: { "aria-label": "Close" }, attributes: { header: { role: "presentation" } } },
    },
  },
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "1.375rem", lineHeight: "1.3" },
      h2: { fontSize: "1.0625rem", lineHeight: "1.35" },
      h3: { fontSize: "0.9375rem", lineHeight: "1.4" },
    },
  },
});

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#4d5662",
    "--mantine-color-anchor": "#0b6079",
    "--mantine-color-placeholder": "#66707c",
    "--charter-canvas": "#f6f8f9",
    "--charter-panel": "#ffffff",
    "--charter-line": "#d9dfe4",
    "--charter-hover": "#eef3f6",
    "--charter-code": "#f4f6f8",
    "--charter-selected": "#d9edf4",
  },
  dark: {
    "--mantine-color-body": "#14181c",
    "--mantine-color-dimmed": "#a3adb8",
    "--mantine-color-anchor": "#7abbd1",
    "--mantine-color-placeholder": "#8d98a4",
    "--charter-canvas": "#0f1316",
    "--charter-panel": "#171c21",
    "--charter-line": "#2d353d",
    "--charter-hover": "#1e252b",
    "--charter-code": "#11161a",
    "--charter-selected": "#12323e",
  },
});

export const colorSchemes = localStorageColorSchemeManager({ key: "charter.scheme" });
