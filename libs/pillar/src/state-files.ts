import { PyFunction } from '@brine/jinja';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { pythonFunctions } from './python-functions.ts';
import { minionOpts, SlsRenderer, type SlsSource } from './render-sls.ts';
import { templateFunctions } from './template-functions.ts';

/** What files of states are rendered with: as pillars are, and the pillar is there already. */
export interface StateFileContext {
  readonly ports: PillarPorts;
  readonly options: PillarOptions;
  /** The minion that the states are for. */
  readonly minion: PillarMinion;
  readonly pillar: SaltMap;
}

/**
 * Renders one SLS file of states as pillars are rendered.
 * @throws RenderError
 */
export function renderStateFile(context: StateFileContext, source: SlsSource): SaltValue {
  const renderer = new SlsRenderer(context.ports, context.options, context.minion);
  renderer.pillar = context.pillar;
  return renderer.render(source);
}

/**
 * Calls a function that templates of states have.
 * @throws Error named as Python's KeyError where there is none, and what the function throws
 */
export function callStateFunction(
  { ports, options, minion, pillar }: StateFileContext,
  fun: string,
  args: readonly SaltValue[],
  kwargs: SaltMap,
): unknown {
  const data = { grains: minion.grains, pillar, opts: minionOpts(options.opts, minion) };
  const further = pythonFunctions(ports, pillar);
  const found = templateFunctions(data, ports.functions(minion), further).get(fun);
  if (found instanceof PyFunction) {
    return found.call({ positional: args, named: new Map(kwargs as Map<string, unknown>) });
  }
  throw Object.assign(new Error(`'${fun}'`), { name: 'KeyError' });
}
