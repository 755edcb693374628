import { loadMasterConfig } from '@brine/config';
import { drawOptions, flag, readOptions, runTool, short, text } from '@brine/swarm/options';
import { texts, UsageError } from '@brine/swarm/options';
import { checkLedger } from './check-ledger.ts';
import { databaseUrlOf } from './database-url.ts';
import { drawReport } from './draw-report.ts';

const OPTIONS = {
  log: texts('<file>', 'log of simulated minions (npm run swarm --log); several are allowed'),
  configDir: short('c', text('<dir>', 'of the master whose database is read')),
  database: text('<url>', 'or the database itself'),
  after: text('<jid>', 'leave jobs up to this one alone', ''),
  fresh: flag('the database served this run only: compare its counters too'),
  json: flag('the report as JSON'),
};

const USAGE = `npm run ledger-check -- --log <file> [options]    the books against what happened

${drawOptions(OPTIONS)}`;

async function main(args: readonly string[]): Promise<number> {
  const { log: logs, database, after, configDir, fresh, json } = readOptions(args, OPTIONS);
  if (logs.length === 0) throw new UsageError('at least one --log is needed');
  const databaseUrl = database ?? (await databaseUrlOf(loadMasterConfig({ configDir }).options));
  const report = await checkLedger({ databaseUrl, logs, fresh, after });
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : drawReport(report));
  return report.ok ? 0 : 1;
}

await runTool({ name: 'ledger-check', usage: USAGE, run: main });
