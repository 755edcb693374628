import { type Bus } from '@brine/bus';
import { hearWorkers, tellWorkers } from '@brine/bus/rpc';
import { type MasterOptions, textsOf } from '@brine/config';
import { operatorEnvironment } from '@brine/environment';
import {
  readBelow,
  readBounded,
  removeBelow,
  removeEmptyBelow,
  treeBelow,
  writeBelow,
  writeWhole,
} from '@brine/files';
import { expandRoots, type FileServer } from '@brine/fileserver';
import { askWeb, wake } from '@brine/outgoing';
import type { ThreadedPillars } from '@brine/rendering';
import type { FileServerCare, HostFiles, HostPorts } from '@brine/runners';
import { listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';

/** What functions of the master reach on this host is made of this. */
export interface HostParts {
  readonly bus: Bus;
  readonly options: MasterOptions;
  readonly workerId: string;
  readonly files: FileServer;
  readonly pillars: Pick<ThreadedPillars, 'updateGit'>;
  readonly onTrouble: (text: string, err: unknown) => void;
}

/** What is told to other workers of the file server. */
const WORD = 'files';

/** The ports of functions to this host, and the words that other workers hear. */
export function openHostPorts(
  parts: HostParts,
): Omit<HostPorts, 'ownStates'> & { readonly close: () => void } {
  const { bus, onTrouble } = parts;
  const close = hearWorkers(
    bus,
    (word) => {
      heed(word, parts).catch((err: unknown) =>
        onTrouble('a word about files was not heeded', err),
      );
    },
    (err) => onTrouble('words of other workers are not heard', err),
  );
  return {
    fileServer: careOf(parts),
    hostFiles: hostFilesOf(parts.options),
    outgoing: { web: askWeb, wake },
    close,
  };
}

function careOf({ bus, files, options, pillars, workerId }: HostParts): FileServerCare {
  const { host } = options.brine;
  const tell = (act: string, more: SaltMap): void => {
    tellWorkers(bus, new Map([...mapOf({ kind: WORD, act, host, from: workerId }), ...more]));
  };
  const named = (list?: readonly string[]): SaltValue | undefined => list && [...list];
  return {
    update: async (back, remotes) => {
      tell('update', mapOf({ back: named(back), remotes: named(remotes) }));
      await files.update(back, remotes);
    },
    clearCopies: (back) => {
      tell('clear', mapOf({ back: named(back) }));
      return files.clearCopies(back);
    },
    changeLocks: (to, back, remote) => files.changeLocks(to, back, remote),
    forgetLists: (saltenvs, back) => {
      tell('lists', mapOf({ back: named(back), saltenvs: named(saltenvs) }));
      return files.forgetLists(saltenvs, back);
    },
    updateGitPillars: (branch, repo) => pillars.updateGit(branch, repo),
  };
}

/**
 * Does what another worker was asked. Workers of its host share its copies of remotes, and see by
 * themselves that these have changed.
 */
async function heed(word: SaltMap, { files, options, workerId }: HostParts): Promise<void> {
  if (word.get('kind') !== WORD || word.get('from') === workerId) return;
  const texts = (name: string): string[] | undefined =>
    listOf(word, name)?.filter((text) => typeof text === 'string');
  const [act, back] = [textOf(word, 'act'), texts('back')];
  if (act === 'lists') files.forgetLists(texts('saltenvs'), back);
  if (word.get('host') === options.brine.host) return;
  if (act === 'update') await files.update(back, texts('remotes'));
  if (act === 'clear') await files.clearCopies(back);
}

function hostFilesOf(options: MasterOptions): HostFiles {
  return {
    async roots(option) {
      const found = new Map<string, readonly string[]>();
      const configured = option === 'file_roots' ? options.fileRoots : options.pillarRoots;
      for (const [env, roots] of Object.entries(configured)) {
        found.set(env, Array.isArray(roots) ? await expandRoots(textsOf(roots)) : []);
      }
      return found;
    },
    ...{ readBelow, treeBelow, writeBelow, removeBelow, removeEmptyBelow },
    ...{ readBounded, writeWhole },
    environment: (name) => operatorEnvironment(process.env)[name],
  };
}
