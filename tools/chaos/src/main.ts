import { readFile } from 'node:fs/promises';
import { UsageError } from '@brine/swarm';
import { readArguments, USAGE } from './arguments.ts';
import { drawChaos, spreadOf } from './draw-chaos.ts';
import { nodes } from './modes/nodes-main.ts';
import { runOnOwnMaster } from './modes/own.ts';
import { rolling } from './modes/rolling/main.ts';
import { terminalSurroundings, writeReport } from './modes/run-mode.ts';
import { staging } from './modes/staging-mode.ts';
import { tree } from './modes/tree/main.ts';
import { readPlan } from './plan.ts';

/** Salt's exit codes (salt/defaults/exitcodes.py): EX_GENERIC, EX_USAGE. */
const EXIT = { failed: 1, usage: 64 } as const;

async function main(args: readonly string[]): Promise<number> {
  if (args.some((arg) => arg.startsWith('--rolling'))) return rolling(args);
  if (args.some((arg) => arg.startsWith('--nodes'))) return nodes(args);
  if (args.some((arg) => arg.startsWith('--tree'))) return tree(args);
  if (args.includes('--staging')) return staging(args);
  const asked = readArguments(args);
  if (asked.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const plan =
    asked.replay === undefined ? undefined : readPlan(await readFile(asked.replay, 'utf8'));
  const { report } = await runOnOwnMaster({
    ...asked,
    ...(plan === undefined ? {} : { plan, seed: plan.seed }),
    ...terminalSurroundings(),
  });
  process.stdout.write(drawChaos(report));
  const recovery = { served: spreadOf(report, 'servedMs'), stored: spreadOf(report, 'storedMs') };
  await writeReport(asked.json, { ...report, recovery });
  return report.ok ? 0 : EXIT.failed;
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    const usage = error instanceof UsageError;
    const { message, stack = message } = error as Error;
    process.stderr.write(usage ? `chaos: ${message}\n\n${USAGE}` : `chaos: ${stack}\n`);
    process.exitCode = usage ? EXIT.usage : EXIT.failed;
  },
);
