import type { SaltMap } from '@brine/wire';
import { grainsFunctions, traverse } from './grains-functions.ts';
import { type MasterAccess, masterFunctions } from './master-functions.ts';
import { type FunctionTable, type MinionFunction, textArgument } from './minion-function.ts';
import type { OwnState } from './own-state.ts';
import { saltutilFunctions } from './saltutil-functions.ts';
import { sysFunctions } from './sys-functions.ts';

/** The state of the minion, and its access to the master. */
export interface OwnAccess {
  readonly own: OwnState;
  /** Undefined without a master. */
  readonly master: MasterAccess | undefined;
  /** The options in force, by Salt's names. */
  readonly config: () => SaltMap;
}

/**
 * The functions that run in the minion's own process: about itself, and those that ask the master.
 * @param others the functions that run in other processes, for `sys`
 */
export function ownFunctions(
  { own, master, config }: OwnAccess,
  others: FunctionTable,
): Map<string, MinionFunction> {
  const version: MinionFunction = {
    doc: 'Return the version of salt on the minion.',
    run: () => own.grains().get('saltversion') ?? null,
  };
  const get: MinionFunction = {
    doc: 'Get a value from the options, the grains or the pillar, the first that has it.',
    parameters: [
      { name: 'key' },
      { name: 'default', default: '' },
      { name: 'delimiter', default: ':' },
    ],
    run: (call) => {
      const [key, delimiter] = [textArgument(call, 'key'), textArgument(call, 'delimiter')];
      for (const source of [config(), own.grains(), own.pillar()]) {
        const found = traverse(source, key, delimiter);
        if (found !== undefined) return found;
      }
      return call.named.get('default') ?? '';
    },
  };
  const table = new Map<string, MinionFunction>([
    ...grainsFunctions(own),
    ...saltutilFunctions(own),
    ...masterFunctions(master),
    ['config.get', get],
    ['test.version', version],
  ]);
  const all = new Map([...others, ...table]);
  for (const [name, fun] of sysFunctions(all)) {
    table.set(name, fun);
    all.set(name, fun);
  }
  return table;
}
