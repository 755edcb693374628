import { pyStr } from '@brine/wire/text';
import { masterOf, type RunnerFunction } from '../function.ts';
import { sdbGet } from './sdb.ts';
import { traverse } from './traverse.ts';

const get: RunnerFunction = {
  name: 'config.get',
  parameters: [['key'], ['default', ''], ['delimiter', ':']],
  doc:
    'Shows an option of the master. key: its name, with names below it after colons. default: ' +
    'shown if the option is missing (default: nothing). delimiter: separates the names ' +
    "(default :). Secrets of Brine's own options are masked; for a caller with limited rights " +
    'all secrets are.',
  async run({ named }, context) {
    const master = masterOf(context);
    const delimiter = pyStr(named.get('delimiter') ?? ':');
    const [name = '', ...below] = pyStr(named.get('key') ?? '').split(delimiter);
    const isLimited = master.call.caller !== undefined;
    const option = isLimited ? master.shownOptions.get(name) : master.option(name);
    const found = traverse(option ?? null, below);
    if (option === undefined || found === undefined) return { value: named.get('default') ?? null };
    // A stored value may be a secret: sdb.get has a right of its own.
    if (isLimited) return { value: found };
    return { value: await sdbGet(found, master) };
  },
};

/** `config.*` of `salt-run` (salt/runners/config.py). */
export const CONFIG_RUNNER: readonly RunnerFunction[] = [get];
