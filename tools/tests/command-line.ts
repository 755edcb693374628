import { parseArgs } from 'node:util';
import { type Circle, isCircle } from './circles.ts';
import { isLayer, type Layer, LAYERS, USUAL } from './layers.ts';

/** What is asked for. */
export interface Asked {
  readonly layers: readonly Layer[];
  readonly circle: Circle | undefined;
  /** Parts of paths: only files that have one. */
  readonly only: readonly string[];
  /** Directories of masters and sandboxes stay where a test failed. */
  readonly keep: boolean;
  /** Of all layers only what the change reaches. */
  readonly reached: boolean;
  readonly base: string | undefined;
}

/** What `npm test -- --help` prints. */
export const USAGE = `npm test -- [CIRCLE | LAYER ...] [options]

Circles: change (what CI runs), release (all), nightly.
Layers: ${LAYERS.join(', ')}; ${USUAL.join(', ')} by default.
  --only NAME   only files whose path has NAME in it, of any layer; several times
  --keep        with --only: directories of masters stay where a test failed
  --reached     only what the change reaches, of every layer
  --base REV    the commit or branch to compare with; default: the newest that is a day old
`;

/** Reads the arguments. @throws Error that says what is wrong with them */
export function readAsked(args: readonly string[]): Asked | 'help' {
  const options = {
    only: { type: 'string', multiple: true, default: [] as string[] },
    keep: { type: 'boolean', default: false },
    reached: { type: 'boolean', default: false },
    base: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const { only, keep, reached, base, help } = values;
  if (help) return 'help';
  // A whole layer that fails would fill the disk.
  if (keep && only.length === 0) throw new Error('--keep wants --only NAME');
  const unknown = positionals.filter((word) => !isLayer(word) && !isCircle(word));
  if (unknown.length > 0) throw new Error(`no such layer or circle: ${unknown.join(', ')}`);
  const [circle, ...others] = positionals.filter(isCircle);
  if (circle !== undefined && positionals.length > 1 && others.length === 0)
    throw new Error(`${circle} names its layers itself`);
  if (others.length > 0) throw new Error('one circle at a time');
  if (base !== undefined && circle !== 'change' && !reached)
    throw new Error('--base wants --reached, or the circle change');
  const layers = layersOf(positionals.filter(isLayer), circle, only);
  return { layers, circle, only, keep, reached, base };
}

function layersOf(
  named: readonly Layer[],
  circle: Circle | undefined,
  only: readonly string[],
): readonly Layer[] {
  if (circle === 'nightly') return LAYERS;
  if (circle !== undefined) return LAYERS.filter((layer) => layer !== 'hosts');
  if (named.length > 0) return named;
  return only.length === 0 ? USUAL : LAYERS;
}
