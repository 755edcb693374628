import { Fleet } from '../load/fleet.ts';
import type { CommandRun, MasterName, MasterUnderTest } from '../masters/master.ts';
import { namesOf, withMasters } from '../masters/start-masters.ts';
import { runStockCommand } from '../masters/stock.ts';
import { type Cell, cellOf, type Figure, figureOf } from '../report/figure.ts';
import { alternate, type Row } from './row.ts';

const MINIONS = 10;
const ROUNDS = 6;
/** Whose command is tried on Brine too. */
const PREFIXED = '3006.30';

/** Wall time of `salt '*' test.ping`: each master's own command, and the stock one on Brine. */
export const CLI_ROW: Row = {
  name: 'cli',
  about: `wall time of salt '*' test.ping with ${MINIONS} minions`,
  inTable: true,
  run: ({ installed, say }) => {
    // The command of 3006 reads prefixed frames alone; Brine's reads both.
    const options = { env: { BRINE_EVENT_FRAMING: 'prefixed' } };
    const measure = async (masters: readonly MasterUnderTest[]): Promise<readonly Figure[]> => {
      const fleets: Fleet[] = [];
      try {
        for (const master of masters) {
          const fleet = await Fleet.start(master, { minions: MINIONS, say });
          fleets.push(fleet);
          await fleet.connect();
        }
        const args = ['*', 'test.ping', '--out', 'json', '--static'];
        const own = await alternate(masters, ROUNDS, async (master) => {
          say(`cli: ${master.name}`);
          return complete(master.name, await master.runCommand('salt', args));
        });
        const figures = [
          figureOf({ ...HEAD, name: `salt '*' test.ping, own command`, cells: cellsOf(own) }),
        ];
        const venv = installed.stock.get(PREFIXED);
        if (venv !== undefined) {
          const both = masters.filter(({ name }) => name === 'brine' || name === PREFIXED);
          const stock = await alternate(both, ROUNDS, async (master) => {
            say(`cli: salt of ${PREFIXED} on ${master.name}`);
            const ran = await runStockCommand(venv, 'salt', master.home, args);
            return complete(master.name, ran);
          });
          const name = `salt '*' test.ping, command of ${PREFIXED}`;
          figures.push(figureOf({ ...HEAD, name, cells: cellsOf(stock) }));
        }
        return figures;
      } finally {
        await Promise.all(fleets.map((fleet) => fleet.close()));
      }
    };
    return withMasters(installed, namesOf(installed), measure, options);
  },
};

const HEAD = { row: 'cli', unit: 's', better: 'less' } as const;

/** Seconds of a command; an incomplete answer is a failure, not a fast run. */
function complete(name: MasterName, { ms, code, stdout }: CommandRun): number {
  const answered = (stdout.match(/: true/g) ?? []).length;
  if (code !== 0 || answered !== MINIONS) {
    throw new Error(`${name}: salt ended with ${code}, ${answered} of ${MINIONS} answered`);
  }
  return ms / 1_000;
}

function cellsOf(samples: ReadonlyMap<MasterName, readonly number[]>): Record<string, Cell> {
  return Object.fromEntries([...samples].map(([name, all]) => [name, cellOf(all)]));
}
