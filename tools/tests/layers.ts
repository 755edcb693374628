/** The layers of vitest.config.ts, the cheapest first. */
export const LAYERS = ['pure', 'served', 'masters', 'deep', 'hosts'] as const;

/** One of them. */
export type Layer = (typeof LAYERS)[number];

/** Layers of `npm test`. */
export const USUAL: readonly Layer[] = ['pure', 'served', 'masters'];

/**
 * In these layers real peers wait for each other, and a neighbour on the machine can be too slow
 * for one of them: a file that fails runs once more, alone. If it fails again, it is broken.
 */
export const RUN_AGAIN: readonly Layer[] = ['masters', 'deep', 'hosts'];

/** The layer of a test file, which is in its name; undefined for a file that is no test. */
export function layerOf(path: string): Layer | undefined {
  const [, layer] = /(?:\.(served|masters|deep|hosts))?\.test\.ts$/.exec(path) ?? [];
  if (layer !== undefined) return layer as Layer;
  return path.endsWith('.test.ts') ? 'pure' : undefined;
}

/** Narrows an argument of the command line. */
export function isLayer(word: string): word is Layer {
  return (LAYERS as readonly string[]).includes(word);
}
