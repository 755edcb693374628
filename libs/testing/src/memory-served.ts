import type { ServedPorts } from '@brine/master';
import type { SaltMap, SaltValue } from '@brine/wire';

/** The files of a master without any: none, in the environment `base`; its mine in memory. */
export function memoryServed(): ServedPorts {
  const mines = new Map<string, SaltMap>();
  const begun = new Map<string, { by: string; reply?: SaltValue }>();
  return {
    tops: { of: () => Promise.resolve(new Map()) },
    parseArguments: (args) => [...args],
    received: { write: () => Promise.resolve(true) },
    once: {
      begin: async (key, by) => {
        const first = begun.get(key);
        if (first === undefined) begun.set(key, { by });
        if (first?.reply !== undefined) return { kind: 'done', reply: first.reply };
        return { kind: first === undefined || first.by === by ? 'begun' : 'under-way' };
      },
      done: async (key, by, reply) => void begun.set(key, { by, reply }),
      note: async (key, by) => {
        const first = begun.get(key) ?? { by };
        begun.set(key, first);
        return first.by === by ? 0 : 1;
      },
      unnote: async (key) => void begun.delete(key),
    },
    mines: {
      fetch: (id) => Promise.resolve(mines.get(id)),
      kept: async (id) => {
        const data = mines.get(id);
        return data && { data, atMs: 0 };
      },
      change: (id, next) => {
        const changed = next(mines.get(id));
        if (changed === undefined) mines.delete(id);
        else mines.set(id, changed);
        return Promise.resolve(true);
      },
    },
    files: {
      find: () => Promise.resolve(undefined),
      serve: () => Promise.resolve({ data: new Uint8Array(0), dest: '' }),
      hash: () => Promise.resolve(undefined),
      lists: () => Promise.resolve({ files: [], dirs: [], emptyDirs: [], links: new Map() }),
      envs: () => Promise.resolve(new Map([['roots', ['base']]])),
    },
  };
}
