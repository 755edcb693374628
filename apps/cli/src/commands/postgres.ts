import { parseArgs } from 'node:util';
import { loadMasterConfig } from '@brine/config';
import { EXIT } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

const HELP = `Usage: DATABASE_URL=postgres://<owner>@<host>/<database> brine postgres roles

Brings the schema of the job cache up to this release and gives three roles their rights, which are
made (without log-in) where they are missing. It needs the owner of the database, once and again
before each new release; the services then need him no more:

  brine_store     for the job-cache-returner: rows and their days, no tables
  brine_returner  for minions and masters that write by the returner pgjsonb: adds, sees no returns
  brine_reader    for dashboards and salt-run: looks at jobs and returns

Let a user of each log in, and give the store's to the job-cache-returner (brine.postgres.url):

  CREATE ROLE store LOGIN PASSWORD '...' IN ROLE brine_store;
`;

/** `brine postgres roles`: schema and rights, as the owner. Gives the exit code. */
export async function runPostgres(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'config-dir': { type: 'string', short: 'c' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT.ok;
  }
  if (positionals.length !== 1 || positionals[0] !== 'roles') {
    terminal.err(HELP);
    return EXIT.usage;
  }
  const { url } = loadMasterConfig({ configDir: values['config-dir'] }).options.brine.postgres;
  if (url === undefined || url === '') {
    terminal.err('brine postgres: no PostgreSQL is named: set DATABASE_URL, with its owner\n');
    return EXIT.usage;
  }
  const { grantRoles, JobCacheError } = await import('@brine/job-cache');
  try {
    const reached = await grantRoles(url);
    terminal.out(
      `The schema is at ${reached}; brine_store, brine_returner, brine_reader are set.\n`,
    );
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof JobCacheError)) throw error;
    terminal.err(`brine postgres: ${error.message}\n`);
    return EXIT.generic;
  }
}
