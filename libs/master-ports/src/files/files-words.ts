import type { Bus } from '@brine/bus';
import { onBroadcast } from '@brine/bus/rpc';
import type { FileServer } from '@brine/fileserver';
import { listOf, type SaltMap, textOf } from '@brine/wire';

/** Kind of the words about file servers. */
export const FILES_WORD = 'files';

/** What words about file servers change. */
export interface FilesWordsParts {
  readonly bus: Bus;
  readonly files: Pick<FileServer, 'forgetLists' | 'update' | 'clearCopies'>;
  /** `brine.host` of this process. */
  readonly host: string;
  readonly processId: string;
  readonly onTrouble: (text: string, err: unknown) => void;
}

/** Does what functions of other workers asked of all file servers, until the end is called. */
export function heedFilesWords(parts: FilesWordsParts): () => void {
  const { bus, onTrouble } = parts;
  return onBroadcast(
    bus,
    (word) => {
      heed(word, parts).catch((err: unknown) =>
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
async function heed(word: SaltMap, { files, host, processId }: FilesWordsParts): Promise<void> {
  if (word.get('kind') !== FILES_WORD || word.get('from') === processId) return;
  const texts = (name: string): string[] | undefined =>
    listOf(word, name)?.filter((text) => typeof text === 'string');
  const [act, back] = [textOf(word, 'act'), texts('back')];
  if (act === 'lists') files.forgetLists(texts('saltenvs'), back);
  if (word.get('host') === host) return;
  if (act === 'update') await files.update(back, texts('remotes'));
  if (act === 'clear') await files.clearCopies(back);
}
