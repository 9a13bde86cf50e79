/** The frame of every screen: header, navigation, and a link to the content. */

import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconKeyboard, IconMoon, IconSearch, IconSun } from "@tabler/icons-react";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useCallback, useEffect, useRef } from "react";

import { LinkMark } from "~/live/link-state";
import { LiveProvider } from "~/live/live";
import { useSession } from "~/session/session";
import { GROUPS } from "~/shell/screens";
import { Shortcuts } from "~/shell/shortcuts";
import { useBadges } from "~/shell/waiting";

export function Shell() {
  const [menu, { toggle, close: closeMenu }] = useDisclosure(false);
  const [list, { open: openList, close: closeList }] = useDisclosure(false);
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  const turn = useCallback(
    () => setColorScheme(scheme === "dark" ? "light" : "dark"),
    [scheme, setColorScheme],
  );
  const path = useRouterState({ select: (state) => state.location.pathname });
  const content = useFocusAfterNavigation(path, closeMenu);

  return (
    <LiveProvider>
      <a href="#content" className="skip">
        Go to the content
      </a>
      <AppShell
        header={{ height: 48 }}
        navbar={{ width: 212, breakpoint: "sm", collapsed: { mobile: !menu } }}
        padding={0}
      >
        <AppShell.Header className="header">
          <Group h="100%" px="md" gap="sm" wrap="nowrap">
            <Burger opened={menu} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Link to="/" className="brand">
              <img src={`${import.meta.env.BASE_URL}mark.svg`} alt="" width={22} height={22} />
              Charter
            </Link>
            <Group ml="auto" gap="xs" wrap="nowrap">
              <Tooltip label="Search everywhere (Ctrl K)" withinPortal={false}>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label="Search everywhere"
                  renderRoot={(props) => <Link to="/search" {...props} />}
                >
                  <IconSearch size={18} />
                </ActionIcon>
              </Tooltip>
              <LinkMark />
              <Tooltip label="Keyboard shortcuts (?)">
                <ActionIcon variant="subtle" color="gray" onClick={openList} aria-label="Keyboard shortcuts" visibleFrom="sm">
                  <IconKeyboard size={18} />
                </ActionIcon>
              </Tooltip>
              <Tooltip label={scheme === "dark" ? "Light (c)" : "Dark (c)"}>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  onClick={turn}
                  aria-label={scheme === "dark" ? "Change to light" : "Change to dark"}
                >
                  {scheme === "dark" ? <IconSun size={18} /> : <IconMoon size={18} />}
                </ActionIcon>
              </Tooltip>
              <Who />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar className="navigation" aria-label="Screens">
          <ScrollArea type="auto" scrollbarSize={6}>
            <Navigation path={path} />
          </ScrollArea>
        </AppShell.Navbar>
        <AppShell.Main id="content" tabIndex={-1} ref={content} className="content">
          <Outlet />
        </AppShell.Main>
      </AppShell>
      <Shortcuts opened={list} onOpen={openList} onClose={closeList} onScheme={turn} />
    </LiveProvider>
  );
}

/** Moves the focus to the content when another screen is shown, so that a screen reader reads on there. */
function useFocusAfterNavigation(path: string, closeMenu: () => void) {
  const content = useRef<HTMLElement>(null);
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    closeMenu();
    content.current?.focus({ preventScroll: true });
  }, [path, closeMenu]);
  return content;
}

function Navigation({ path }: { path: string }) {
  const badges = useBadges();
  return GROUPS.map((group) => (
    <div key={group.label} role="group" aria-label={group.label} className="navigation-group">
      <Text size="xs" c="dimmed" fw={600} px="sm" pb={2} aria-hidden>
        {group.label}
      </Text>
      {group.screens.map(({ to, label, icon: Icon }) => {
        const isHere = to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);
        return (
          <NavLink
            key={to}
            renderRoot={(props) => <Link to={to} {...props} />}
            label={label}
            leftSection={<Icon size={17} stroke={1.6} />}
            rightSection={badges.has(to) && <Badge count={badges.get(to) ?? ""} />}
            active={isHere}
            aria-current={isHere ? "page" : undefined}
            py={5}
          />
        );
      })}
    </div>
  ));
}

/** How much waits for a person behind a link of the navigation. */
function Badge({ count }: { count: string }) {
  return (
    <span className="badge">
      {count}
      <span className="unseen"> waiting</span>
    </span>
  );
}

function Who() {
  const { caller, by, signOut } = useSession();
  const rights = `${caller.role} of the tenant ${caller.tenant}, ${caller.tier} tier, catalogue ${caller.catalogue}`;
  const why = by === "machine" ? " This server has no keys: every user of its machine may do all." : "";
  return (
    <>
      <Tooltip label={`${rights}.${why}`} multiline w={260}>
        <Text size="sm" c="dimmed" tabIndex={0} className="who" visibleFrom="sm">
          {caller.user} · {caller.role}
        </Text>
      </Tooltip>
      {by !== "machine" && (
        <Button variant="default" size="compact-sm" onClick={signOut}>
          Sign out
        </Button>
      )}
    </>
  );
}
