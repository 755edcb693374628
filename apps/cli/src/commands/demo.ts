import { relative } from 'node:path';
import { keepInspectorShut } from '@brine/service';
import { makeDemoDirectory } from '../demo/demo-directory.ts';
import { Demo, DemoError } from '../demo/demo-run.ts';
import { EXIT } from '../exit-codes.ts';
import { flag, isOn } from '../options/command-form.ts';
import { BASE_OPTIONS, BRINE_VERSION } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

/** `brine demo`: runs a master, two minions and three jobs, in a temporary directory. */
export async function runDemo(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser({
    prog: 'brine demo',
    usage: '[options]',
    description: 'Starts a master and two minions, runs three jobs, shows their traces, stops.',
    version: BRINE_VERSION,
    groups: [
      {
        title: 'Options',
        options: [
          ...BASE_OPTIONS.filter(({ dest }) => dest === 'help' || dest === 'version'),
          flag(['--stay'], 'stay', 'Keep running until Ctrl-C, to try things out.'),
          flag(['--keep'], 'keep', 'Keep the directory.'),
        ],
      },
    ],
  });
  const options = parser.parse(args);
  keepInspectorShut();
  const directory = await makeDemoDirectory();
  const demo = new Demo(directory, terminal);
  const stopped = stopSignal();
  let keep = isOn(options, 'keep');
  process.once('exit', () => {
    demo.kill();
    if (!keep) directory.remove();
  });
  try {
    const ended = await Promise.race([perform(demo, terminal, isOn(options, 'stay')), stopped]);
    return ended;
  } catch (error) {
    if (!(error instanceof DemoError)) throw error;
    keep = true;
    terminal.err(`\nThe demonstration failed: ${error.message}\n${error.advice}\n`);
    terminal.err(`Everything is kept in ${directory.root} (the master's log: log/console).\n`);
    return EXIT.generic;
  } finally {
    terminal.out('stopping …\n');
    await demo.stop();
    if (!keep) directory.remove();
    terminal.out('stopped.\n');
  }
}

async function perform(demo: Demo, terminal: Terminal, stay: boolean): Promise<number> {
  terminal.out(`Starting a master in ${demo.directory.root}\n`);
  await demo.startMaster();
  await demo.startMinions();
  const jid = await demo.runJob(['*', 'test.ping']);
  await demo.runJob(['*', 'cmd.run', 'ls']);
  await demo.runJob(['*', 'grains.item', 'os']);
  await demo.showRecord(jid);
  await demo.showTrace(jid);
  if (!stay) return EXIT.ok;
  await demo.showConsole();
  terminal.out(usage(demo));
  throw new DemoError(await demo.masterEnd(), '');
}

function usage({ directory, stopLastMinion }: Demo): string {
  const program = relative(process.cwd(), process.argv[1] ?? 'brine') || 'brine';
  const c = `-c ${directory.root}`;
  return [
    'The master keeps running. Try, in another terminal:',
    '',
    `  ${program} salt ${c} '*' test.ping`,
    `  ${program} salt ${c} one.demo cmd.run 'uname -a'`,
    `  ${program} key ${c} -L`,
    `  ${program} run ${c} jobs.list_jobs`,
    `  ${program} trace ${c} <jid>`,
    `  ${program} status ${c}`,
    `  ${program} console ${c}`,
    '',
    `Minion two stops by "${stopLastMinion}": then ask why it does not return.`,
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n');
}

/** Resolves on the first SIGINT or SIGTERM; the second one ends the process. */
function stopSignal(): Promise<number> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      let seen = false;
      process.on(signal, () => {
        if (seen) process.exit(EXIT.generic);
        seen = true;
        resolve(EXIT.ok);
      });
    }
  });
}
