import { useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { functionsLike, minionsLike } from '../api/palette.ts';
import { shown } from '../parts/given.tsx';
import { type Found, grouped, jobOf, matching, searched } from '../state/palette.ts';
import { parseCommand } from '../state/run/run-command.ts';
import { searchOf } from '../state/run/run-search.ts';
import { actOn, findHere, type FoundHere } from './here.ts';
import { useLeave } from './leave.tsx';
import type { PageEntry } from './pages.ts';

/** The API is asked after the typing, ms. */
const TYPING_MS = 200;
/** Longer names are cut. */
const NAME_MAX = 120;

interface PaletteProps {
  readonly pages: readonly PageEntry[];
  readonly onHelp: () => void;
}

const SEARCH = {
  placeholder: 'A page, a minion, a jid, a function',
  'aria-label': 'Search',
  'data-palette': true,
};
/** It opens in fields too. */
const NO_TAGS: string[] = [];

/** Finds pages, what is on the page, minions, jobs, functions and acts by what one types. */
export function Palette({ pages, onHelp }: PaletteProps) {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const acts = useActs(onHelp);
  const here = useHere();
  const word = text.trim();
  const found = [
    ...jobOf(word),
    ...commandOf(word),
    ...matching([...here.found, ...pages.map(pageFound), ...acts.keys()], word),
    ...useAsked(searched(text)),
  ];
  useEffect(selectFirst);
  const open = (one: Found): void => {
    const act = acts.get(one);
    if (act !== undefined) act();
    else if (one.group === 'On this page') here.choose(one);
    else void navigate({ to: one.path ?? '/', search: (one.search ?? {}) as never });
  };
  return (
    <Spotlight
      actions={grouped(
        found.map((one) => ({
          id: one.id,
          group: one.group,
          label: one.label,
          ...(one.description === undefined ? {} : { description: one.description }),
          onClick: () => open(one),
        })),
      )}
      // What is here was found already.
      filter={(_query, actions) => actions}
      query={text}
      onQueryChange={(next) => {
        setText(next);
        // The page may have come since.
        here.look();
      }}
      shortcut={['mod + K']}
      tagsToIgnore={NO_TAGS}
      onSpotlightOpen={() => {
        // One that opens while it closes has its text still.
        setText('');
        here.look();
      }}
      onExitTransitionEnd={here.act}
      scrollable
      maxHeight="70vh"
      nothingFound="Nothing found"
      searchProps={SEARCH}
    />
  );
}

/** Enter needs a selected one: what is found later may take the place of the one that was. */
function selectFirst(): void {
  if (document.querySelector('[data-action][data-selected]') !== null) return;
  document.querySelector('[data-action]')?.setAttribute('data-selected', 'true');
}

/** What is on the page below the palette. What is chosen is used once the palette has closed. */
function useHere() {
  const [all, setAll] = useState<readonly FoundHere[]>([]);
  const chosen = useRef<FoundHere>(undefined);
  return {
    found: all.map(({ found }) => found),
    look: () => setAll(findHere()),
    choose: (one: Found) => {
      chosen.current = all.find(({ found }) => found === one);
    },
    act: () => {
      const { current } = chosen;
      chosen.current = undefined;
      if (current?.element.isConnected === true) actOn(current.element);
    },
  };
}

/** A command line of Salt, to be seen on the page Run before anything is sent. */
function commandOf(word: string): readonly Found[] {
  if (!/^(?:brine )?salt(?:-run)? /.test(word)) return [];
  const parsed = parseCommand(word);
  if (parsed.kind === 'problem') return [];
  const search = { ...searchOf(parsed.command) };
  return [{ id: 'command', group: 'Acts', label: `Prepare: ${word}`, path: '/run', search }];
}

function pageFound({ path, name, question, key }: PageEntry): Found {
  return { id: path, group: 'Pages', label: name, description: `${question} (g ${key})`, path };
}

/** What one may do from everywhere. */
function useActs(onHelp: () => void): ReadonlyMap<Found, () => void> {
  const { setColorScheme } = useMantineColorScheme();
  const leave = useLeave();
  const act = (id: string, label: string, does: () => void): [Found, () => void] => [
    { id, group: 'Acts', label },
    does,
  ];
  return new Map([
    act('theme-light', 'Light theme', () => setColorScheme('light')),
    act('theme-dark', 'Dark theme', () => setColorScheme('dark')),
    act('theme-auto', 'Theme of the system', () => setColorScheme('auto')),
    act('keys', 'Show the keys', onHelp),
    act('log-out', 'Log out', leave),
  ]);
}

/** Minions and functions, as the API finds them for this caller. */
function useAsked(word: string | undefined): readonly Found[] {
  const [settled] = useDebouncedValue(word, TYPING_MS);
  // What was typed since is waited for; what was deleted is not asked.
  const asked = word === undefined ? undefined : settled;
  const minions = useQuery(minionsLike(asked));
  const functions = useQuery(functionsLike(asked));
  if (asked === undefined) return [];
  return [
    ...(minions.data?.items ?? []).map(({ id, present }): Found => {
      const description = present === null ? 'no key' : present ? 'connected' : 'not connected';
      const path = `/minions/${encodeURIComponent(id)}`;
      const label = shown(id, NAME_MAX);
      return { id: `minion ${id}`, group: 'Minions', label, description, path };
    }),
    ...(functions.data?.items ?? []).map(({ kind, name, doc }): Found => {
      const [first = ''] = doc.trim().split('\n');
      const description = shown(`${kind}: ${first}`, NAME_MAX);
      const id = `${kind} ${name}`;
      const search = { fun: kind === 'state' ? 'state.single' : name, ...kindOf(kind) };
      const label = shown(name, NAME_MAX);
      return { id, group: 'Functions', label, description, path: '/run', search };
    }),
  ];
}

/** Runners and wheels are run by the master itself. */
function kindOf(kind: string): Readonly<Record<string, string>> {
  return kind === 'runner' || kind === 'wheel' ? { client: kind } : {};
}
