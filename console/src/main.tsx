/** Starts the console. */

import "./styles/mantine.css";
import "./styles/index.css";

import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { queries } from "~/queries";
import { router } from "~/router";
import { SessionProvider } from "~/session/session";
import { colorSchemes, theme, variables } from "~/theme";

const root = document.getElementById("console");
if (root === null) throw new Error("the page has no element `console`");
// The screen's own code comes while the server is asked who is there.
void router.load();
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      colorSchemeManager={colorSchemes}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queries}>
        <SessionProvider>
          <RouterProvider router={router} />
        </SessionProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
