import { loadMasterConfig } from '@brine/config';
import { MAX_SEED, readOptions, UsageError, wholeNumber } from '@brine/swarm';
import { kindsOf } from '../arguments.ts';
import { drawChaos, spreadOf } from '../draw-chaos.ts';
import { nameOf } from '../plan.ts';
import { terminalSurroundings, writeReport } from './run-mode.ts';
import { CHAOS_PREFIX, NoInstallation, planForStaging, runOnStaging } from './staging.ts';

/** The help page of the mode. */
export const STAGING_USAGE = `npm run chaos -- --staging [options]

Faults at the master that runs on this host.

For staging only: services, and NATS and PostgreSQL where they are the master's own, are killed and
stopped, and those who use the master meanwhile feel it. Exit code 0 where nothing was lost, counted
twice or run twice, and everything serves again.

  --config-dir <dir>  of the master (/etc/salt)
  --yes               really do it; without it the plan is shown, and nothing is done
  --faults <n>        (20)
  --seed <n>          of the plan; the same seed is the same plan (any)
  --only <kind,…>     of kill, stop
  --minions <n>       simulated ones, ${CHAOS_PREFIX}00000 and on (50)
  --jobs <n>          jobs per second (2)
  --json <file>       the whole report
  --help
`;

const OPTIONS = {
  staging: { type: 'boolean' },
  'config-dir': { type: 'string', short: 'c' },
  yes: { type: 'boolean' },
  faults: { type: 'string' },
  seed: { type: 'string' },
  only: { type: 'string' },
  minions: { type: 'string' },
  jobs: { type: 'string' },
  json: { type: 'string' },
} as const;

/** Salt's exit code (salt/defaults/exitcodes.py): EX_USAGE. */
const EX_USAGE = 64;

/** Random faults at this host's master; refuses without `--yes`. Throws UsageError. */
export async function staging(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(STAGING_USAGE);
    return 0;
  }
  const { values } = readOptions(args, OPTIONS);
  const any = Math.floor(Math.random() * MAX_SEED);
  const asked = {
    options: loadMasterConfig({ configDir: values['config-dir'] }).options,
    faults: wholeNumber('faults', values.faults, [1, 100_000, 20]),
    seed: wholeNumber('seed', values.seed, [0, MAX_SEED, any]),
    kinds: kindsOf(values.only),
    minions: wholeNumber('minions', values.minions, [1, 100_000, 50]),
    jobs: wholeNumber('jobs', values.jobs, [1, 1_000, 2]),
  };
  try {
    const { steps, seed } = planForStaging(asked);
    if (values.yes !== true) {
      const what = steps.map(({ fault }) => nameOf(fault));
      process.stdout.write(`seed ${seed}: ${what.join(', ')}\n`);
      process.stderr.write('chaos: nothing was done: this is for staging, and needs --yes\n');
      return EX_USAGE;
    }
    const report = await runOnStaging({ ...asked, ...terminalSurroundings() });
    process.stdout.write(drawChaos(report));
    process.stdout.write(
      `the keys stay accepted; remove them: brine key -y -d '${CHAOS_PREFIX}*'\n`,
    );
    const recovery = { served: spreadOf(report, 'servedMs'), stored: spreadOf(report, 'storedMs') };
    await writeReport(values.json, { ...report, recovery });
    return report.ok ? 0 : 1;
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message, { cause: error });
    if (!(error instanceof NoInstallation)) throw error;
    process.stderr.write(`chaos: ${error.message}\n`);
    return 1;
  }
}
