import { createContext, use, useEffect, useRef, useSyncExternalStore } from 'react';
import type { LiveStream } from './live-stream.ts';
import type { LiveMessage } from './message.ts';
import type { LiveState } from './stream-reader.ts';

/** What does not come by the stream is asked for again after this, ms. */
const POLL_MS = 15_000;

/** The stream of this tab. */
export const LiveContext = createContext<LiveStream | undefined>(undefined);

function useStream(): LiveStream {
  const stream = use(LiveContext);
  if (stream === undefined) throw new Error('there is no stream here');
  return stream;
}

/** How the stream does. */
export function useLiveState(): LiveState {
  const stream = useStream();
  return useSyncExternalStore(
    (changed) => stream.watch(changed),
    () => stream.state,
  );
}

/** What the server refuses of the topics of this tab; empty if nothing. */
export function useRefusals(): string {
  const stream = useStream();
  return useSyncExternalStore(
    (changed) => stream.watch(changed),
    () => stream.refusals,
  );
}

/**
 * Takes the messages of a topic while the page is there.
 * @param topic undefined for none
 */
export function useTopic(topic: string | undefined, take: (message: LiveMessage) => void): void {
  const stream = useStream();
  const latest = useRef(take);
  useEffect(() => {
    latest.current = take;
  });
  useEffect(() => {
    if (topic === undefined) return undefined;
    return stream.subscribe(topic, (message) => latest.current(message));
  }, [stream, topic]);
}

/** How often a page asks again for what a topic has, ms; false while it comes by itself. */
export function usePolling(topic: string): number | false {
  const stream = useStream();
  const comes = useSyncExternalStore(
    (changed) => stream.watch(changed),
    () => stream.has(topic),
  );
  return comes ? false : POLL_MS;
}
