import { useDebouncedCallback } from '@mantine/hooks';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { RunCommand } from '../../state/run/run-command.ts';
import { commandIn, type RunSearch, searchOf } from '../../state/run/run-search.ts';
import { searchText } from '../../state/search.ts';

/** The address, and the counting of minions, wait for the end of the typing, ms. */
const TYPING_MS = 300;

const route = getRouteApi('/run');

/** The run with `test=True` that was sent, and to which minions. */
export interface Dry {
  readonly jid: string;
  readonly count: number;
  readonly digest: string;
}

/** The command of the page: at once as one types, and a little later in the address. */
export function useRun() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [command, setCommand] = useState(() => commandIn(search));
  const here = addressOf(search);
  const written = useRef(here);
  // The address has changed by itself: by a link, a template, or the way back.
  useEffect(() => {
    if (here === written.current) return;
    written.current = here;
    setCommand(commandIn(search));
  }, [here, search]);
  const go = (next: RunSearch): void => {
    written.current = addressOf(next);
    void navigate({ search: next, replace: true });
  };
  const write = useDebouncedCallback((next: RunCommand) => go(searchOf(next)), TYPING_MS);
  const change = (part: Partial<RunCommand>): void => {
    const next = { ...command, ...part };
    setCommand(next);
    write(next);
  };
  const setDry = ({ jid, count, digest }: Dry): void =>
    go({ ...searchOf(command), dry: jid, dryCount: String(count), dryDigest: digest });
  return { command, change, dry: dryIn(search), setDry, settled: commandIn(search) };
}

function addressOf(search: RunSearch): string {
  return searchText({ ...search });
}

function dryIn({ dry, dryCount, dryDigest }: RunSearch): Dry | undefined {
  const count = Number(dryCount);
  if (dry === undefined || dryDigest === undefined || !Number.isSafeInteger(count))
    return undefined;
  return { jid: dry, count, digest: dryDigest };
}
