import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { childEnvironment } from '@brine/environment';
import { sleepUnless } from '@brine/tasks';
import { loadYaml } from '@brine/yaml';
import { OptionError, Options } from '../child/options.ts';
import type { EngineContext, EngineStart, Plain } from '../engine.ts';
import { isObject } from '../engine-list.ts';
import { plainOf } from '../plain.ts';

const LINE_MAX_CHARS = 1024 * 1024;
/** Limit of tags of a script whose last data are remembered (`onchange`). */
const TAGS_MAX = 1_000;

/**
 * Runs a command repeatedly; each line of its output is an event with `tag` and `data`
 * (salt/engines/script.py).
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const [program, ...args] = splitWords(options.text('cmd'));
  const read = readerOf(options.oneOf('output', ['json', 'yaml'], 'json'));
  const intervalMs = options.number('interval', 1, { min: 0.1, max: 7 * 86_400 }) * 1000;
  const onChange = options.flag('onchange', false);
  if (program === undefined) throw new OptionError('cmd names no program');
  const last = new Map<string, string>();
  const counts = { runs: 0, events: 0, failed: 0 };
  while (!engine.stopping.aborted) {
    counts.runs += 1;
    const why = await runOnce(engine, [program, ...args], async (line) => {
      const event = eventIn(read(line), engine.masterId);
      if (event === undefined) return;
      const text = JSON.stringify(event.data);
      if (onChange && last.get(event.tag) === text) return;
      await engine.fire(event.tag, event.data);
      counts.events += 1;
      if (onChange && last.size < TAGS_MAX) last.set(event.tag, text);
    });
    if (why !== undefined) counts.failed += 1;
    if (why !== undefined) engine.log('error', why);
    engine.tell(counts);
    await sleepUnless(intervalMs, engine.stopping);
  }
};

/** Runs the command once; resolves with the reason of a failure. */
async function runOnce(
  engine: EngineContext,
  [program = '', ...args]: readonly string[],
  take: (line: string) => Promise<void>,
): Promise<string | undefined> {
  // As in Salt, stderr counts too.
  const child = spawn(program, args, {
    env: childEnvironment(process.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const kill = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  };
  const onStop = (): void => {
    try {
      kill();
    } catch {
      // The process has ended by itself.
    }
  };
  engine.stopping.addEventListener('abort', onStop);
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`the command does not start: ${error.message}`));
    child.once('close', (code, signal) => {
      resolve(code === 0 ? undefined : `the command ended with ${signal ?? `code ${code ?? '?'}`}`);
    });
  });
  const lines = [child.stdout, child.stderr].map(async (input) => {
    for await (const line of createInterface({ input })) {
      if (line.trim() === '' || line.length > LINE_MAX_CHARS) continue;
      try {
        await take(line);
      } catch (error) {
        engine.log('warn', `a line was not made an event: ${(error as Error).message}`);
      }
    }
  });
  const [why] = await Promise.all([ended, ...lines]);
  engine.stopping.removeEventListener('abort', onStop);
  return why;
}

function readerOf(output: 'json' | 'yaml'): (line: string) => Plain {
  if (output === 'json') return (line) => JSON.parse(line) as Plain;
  return (line) => plainOf(loadYaml(line));
}

/** The event of a line; undefined for a line without a tag. */
export function eventIn(
  value: Plain,
  masterId: string,
): { readonly tag: string; readonly data: { readonly [key: string]: Plain } } | undefined {
  if (!isObject(value)) throw new Error('it is no map');
  const { tag, data = {} } = value;
  if (typeof tag !== 'string' || tag === '') return undefined;
  if (!isObject(data)) throw new Error('its data is no map');
  const isEmpty = Object.keys(data).length === 0;
  return { tag, data: isEmpty || Object.hasOwn(data, 'id') ? data : { ...data, id: masterId } };
}

/** Splits a line with quotes and backslashes as a shell does (Python: shlex.split). */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] ?? '';
    const escapes = char === '\\' && quote !== "'";
    if (escapes) {
      at += 1;
      word = (word ?? '') + (line[at] ?? '');
    } else if (quote !== '' ? char === quote : char === '"' || char === "'") {
      quote = quote === '' ? char : '';
      word ??= '';
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== '') throw new OptionError('cmd has a quote without an end');
  if (word !== undefined) words.push(word);
  return words;
}
