/** The route above all screens, and what is shown where there is none. */

import { Button, Group } from "@mantine/core";
import { createRootRoute, type ErrorComponentProps, Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import { Failure } from "~/parts/failure";
import { PageHead } from "~/parts/page-head";
import { Shell } from "~/shell/shell";

export const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NoScreen });

function NoScreen() {
  return (
    <>
      <PageHead title="There is no such screen" />
      <EmptyState title="Nothing is at this address">
        The link may be from another version, or a letter of it is missing.
        <Group mt="md">
          <Button component={Link} to="/" variant="default">
            Go to the overview
          </Button>
        </Group>
      </EmptyState>
    </>
  );
}

/** What is shown in place of a screen that failed. */
export function ScreenFailed({ error, reset }: ErrorComponentProps) {
  return (
    <>
      <PageHead title="This screen cannot be shown" />
      <Failure error={error} onRetry={reset} />
    </>
  );
}
