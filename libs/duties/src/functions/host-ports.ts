import { type Bus } from '@brine/bus';
import { broadcastToWorkers } from '@brine/bus/rpc';
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
import { FILES_ACT } from '@brine/master-ports';
import { askWeb, wake } from '@brine/outgoing';
import type { ThreadedPillars } from '@brine/rendering';
import type { FileServerAdmin, HostFiles, HostPorts } from '@brine/runners';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';

export interface HostParts {
  readonly bus: Bus;
  readonly options: MasterOptions;
  readonly processId: string;
  readonly files: FileServer;
  readonly pillars: Pick<ThreadedPillars, 'updateGit'>;
}

/** The ports of functions to this host. */
export function openHostPorts(parts: HostParts): Omit<HostPorts, 'ownStates'> {
  return {
    fileServer: fileServerAdmin(parts),
    hostFiles: hostFilesOf(parts.options),
    outgoing: { web: askWeb, wake },
  };
}

function fileServerAdmin({ bus, files, options, pillars, processId }: HostParts): FileServerAdmin {
  const { host } = options.brine;
  const announce = (act: string, more: SaltMap): void => {
    broadcastToWorkers(
      bus,
      new Map([...mapOf({ kind: FILES_ACT, act, host, from: processId }), ...more]),
    );
  };
  const named = (list?: readonly string[]): SaltValue | undefined => list && [...list];
  return {
    update: async (back, remotes) => {
      announce('update', mapOf({ back: named(back), remotes: named(remotes) }));
      await files.update(back, remotes);
    },
    clearCopies: (back) => {
      announce('clear', mapOf({ back: named(back) }));
      return files.clearCopies(back);
    },
    changeLocks: (to, back, remote) => files.changeLocks(to, back, remote),
    forgetLists: (saltenvs, back) => {
      announce('lists', mapOf({ back: named(back), saltenvs: named(saltenvs) }));
      return files.forgetLists(saltenvs, back);
    },
    updateGitPillars: (branch, repo) => pillars.updateGit(branch, repo),
  };
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
    readBelow,
    treeBelow,
    writeBelow,
    removeBelow,
    removeEmptyBelow,
    readBounded,
    writeWhole,
    environment: (name) => operatorEnvironment(process.env)[name],
  };
}
