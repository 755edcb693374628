import { realpathSync } from 'node:fs';
import { loadMasterConfig } from '@brine/config';
import { KeyStore } from '@brine/pki';
import { candidatesFor, type CompletionSources } from '../completion/candidates.ts';
import { functionsFile, keepFunctions, knownFunctions } from '../completion/known-functions.ts';
import { behindBreak, completionScript, SHELLS, wordsOf } from '../completion/scripts.ts';
import { EXIT } from '../exit-codes.ts';
import { openLocalMaster } from '../local-master.ts';
import { readMasterConfig } from '../master-config.ts';
import { text, textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { asSaltError } from '../salt/salt-errors.ts';
import type { Terminal } from '../terminal.ts';

/** Number of minions to ask for their functions; minions of a fleet mostly have the same. */
const ASKED_MINIONS = 5;

const FORM = brineForm(
  'completion',
  'Prints the script by which a shell completes commands, options, functions and minion ids.',
  [
    text(['--line'], 'line', 'For the scripts: the line up to the cursor.'),
    text(['--part'], 'part', 'For the scripts: the part of the last word that is replaced.'),
  ],
  '[options] bash|zsh|fish|refresh',
);

/** The command line of this program, which completion runs for help pages. */
export interface Program {
  readonly commands: readonly string[];
  run(program: string, args: readonly string[], terminal: Terminal): Promise<number>;
}

/** `brine completion`: prints the script of a shell, or matching words. Returns the exit code. */
export async function runCompletion(
  program: Program,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parser = new OptionParser(FORM);
  if (args[0] === 'words' && args[1] === '--') return offer(program, args.slice(2), terminal);
  const options = parser.parse(args);
  const [what] = options.args;
  const shell = SHELLS.find((name) => name === what);
  if (shell !== undefined) {
    const [node = 'node', script = 'brine'] = process.argv;
    terminal.out(completionScript(shell, [node, realpathSync(script)]));
    return EXIT.ok;
  }
  if (what === 'words') {
    const words = wordsOf(textValue(options, 'line') ?? '');
    // Without `--part`, whole words are printed.
    const part = options.given.has('part') ? (textValue(options, 'part') ?? '') : undefined;
    return offer(program, words, terminal, part);
  }
  if (what !== 'refresh') throw parser.error(`name a shell: ${SHELLS.join(', ')}; or refresh`);
  const config = readMasterConfig(options, terminal);
  const ids = (await new KeyStore(config.pkiDir).names('accepted')).slice(0, ASKED_MINIONS);
  const master = openLocalMaster(config, terminal);
  try {
    const command = { tgt: ids, tgtType: 'list', fun: 'sys.list_functions', arg: [] };
    const job = await master.client.publish(command, { listen: true });
    const found = new Set<string>();
    if (job !== undefined) {
      for await (const item of master.client.returns(job)) {
        if (item.kind !== 'return' || !Array.isArray(item.ret)) continue;
        for (const name of item.ret) if (typeof name === 'string') found.add(name);
      }
    }
    if (found.size === 0) {
      terminal.err('ERROR: No minion returned its functions\n');
      return EXIT.noReturn;
    }
    const count = await keepFunctions(functionsFile(config.configDir), found);
    terminal.out(`Completion knows ${count} functions.\n`);
    return EXIT.ok;
  } catch (error) {
    const known = asSaltError(error);
    if (known === undefined) throw error;
    terminal.err(`ERROR: ${known.message}\n`);
    return EXIT.noReturn;
  } finally {
    await master.close();
  }
}

/** Prints the matching words, one per line. */
async function offer(
  program: Program,
  words: readonly string[],
  terminal: Terminal,
  part?: string,
): Promise<number> {
  const sources = sourcesOf(program.commands, async (command) => {
    let page = '';
    const quiet = { ...silent, out: (shown: string) => void (page += shown) };
    await program.run('brine', [command, '--help'], quiet);
    return page;
  });
  const typed = words.at(-1) ?? '';
  for (const word of await candidatesFor(words, sources)) {
    terminal.out(`${part === undefined ? word : behindBreak(word, typed, part)}\n`);
  }
  return EXIT.ok;
}

/** A terminal that prints nothing: output would disturb the line that the user types. */
const silent: Terminal = {
  isTerminal: false,
  ownsSignals: false,
  out: () => undefined,
  err: () => undefined,
  ask: () => Promise.resolve(undefined),
  askSecret: () => Promise.resolve(undefined),
  readInput: () => Promise.resolve(''),
};

function sourcesOf(
  commands: readonly string[],
  helpOf: CompletionSources['helpOf'],
): CompletionSources {
  const configOf = (configDir: string | undefined) => loadMasterConfig({ configDir }).options;
  return {
    commands,
    helpOf,
    ids: async (which, configDir) => {
      const store = new KeyStore(configOf(configDir).pkiDir);
      const shelves =
        which === 'all' ? (['accepted', 'pending', 'rejected', 'denied'] as const) : [which];
      const names = await Promise.all(
        // A missing or unreadable directory has no ids.
        shelves.map((shelf) => store.names(shelf).catch(() => [])),
      );
      return names.flat();
    },
    functions: async (configDir) => knownFunctions(functionsFile(configOf(configDir).configDir)),
    runners: async () => {
      const { RUNNERS } = await import('@brine/runners');
      const { COMMAND_FUNCTIONS } = await import('@brine/runners/command');
      return [...RUNNERS.keys(), ...COMMAND_FUNCTIONS.map(({ name }) => name)];
    },
    nodegroups: async (configDir) => Object.keys(configOf(configDir).nodegroups),
  };
}
