import { Buffer } from 'node:buffer';
import type { HostFiles, HostTree } from '../src/host-ports.ts';

/** Files of a host in memory, by their whole path; links and modes are the edge's to test. */
export function memoryHost(
  files: Map<string, string>,
  roots: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {},
  env: Readonly<Record<string, string>> = {},
): HostFiles {
  const at = (root: string, path: string): string => `${root}/${path}`;
  const isOutside = (path: string): boolean => path.startsWith('/') || path.includes('..');
  const bytes = (path: string): Uint8Array | undefined => {
    const text = files.get(path);
    return text === undefined ? undefined : Buffer.from(text, 'latin1');
  };
  return {
    roots: async (option) => new Map(Object.entries(roots[option] ?? {})),
    readBelow: async (root, path, { headBytes }) =>
      isOutside(path) ? undefined : bytes(at(root, path))?.subarray(0, headBytes),
    treeBelow: async (root) => {
      const tree: HostTree = new Map();
      for (const path of [...files.keys()].filter((one) => one.startsWith(`${root}/`)).sort()) {
        const parts = path.slice(root.length + 1).split('/');
        const name = parts.pop() ?? '';
        let into = tree;
        for (const part of parts) {
          const below = into.get(part);
          const next: HostTree =
            below === undefined || below === 'f' ? new Map<string, HostTree>() : below;
          into.set(part, next);
          into = next;
        }
        into.set(name, 'f');
      }
      return tree;
    },
    writeBelow: async (root, path, content) => {
      if (isOutside(path)) return 'refused';
      const text = Buffer.from(content).toString('latin1');
      if (files.get(at(root, path)) === text) return 'same';
      files.set(at(root, path), text);
      return 'written';
    },
    removeBelow: async (root, path) => files.delete(at(root, path)),
    removeEmptyBelow: async () => false,
    readBounded: async (path) => bytes(path),
    writeWhole: async (path, content) => void files.set(path, content),
    environment: (name) => env[name],
  };
}
