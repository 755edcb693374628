import { setTimeout as wait } from 'node:timers/promises';
import { parseArguments, yamlArgument } from '@brine/client';
import {
  ConfigError,
  loadMinionConfig,
  type MinionOptions,
  minionOptionsByName,
} from '@brine/config';
import { JidMaker } from '@brine/job';
import {
  ArgumentError,
  Caller,
  type CallOutcome,
  collectGrains,
  ExecutionError,
  InvocationError,
  MinionError,
} from '@brine/minion';
import { MinionKeyFiles } from '@brine/pki';
import { isMap, mapOf, SALT_RELEASE, type SaltMap, type SaltValue } from '@brine/wire';
import { fromJson, masked, pyStr } from '@brine/wire/text';
import { masterAddress, MasterLink } from '@brine/zmq';
import { CALL_FORM } from '../call/call-options.ts';
import { runStockCall } from '../call/stock-call.ts';
import { STOCK_MODULES } from '../call/stock-modules.ts';
import { EXIT, Exit, unhandled } from '../exit-codes.ts';
import { isOn, numberValue, type ParsedOptions, textValue } from '../options/command-form.ts';
import { OptionParser } from '../options/option-parser.ts';
import { DISPLAY_DEFAULTS, emptyOutputFile, Printer } from '../printer.ts';
import { logLine, type Terminal, warnIneffective } from '../terminal.ts';

/** Functions whose values are not shown (Salt: salt/modules/pillar.py). */
const SECRET = /^pillar\.(?:items?|raw|get)$/;

const NO_MODULE =
  "This is Brine's own minion. Run Salt's salt-call for this function, or set brine.python.";

/** `salt-call`: runs a function as the minion of this host. Returns the exit code. */
export async function runCall(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(CALL_FORM);
  const options = parser.parse(args);
  checkOptions(parser, options, terminal);
  emptyOutputFile(options, parser);
  const config = readMinionConfig(options, terminal);
  const printer = new Printer(options, DISPLAY_DEFAULTS, terminal);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error('interrupted'));
  if (terminal.ownsSignals) {
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
  }
  const link = isOn(options, 'local') ? undefined : linkOf(config);
  try {
    const caller = await callerOf(config, link, terminal, stopping.signal);
    const { python } = config.brine;
    if (python !== '' && !isOurs(caller, options)) return await runStockCall(python, args);
    // The texts need neither grains nor a master.
    if (!isOn(options, 'doc')) await caller.begin();
    return await run({ caller, options, config, printer, terminal });
  } catch (error) {
    if (stopping.signal.aborted) {
      terminal.err('\nExiting gracefully on Ctrl-c\n');
      return EXIT.ok;
    }
    if (!(error instanceof MinionError)) throw error;
    const because = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    logLine(terminal, 'ERROR', `${error.message}${because}`);
    return error.exitCode ?? EXIT.generic;
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    await link?.close();
  }
}

function checkOptions(parser: OptionParser, options: ParsedOptions, terminal: Terminal): void {
  const count = options.args.length;
  if (isOn(options, 'grains_run')) {
    if (count > 0) throw parser.error('-g/--grains does not accept any arguments');
    return;
  }
  if (isOn(options, 'doc')) {
    if (count > 1) throw parser.error('You can only get documentation for one method at one time');
    return;
  }
  if (count > 0) return;
  terminal.out(parser.help());
  throw parser.error('Requires function, --grains or --doc');
}

/** True if Brine's own minion has the function, or its documentation. */
function isOurs(caller: Caller, options: ParsedOptions): boolean {
  const [name] = options.args;
  if (isOn(options, 'grains_run')) return true;
  if (name === undefined) return false;
  return isOn(options, 'doc') ? caller.docs(name).size > 0 : caller.has(name);
}

function readMinionConfig(options: ParsedOptions, terminal: Terminal): MinionOptions {
  warnIneffective(terminal, options);
  const configDir = textValue(options, 'config_dir');
  try {
    const { options: found, warnings } = loadMinionConfig(
      configDir === undefined ? {} : { configDir },
    );
    if (warnings.some(({ kind }) => kind === 'missing')) {
      const shown = configDir ?? found.configDir;
      terminal.err(`WARNING: CONFIG '${shown}' directory does not exist.\n`);
    }
    const master = textValue(options, 'master');
    return {
      ...found,
      id: textValue(options, 'id') ?? found.id,
      master: master === undefined ? found.master : master.split(','),
      authTimeout: numberValue(options, 'auth_timeout') ?? found.authTimeout,
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    // Salt reads the file twice.
    if (error.code === 'CONFIG_PARSE') logLine(terminal, 'ERROR', error.message);
    throw new Exit(EXIT.generic);
  }
}

function linkOf(config: MinionOptions): MasterLink {
  const [host = 'salt'] = config.master;
  return new MasterLink({
    ...masterAddress(host, config.masterPort),
    reconnectMs: config.reconDefault,
    reconnectMaxMs: config.reconMax,
    reconnectRandomize: config.reconRandomize,
  });
}

async function callerOf(
  config: MinionOptions,
  link: MasterLink | undefined,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Caller> {
  const keys = new MinionKeyFiles(config.pkiDir);
  const { privateKey } = await keys.loadOrCreate(config.keysize);
  const [master = 'salt'] = config.master;
  const own = fromJson(config.grains);
  const grains = isMap(own) ? own : mapOf({});
  const known = fromJson(minionOptionsByName(config));
  const write = (level: 'WARNING' | 'ERROR') => (_fields: object, text: string) =>
    logLine(terminal, level, text);
  return new Caller(
    {
      settings: config,
      key: privateKey,
      masterKeyFile: keys,
      master: link,
      clock: {
        nowMs: Date.now,
        random: Math.random,
        sleep: (ms, until) => wait(ms, undefined, { signal: until }),
      },
      log: { info: () => undefined, warn: write('WARNING'), error: write('ERROR') },
      collectGrains: () =>
        collectGrains({ id: config.id, master, grains, saltVersion: SALT_RELEASE }),
      config: () => (isMap(known) ? known : mapOf({})),
    },
    signal,
  );
}

interface Run {
  readonly caller: Caller;
  readonly options: ParsedOptions;
  readonly config: MinionOptions;
  readonly printer: Printer;
  readonly terminal: Terminal;
}

async function run({ caller, options, config, printer, terminal }: Run): Promise<number> {
  if (isOn(options, 'doc')) {
    const docs = [...caller.docs(options.args[0])].sort(([a], [b]) =>
      pyStr(a) < pyStr(b) ? -1 : 1,
    );
    for (const [name, doc] of docs) terminal.out(`${pyStr(name)}:\n${pyStr(doc)}\n\n`);
    return EXIT.ok;
  }
  if (isOn(options, 'grains_run')) {
    printer.show(mapOf({ local: caller.grains }), 'nested');
    return EXIT.ok;
  }
  const [fun = '', ...words] = options.args;
  const noParse = (textValue(options, 'no_parse') ?? '').split(',');
  const jid = new JidMaker().next(performance.timeOrigin + performance.now());
  const outcome = await caller.call(fun, parseArguments(words, noParse), jid);
  if (outcome.kind !== 'done') return showUnrun(outcome, fun, printer, terminal);
  if (outcome.retcode !== 0) logFailedCommand(fun, words[0] ?? '', outcome, terminal);
  const ret: SaltMap = mapOf({
    jid,
    return: SECRET.test(fun) ? masked(outcome.value) : outcome.value,
    retcode: outcome.retcode,
    out: outcome.out,
    id: config.id,
    fun,
    fun_args: words,
  });
  const metadata = textValue(options, 'metadata');
  if (metadata !== undefined) ret.set('metadata', yamlArgument(metadata));
  if (!isOn(options, 'local') && !isOn(options, 'no_return_event')) {
    await report(caller, ret, terminal);
  }
  const isWhole = isOn(options, 'print_metadata');
  const shown = isWhole ? ret : (ret.get('return') ?? null);
  printer.show(mapOf({ local: shown }), isWhole ? 'nested' : outcome.out, outcome.retcode);
  if (isOn(options, 'retcode_passthrough')) return outcome.retcode;
  return outcome.retcode === 0 ? EXIT.ok : EXIT.generic;
}

/** The lines that Salt logs for a failed command (Salt: salt/modules/cmdmod.py). */
function logFailedCommand(
  fun: string,
  command: string,
  { value, retcode }: Extract<CallOutcome, { readonly kind: 'done' }>,
  terminal: Terminal,
): void {
  if (fun !== 'cmd.run' && fun !== 'cmd.run_all') return;
  const write = (text: string): void => logLine(terminal, 'ERROR', text);
  const failed = `Command '${command.split(/\s+/)[0] ?? ''}' failed with return code: ${retcode}`;
  const whole = isMap(value) ? value : mapOf({ stdout: value });
  write(failed);
  for (const stream of ['stdout', 'stderr']) {
    const text = pyStr(whole.get(stream) ?? '');
    if (text !== '') write(`${stream}: ${text}`);
  }
  write(`retcode: ${retcode}`);
  if (fun !== 'cmd.run') return;
  write(failed);
  write(`output: ${pyStr(value)}`);
}

/** Reports the return as a new job; the master makes its job id. */
async function report(caller: Caller, ret: SaltMap, terminal: Terminal): Promise<void> {
  const load: SaltMap = new Map<SaltValue, SaltValue>([['cmd', '_return'], ...ret, ['jid', 'req']]);
  try {
    await caller.send(load);
  } catch (error) {
    // Salt prints nothing. The function has run, so show its result anyway.
    if (!(error instanceof MinionError)) throw error;
    logLine(terminal, 'WARNING', `The master did not take the return: ${error.message}`);
  }
}

function showUnrun(
  outcome: Exclude<CallOutcome, { readonly kind: 'done' }>,
  fun: string,
  printer: Printer,
  terminal: Terminal,
): number {
  if (outcome.kind === 'thrown') return showThrown(outcome.error, outcome.doc, fun, terminal);
  const text = `'${fun}' is not available.`;
  if (outcome.docs.size > 0) {
    printer.show(mapOf({ local: new Map(outcome.docs).set(fun, text) }), 'nested');
    return EXIT.generic;
  }
  terminal.err(`${text}\n`);
  if (STOCK_MODULES.has(fun.split('.')[0] ?? '')) {
    terminal.err(`${NO_MODULE}\n`);
  }
  return EXIT.notAvailable;
}

function showThrown(error: unknown, doc: string, fun: string, terminal: Terminal): number {
  if (error instanceof ArgumentError) {
    terminal.err(`\nPassed invalid arguments: ${error.message}.\n\nUsage:\n`);
    terminal.out(`${doc}\n`);
    return EXIT.generic;
  }
  if (error instanceof InvocationError) {
    terminal.err(`${error.message}\n`);
    return EXIT.generic;
  }
  if (error instanceof ExecutionError || error instanceof MinionError) {
    terminal.err(`Error running '${fun}': ${error.message}\n`);
    return EXIT.generic;
  }
  const known = error instanceof Error ? error : new Error(String(error));
  throw unhandled(terminal, `${known.name}: ${known.message}`);
}
