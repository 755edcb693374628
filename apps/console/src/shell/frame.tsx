import { AppShell, Burger, Button, Group, Kbd, Menu, NavLink, Text, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { spotlight } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { meQuery } from '../api/session.ts';
import { useLiveState, useRefusals } from '../live/use-live.ts';
import { Given } from '../parts/given.tsx';
import { When } from '../parts/when.tsx';
import { useFirstOpened } from './first-opened.ts';
import { enterRows } from './here.ts';
import { KeyHelp } from './key-help.tsx';
import { useKeys } from './keys.ts';
import { useLeave } from './leave.tsx';
import { pagesFor } from './pages.ts';
import { Palette } from './palette.tsx';
import { SessionEnd } from './session-end.tsx';

const NAVBAR_PX = 200;
const HEADER_PX = 50;

/** What is around each page. */
export function Frame() {
  const [isOpen, menu] = useDisclosure();
  const [isHelp, help] = useDisclosure();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const me = useQuery(meQuery);
  const pages = pagesFor(me.data);
  const main = useFocusOnPage(pathname);
  useFirstOpened();
  useKeys({
    '/': () => spotlight.open(),
    '?': help.open,
    j: enterRows,
    k: enterRows,
    ...Object.fromEntries(
      pages.map(({ key, path }) => [`g ${key}`, () => void navigate({ to: path })]),
    ),
  });
  return (
    <AppShell
      header={{ height: HEADER_PX }}
      navbar={{ width: NAVBAR_PX, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Menu"
            />
            <Text fw={700} visibleFrom="xs">
              Brine
            </Text>
          </Group>
          <Button variant="default" size="compact-md" onClick={spotlight.open}>
            Search&nbsp;<Kbd size="xs">/</Kbd>
          </Button>
          <Group wrap="nowrap">
            <LiveSign />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        {pages.map(({ path, name, key }) => (
          <NavLink
            key={path}
            component={Link}
            to={path}
            label={name}
            active={isBelow(pathname, path)}
            aria-current={isBelow(pathname, path) ? 'page' : undefined}
            rightSection={<Kbd size="xs">g {key}</Kbd>}
            onClick={menu.close}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main ref={main} tabIndex={-1}>
        <SessionEnd />
        <Outlet />
      </AppShell.Main>
      <Palette pages={pages} onHelp={help.open} />
      <KeyHelp pages={pages} opened={isHelp} onClose={help.close} />
    </AppShell>
  );
}

/** A page that was opened gets the focus: Tab begins there, not where the menu or a row was. */
function useFocusOnPage(pathname: string) {
  const main = useRef<HTMLElement>(null);
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    if (main.current?.contains(document.activeElement) !== true) {
      main.current?.focus({ preventScroll: true });
    }
  }, [pathname]);
  return main;
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || (path !== '/' && pathname.startsWith(`${path}/`));
}

/** Whether what one sees is of now. */
function LiveSign() {
  const state = useLiveState();
  const refusals = useRefusals();
  if (state.is === 'live' && refusals !== '') {
    return (
      <Tooltip multiline maw={400} label={<Given text={refusals} max={500} />}>
        <Text size="sm" tabIndex={0} role="status">
          ◐ live in part
        </Text>
      </Tooltip>
    );
  }
  if (state.is === 'live') return <Text size="sm">● live</Text>;
  if (state.is === 'idle') return <Text size="sm">○ idle</Text>;
  if (state.is === 'connecting') return <Text size="sm">○ connecting</Text>;
  return (
    <Text size="sm" role="status">
      ○ not live, last <When time={new Date(state.since).toISOString()} />
    </Text>
  );
}

function UserMenu() {
  const me = useQuery(meQuery);
  const leave = useLeave();
  return (
    <Menu>
      <Menu.Target>
        <Button variant="subtle" size="compact-md">
          <Given text={me.data?.principal ?? '…'} max={30} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{me.data === undefined ? '…' : `Logged in by ${me.data.eauth}`}</Menu.Label>
        <Menu.Item onClick={leave}>Log out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
