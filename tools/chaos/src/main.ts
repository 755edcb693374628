import { readFile, writeFile } from 'node:fs/promises';
import { readArguments, USAGE, UsageError } from './arguments.ts';
import { drawChaos, spreadOf } from './draw-chaos.ts';
import { runOnOwnMaster } from './own-run.ts';
import { nodes } from './nodes/main.ts';
import { readPlan } from './plan.ts';
import { rolling } from './rolling/main.ts';
import { tree } from './tree/main.ts';

/** Salt's exit codes (salt/defaults/exitcodes.py): EX_GENERIC, EX_USAGE. */
const EXIT = { failed: 1, usage: 64 } as const;

async function main(args: readonly string[]): Promise<number> {
  if (args.some((arg) => arg.startsWith('--rolling'))) return rolling(args);
  if (args.some((arg) => arg.startsWith('--nodes'))) return nodes(args);
  if (args.some((arg) => arg.startsWith('--tree'))) return tree(args);
  const asked = readArguments(args);
  if (asked.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const tell = (line: string): void => void process.stdout.write(`${line}\n`);
  const stopping = new AbortController();
  // The first one ends the run in order, with its check; the second one as signals do.
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stopping.abort());
  }
  const plan =
    asked.replay === undefined ? undefined : readPlan(await readFile(asked.replay, 'utf8'));
  const { report } = await runOnOwnMaster({
    ...asked,
    ...(plan === undefined ? {} : { plan, seed: plan.seed }),
    tell,
    signal: stopping.signal,
  });
  process.stdout.write(drawChaos(report));
  if (asked.json !== undefined) {
    const recovery = { served: spreadOf(report, 'servedMs'), stored: spreadOf(report, 'storedMs') };
    await writeFile(asked.json, `${JSON.stringify({ ...report, recovery }, null, 2)}\n`);
  }
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
