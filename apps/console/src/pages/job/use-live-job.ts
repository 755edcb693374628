import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { jobKey, jobQuery } from '../../api/job.ts';
import type { LiveMessage } from '../../live/message.ts';
import { usePolling, useTopic } from '../../live/use-live.ts';
import { UNCOUNTED_MS, useSoon } from '../../live/use-soon.ts';
import { type LiveJob, NOTHING_LIVE, takeLive } from './live-job.ts';

/** Messages of this time are drawn together, ms. */
const FRAME_MS = 200;

/** What comes of a job while its page is open. */
export function useLiveJob(jid: string): LiveJob {
  const queries = useQueryClient();
  const [live, setLive] = useState(NOTHING_LIVE);
  const waiting = useRef<LiveMessage[]>([]);
  const draw = useSoon(() => {
    const messages = waiting.current;
    waiting.current = [];
    setLive((job) => takeLive(job, jid, messages));
  }, FRAME_MS);
  const ask = useCallback(
    () => void queries.invalidateQueries({ queryKey: jobKey(jid) }),
    [queries, jid],
  );
  const { queryKey } = jobQuery(jid);
  const askSoon = useSoon(() => void queries.invalidateQueries({ queryKey }), UNCOUNTED_MS);
  // The stream of a browser may have no room for this job, or be away.
  const pollMs = usePolling(`job:${jid}`);
  useEffect(() => {
    if (pollMs === false) return undefined;
    const polling = setInterval(ask, pollMs);
    return () => clearInterval(polling);
  }, [ask, pollMs]);
  useTopic(`job:${jid}`, (message) => {
    if (message.event === 'reset' || message.event === 'lag') {
      ask();
      return;
    }
    if (!['job', 'returns', 'progress'].includes(message.event)) return;
    // A stream that began after the job does not count it: the job cache does, a little later.
    if (message.event === 'job' && message.data.counts === null) askSoon();
    waiting.current.push(message);
    draw();
  });
  return live;
}
