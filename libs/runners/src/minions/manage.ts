import { mapOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { BoundArguments, RunnerContext, RunnerFunction } from '../function.ts';
import { runOnMinions } from './run-on-minions.ts';

const PARAMETERS: RunnerFunction['parameters'] = [
  ['tgt', '*'],
  ['tgt_type', 'glob'],
  ['timeout', null],
  ['gather_job_timeout', null],
];

interface Presence {
  readonly up: string[];
  readonly down: string[];
}

/** The accepted minions that answer a ping (Salt: salt/runners/manage.py _ping). */
async function ping(given: BoundArguments, { client }: RunnerContext): Promise<Presence> {
  const timeout = given.named.get('timeout');
  const returns = await runOnMinions(
    client,
    {
      tgt: pyStr(given.named.get('tgt') ?? '*'),
      tgtType: pyStr(given.named.get('tgt_type') ?? 'glob'),
      fun: 'test.ping',
      arg: [],
    },
    typeof timeout === 'number' && timeout > 0 ? timeout * 1000 : undefined,
  );
  const up: string[] = [];
  const down: string[] = [];
  for (const item of returns ?? []) (item.kind === 'return' ? up : down).push(item.id);
  return { up: up.sort(), down: down.sort() };
}

const up: RunnerFunction = {
  name: 'manage.up',
  parameters: PARAMETERS,
  doc: 'Lists the minions that answer a ping.',
  run: async (given, context) => ({ value: (await ping(given, context)).up }),
};

const down: RunnerFunction = {
  name: 'manage.down',
  parameters: [['removekeys', false], ...PARAMETERS],
  doc: 'Lists the accepted minions that do not answer a ping.',
  async run(given, context) {
    if (given.named.get('removekeys') === true) {
      throw new Error('removekeys is not in this version: use salt-key -d');
    }
    return { value: (await ping(given, context)).down };
  },
};

const status: RunnerFunction = {
  name: 'manage.status',
  parameters: [['output', true], ...PARAMETERS],
  doc: 'Lists the minions that answer a ping and those that do not.',
  async run(given, context) {
    const found = await ping(given, context);
    return { value: mapOf({ up: found.up, down: found.down }) };
  },
};

/** The functions of the manage runner. */
export const MANAGE_RUNNER: readonly RunnerFunction[] = [down, status, up];
