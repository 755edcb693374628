import { drawOptions, flag, type Given, readArguments, text } from '@brine/swarm/options';
import { texts, UsageError } from '@brine/swarm/options';
import { type Circle, isCircle } from './circles.ts';
import { isLayer, type Layer, LAYERS, USUAL } from './layers.ts';

const OPTIONS = {
  only: texts('NAME', 'only files whose path has NAME in it, of any layer; several times'),
  keep: flag('with --only: directories of masters and sandboxes stay where a test failed'),
  reached: flag('only what the change reaches, of every layer'),
  base: text('REV', 'the commit or branch to compare with; default: the newest that is a day old'),
};

/** The parsed arguments. */
export interface Asked extends Given<typeof OPTIONS> {
  readonly layers: readonly Layer[];
  readonly circle: Circle | undefined;
}

/** The text of `npm test -- --help`. */
export const USAGE = `npm test -- [CIRCLE | LAYER ...] [options]

Circles: change (what CI runs), release (all), nightly.
Layers: ${LAYERS.join(', ')}; ${USUAL.join(', ')} by default.

${drawOptions(OPTIONS)}`;

/** Reads the arguments. Throws UsageError if they are invalid. */
export function readAsked(args: readonly string[]): Asked {
  const { asked, words } = readArguments(args, OPTIONS);
  const { only, keep, reached, base } = asked;
  // A whole failed layer would fill the disk.
  if (keep && only.length === 0) throw new UsageError('--keep wants --only NAME');
  const unknown = words.filter((word) => !isLayer(word) && !isCircle(word));
  if (unknown.length > 0) throw new UsageError(`no such layer or circle: ${unknown.join(', ')}`);
  const [circle, ...others] = words.filter(isCircle);
  if (circle !== undefined && words.length > 1 && others.length === 0)
    throw new UsageError(`${circle} names its layers itself`);
  if (others.length > 0) throw new UsageError('one circle at a time');
  if (base !== undefined && circle !== 'change' && !reached)
    throw new UsageError('--base wants --reached, or the circle change');
  const layers = layersOf(words.filter(isLayer), circle, only);
  return { ...asked, layers, circle };
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
