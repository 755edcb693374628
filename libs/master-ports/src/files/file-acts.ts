import type { Bus } from '@brine/bus';
import { onBroadcast } from '@brine/bus/rpc';
import type { FileServer } from '@brine/fileserver';
import type { Trouble } from '@brine/tasks';
import { listOf, type SaltMap, textOf } from '@brine/wire';

/** Kind of the broadcasts about file servers. */
export const FILES_ACT = 'files';

export interface FileActsParts {
  readonly bus: Bus;
  readonly files: Pick<FileServer, 'forgetLists' | 'update' | 'clearCopies'>;
  /** `brine.host` of this process. */
  readonly host: string;
  readonly processId: string;
  readonly onTrouble: Trouble;
}

/**
 * Applies the requests of other workers to this file server, until the returned function is called.
 */
export function followFileActs(parts: FileActsParts): () => void {
  const { bus, onTrouble } = parts;
  return onBroadcast(
    bus,
    (broadcast) => {
      apply(broadcast, parts).catch((err: unknown) =>
        onTrouble('a request to the file server of this worker has failed', err),
      );
    },
    (err) => onTrouble('requests of other workers to the file server are not received', err),
  );
}

/**
 * Applies one request. Workers of one host share their copies of remotes, and detect changes in
 * them without a broadcast.
 */
async function apply(broadcast: SaltMap, { files, host, processId }: FileActsParts): Promise<void> {
  if (broadcast.get('kind') !== FILES_ACT || broadcast.get('from') === processId) return;
  const texts = (name: string): string[] | undefined =>
    listOf(broadcast, name)?.filter((text) => typeof text === 'string');
  const [act, back] = [textOf(broadcast, 'act'), texts('back')];
  if (act === 'lists') files.forgetLists(texts('saltenvs'), back);
  if (broadcast.get('host') === host) return;
  if (act === 'update') await files.update(back, texts('remotes'));
  if (act === 'clear') await files.clearCopies(back);
}
