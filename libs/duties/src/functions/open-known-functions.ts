import type { Bus } from '@brine/bus';
import { serveFunctions } from '@brine/cluster-work';
import type { MasterOptions } from '@brine/config';
import type { MasterPorts } from '@brine/master';
import type { Trouble } from '@brine/tasks';
import { mapOf } from '@brine/wire';
import { askMinion, minionsByRelease } from './ask-minion.ts';
import type { FunctionTable } from './function-table.ts';
import { KnownFunctions } from './known-functions.ts';

/** Opens what is known of functions, in a process that may answer for the cluster. */
export function openKnownFunctions(parts: {
  readonly bus: Bus;
  readonly options: Pick<MasterOptions, 'user'>;
  readonly ports: MasterPorts;
  readonly functions: FunctionTable;
  readonly onTrouble: Trouble;
}): KnownFunctions {
  const { bus, options, ports, functions, onTrouble } = parts;
  const { user } = options;
  const by = { kind: 'runner', fun: 'doc.execution', user, principal: user } as const;
  return new KnownFunctions({
    minions: () => minionsByRelease(ports),
    ask: async (minion) => {
      const call = { ...by, jid: ports.nextJid(), args: [], kwargs: mapOf({}) };
      const { context, close } = functions.contextOf(call);
      try {
        return await askMinion(context.client, minion, onTrouble);
      } finally {
        await close();
      }
    },
    site: functions.site,
    serve: (answer) => serveFunctions(bus, answer),
    onTrouble,
    now: () => Date.now(),
  });
}
