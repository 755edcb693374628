import type { RunsPage } from '@brine/api/runs';
import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { runsQuery } from '../../api/runs.ts';
import { useTopic } from '../../live/use-live.ts';
import type { RunsSearch } from './runs-search.ts';

/** Unknown runs that are counted, at most. */
const BEGAN_MAX = 10_000;
/** `salt/run/<jid>/new`, `…/ret`, and those of wheels. */
const TAG = /^salt\/(?:run|wheel)\/(\d{20})\/(new|ret)$/;

/** Keeps the states of a list up to date. Runs that began since wait until `show`. */
export function useLiveRuns(search: RunsSearch) {
  const queries = useQueryClient();
  const { queryKey } = runsQuery(search);
  const fresh = useRef(new Set<string>());
  const [began, setBegan] = useState(0);
  const show = useCallback(() => {
    fresh.current.clear();
    setBegan(0);
    void queries.resetQueries({ queryKey });
  }, [queries, queryKey]);
  useTopic('events:salt/*/*/*', (message) => {
    if (message.event === 'reset') void queries.invalidateQueries({ queryKey });
    if (message.event !== 'events') return;
    for (const { tag, data } of message.data) {
      const [, jid, what] = TAG.exec(tag) ?? [];
      const pages = queries.getQueryData<InfiniteData<RunsPage>>(queryKey);
      if (jid === undefined || pages === undefined) continue;
      const isListed = pages.pages.some(({ items }) => items.some((run) => run.jid === jid));
      if (isListed && what === 'ret') {
        queries.setQueryData(queryKey, withEnd(pages, jid, isSuccess(data)));
      } else if (!isListed && what === 'new' && fresh.current.size < BEGAN_MAX) {
        setBegan(fresh.current.add(jid).size);
      }
    }
  });
  return { began, show };
}

/** The body of a large event is left out: then it is not known. */
function isSuccess(data: unknown): boolean | undefined {
  const success = (data as { readonly success?: unknown } | null | undefined)?.success;
  return typeof success === 'boolean' ? success : undefined;
}

function withEnd<Pages extends InfiniteData<RunsPage>>(
  data: Pages,
  jid: string,
  success: boolean | undefined,
): Pages {
  const pages = data.pages.map((page) => ({
    ...page,
    items: page.items.map((run) =>
      run.jid === jid
        ? { ...run, state: 'ended' as const, ...(success === undefined ? {} : { success }) }
        : run,
    ),
  }));
  return { ...data, pages };
}
