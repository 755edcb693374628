import type { Bus } from '@brine/bus';
import { onBroadcast } from '@brine/bus/rpc';
import type { FileServer } from '@brine/fileserver';
import type { Trouble } from '@brine/tasks';
import { listOf, type SaltMap, textOf } from '@brine/wire';

/** Kind of the words about file servers. */
export const FILES_ACT = 'files';

/** What words about file servers change. */
export interface FileActsParts {
  readonly bus: Bus;
  readonly files: Pick<FileServer, 'forgetLists' | 'update' | 'clearCopies'>;
  /** `brine.host` of this process. */
  readonly host: string;
  readonly processId: string;
  readonly onTrouble: Trouble;
}

/** Does what functions of other workers asked of all file servers, until the end is called. */
export function followFileActs(parts: FileActsParts): () => void {
  const { bus, onTrouble } = parts;
  return onBroadcast(
    bus,
    (broadcast) => {
      apply(broadcast, parts).catch((err: unknown) =>
        onTrouble('a word about files was not heeded', err),
      );
    },
    (err) => onTrouble('words of other workers are not heard', err),
  );
}

/**
 * Does what another worker was asked. Workers of its host share its copies of remotes, and see by
 * themselves that these have changed.
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
