import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { SUBJECT_ROOT, subjects } from '../subjects/names.ts';
import type { WorkerBoard } from './worker-board.ts';
import { readAnnouncement } from './worker-board.ts';

/**
 * Keeps a board up to date by what workers announce, and asks at once who is there; `onAnnounced`
 * is called after each announcement. Returns the way to stop.
 */
export function followWorkers(
  bus: Bus,
  board: WorkerBoard,
  onAnnounced: (id: string) => void,
): () => void {
  const root = `${SUBJECT_ROOT}.workers.`;
  const subscription = bus.connection.subscribe(`${root}*`, {
    callback: (_error, msg) => {
      const announcement = readAnnouncement(msg.data);
      if (announcement === undefined) return;
      const id = msg.subject.slice(root.length);
      board.announced(id, announcement, performance.now());
      onAnnounced(id);
    },
  });
  publish(bus.connection, subjects.hello, '');
  return () => subscription.unsubscribe();
}
