import {
  CHAOS_PREFIX,
  drawChaos,
  kindsOf,
  nameOf,
  NoInstallation,
  planForStaging,
  runOnStaging,
  spreadOf,
  UsageError,
  type StagingOptions,
} from '@brine/chaos';
import { keepInspectorShut } from '@brine/service';
import { writeFile } from 'node:fs/promises';
import { Exit, EXIT } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { BASE_OPTIONS } from '../options/common-groups.ts';
import { flag, isOn, numberValue, text, textValue, type Option } from '../options/option.ts';
import { OptionParser, type CommandForm } from '../options/parser.ts';
import type { Terminal } from '../terminal.ts';

function int(name: string, dest: string, help: string): Option {
  return { names: [name], dest, kind: 'int', help };
}

const DESCRIPTION = [
  'Random faults at the master that runs on this host, under a load of simulated minions, then a',
  'check of its ledger. For staging only: services, and NATS and PostgreSQL where they are the',
  "master's own, are killed and stopped, and whoever uses the master meanwhile feels it.",
  'Exit code 0 where nothing was lost, counted twice or run twice, and everything serves again.',
].join('\n');

const CHAOS_FORM: CommandForm = {
  prog: 'brine chaos',
  usage: '--yes [options]',
  description: DESCRIPTION,
  version: '0.1.0',
  groups: [
    {
      title: 'Options',
      options: [
        ...BASE_OPTIONS,
        flag(['--yes'], 'yes', 'Really do it; without it the plan is shown, and nothing is done.'),
        int('--faults', 'faults', 'How many. Default: 20.'),
        int('--seed', 'seed', 'Of the plan: the same seed is the same plan. Default: any.'),
        text(['--only'], 'only', 'Kinds, with commas between: kill, stop.'),
        int('--minions', 'minions', `Simulated ones, ${CHAOS_PREFIX}00000 and on. Default: 50.`),
        int('--jobs', 'jobs', 'Jobs per second. Default: 2.'),
        text(['--json'], 'json', 'File that gets the whole report.'),
      ],
    },
  ],
};

const MAX_SEED = 2 ** 31 - 1;

/** `brine chaos`: random faults at this host's master; refuses without `--yes`. */
export async function runChaosCommand(
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parser = new OptionParser(CHAOS_FORM);
  const asked = parser.parse(args);
  if (asked.args.length > 0) throw parser.error(`unknown argument: ${asked.args.join(' ')}`);
  keepInspectorShut();
  const stopping = new AbortController();
  try {
    const staging: StagingOptions = {
      options: readMasterConfig(asked, terminal),
      faults: numberValue(asked, 'faults') ?? 20,
      seed: numberValue(asked, 'seed') ?? Math.floor(Math.random() * MAX_SEED),
      kinds: kindsOf(textValue(asked, 'only')),
      minions: numberValue(asked, 'minions') ?? 50,
      jobs: numberValue(asked, 'jobs') ?? 2,
      tell: (line) => terminal.out(`${line}\n`),
      signal: stopping.signal,
    };
    if (!isOn(asked, 'yes')) return refuse(staging, terminal);
    // The first one ends the run in order, with its check.
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
    const report = await runOnStaging(staging);
    terminal.out(drawChaos(report));
    terminal.out(`the keys stay accepted; remove them: brine key -y -d '${CHAOS_PREFIX}*'\n`);
    const json = textValue(asked, 'json');
    if (json !== undefined) {
      const served = spreadOf(report, 'servedMs');
      const document = { ...report, recovery: { served, stored: spreadOf(report, 'storedMs') } };
      await writeFile(json, `${JSON.stringify(document, null, 2)}\n`);
    }
    return report.ok ? EXIT.ok : EXIT.generic;
  } catch (error) {
    if (error instanceof UsageError || error instanceof RangeError) {
      throw parser.error(error.message);
    }
    if (error instanceof NoInstallation) {
      throw new Exit(EXIT.generic, `brine chaos: ${error.message}\n`);
    }
    throw error;
  }
}

/** Shows what would be done, and does nothing. */
function refuse(staging: StagingOptions, terminal: Terminal): number {
  const { steps, seed } = planForStaging(staging);
  const what = steps.map(({ fault }) => nameOf(fault));
  terminal.out(`seed ${seed}: ${what.join(', ')}\n`);
  terminal.err('brine chaos: nothing was done: this is for staging, and needs --yes\n');
  return EXIT.usage;
}
