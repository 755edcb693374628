import { parseArgs } from 'node:util';
import { loadMasterConfig } from '@brine/config';
import { checkLedger } from './check-ledger.ts';
import { databaseUrlOf } from './database-url.ts';
import { drawReport } from './draw-report.ts';

const USAGE = `npm run ledger-check -- --log <file> [options]    the books against what happened

  --log <file>       log of simulated minions (npm run swarm --log); several are allowed
  -c <dir>           configuration directory of the master whose database is read
  --database <url>   or the database itself
  --after <jid>      leave jobs up to this one alone
  --fresh            the database served this run only: compare its counters too
  --json
  --help
`;

/** Salt's exit codes (salt/defaults/exitcodes.py): EX_GENERIC, EX_USAGE. */
const EXIT = { differs: 1, usage: 64 } as const;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      log: { type: 'string', multiple: true },
      'config-dir': { type: 'string', short: 'c' },
      database: { type: 'string' },
      after: { type: 'string' },
      fresh: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(USAGE);
    return 0;
  }
  const { log: logs, database, after } = values;
  if (logs === undefined) throw new TypeError('at least one --log is needed');
  const configDir = values['config-dir'];
  const databaseUrl = database ?? (await databaseUrlOf(loadMasterConfig({ configDir }).options));
  const report = await checkLedger({
    databaseUrl,
    logs,
    fresh: values.fresh ?? false,
    ...(after === undefined ? {} : { after }),
  });
  const text = values.json === true ? `${JSON.stringify(report, null, 2)}\n` : drawReport(report);
  process.stdout.write(text);
  return report.ok ? 0 : EXIT.differs;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    const usage = error instanceof TypeError;
    process.stderr.write(`ledger-check: ${(error as Error).message}\n${usage ? `\n${USAGE}` : ''}`);
    process.exitCode = usage ? EXIT.usage : EXIT.differs;
  },
);
