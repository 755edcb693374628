import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { jobKey } from '../../api/job.ts';
import type { LiveMessage } from '../../live/message.ts';
import { usePolling, useTopic } from '../../live/use-live.ts';
import { type LiveJob, NOTHING_LIVE, takeLive } from './live-job.ts';

/** Messages of this time are drawn together, ms. */
const FRAME_MS = 200;

/** What comes of a job while its page is open. */
export function useLiveJob(jid: string): LiveJob {
  const queries = useQueryClient();
  const [live, setLive] = useState(NOTHING_LIVE);
  const waiting = useRef<LiveMessage[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  // The stream of a browser may have no room for this job, or be away.
  const pollMs = usePolling(`job:${jid}`);
  useEffect(() => {
    if (pollMs === false) return undefined;
    const ask = (): void => void queries.invalidateQueries({ queryKey: jobKey(jid) });
    const polling = setInterval(ask, pollMs);
    return () => clearInterval(polling);
  }, [queries, jid, pollMs]);
  useTopic(`job:${jid}`, (message) => {
    if (message.event === 'reset' || message.event === 'lag') {
      void queries.invalidateQueries({ queryKey: jobKey(jid) });
      return;
    }
    if (!['job', 'returns', 'progress'].includes(message.event)) return;
    waiting.current.push(message);
    if (waiting.current.length > 1) return;
    timer.current = setTimeout(() => {
      const messages = waiting.current;
      waiting.current = [];
      setLive((job) => takeLive(job, jid, messages));
    }, FRAME_MS);
  });
  return live;
}
