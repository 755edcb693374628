import {
  ArgumentError,
  bindArguments,
  InvocationError,
  testFunctions,
} from '@brine/minion/functions';
import { isMap, mapOf, SALT_RELEASE, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import type { RunnerFunction } from '../function.ts';
import { targetOf } from './meant.ts';
import { returnsOf, waitOf } from './run-on-minions.ts';

const cmd: RunnerFunction = {
  name: 'salt.cmd',
  parameters: [['fun']],
  open: 'any',
  doc:
    'Runs a function of the module test in the master: salt.cmd <function> [arguments]. Other ' +
    'modules are not available in the master. with_pillar is without effect: no function of test ' +
    'reads a pillar.',
  async run({ named, args, kwargs }) {
    const name = pyStr(named.get('fun') ?? '');
    if (name === 'test.version') return { value: SALT_RELEASE };
    const fun = testFunctions.get(name);
    if (fun === undefined) return { value: `'${name}' is not available.` };
    const clean = [...kwargs].filter(([key]) => !pyStr(key).startsWith('__'));
    const given = { args, kwargs: new Map(clean.filter(([key]) => key !== 'with_pillar')) };
    let retcode = 0;
    try {
      const call = bindArguments(name, fun, given, mapOf({}));
      const value = await fun.run({ ...call, setRetcode: (code) => (retcode = code) });
      return { value, retcode };
    } catch (error) {
      if (error instanceof ArgumentError || error instanceof InvocationError) {
        throw new InvalidArgumentsError(error.message);
      }
      throw error;
    }
  },
};

/** Keywords of a publication that do not identify its caller. */
const OPEN_KEYWORDS: ReadonlySet<SaltValue> = new Set(['delimiter', 'metadata']);

/**
 * Further keywords of `LocalClient.cmd`; credentials and rights are those of the runner's caller.
 */
function publishedKeywords(kwargs: SaltMap): SaltMap {
  const given = [...kwargs].filter(([name]) => name !== 'full_return');
  const others = given.filter(([name]) => !OPEN_KEYWORDS.has(name)).map(([name]) => pyStr(name));
  if (others.length > 0) {
    throw new Error(`${others.join(', ')}: not in force; arguments of the function go to kwarg`);
  }
  return new Map(given);
}

const execute: RunnerFunction = {
  name: 'salt.execute',
  parameters: [
    ['tgt'],
    ['fun'],
    ['arg', []],
    ['timeout', null],
    ['tgt_type', 'glob'],
    ['ret', ''],
    ['jid', ''],
    ['kwarg', null],
  ],
  open: 'kwargs',
  doc:
    'Runs a function on minions and shows what they return. arg: its arguments, a list or one ' +
    'value; kwarg: its keywords, a dictionary. timeout: seconds; tgt_type: kind of target ' +
    '(default glob); ret: returners; jid: a job id of your own; also delimiter, metadata, ' +
    'full_return. A minion without a return has a text about it.',
  async run({ named, kwargs }, context) {
    const arg = named.get('arg') ?? [];
    const kwarg = named.get('kwarg') ?? null;
    if (kwarg !== null && !isMap(kwarg)) {
      throw new InvalidArgumentsError('kwarg must be a dictionary');
    }
    const words = Array.isArray(arg) ? arg : [arg];
    const keywords = new Map<SaltValue, SaltValue>([['__kwarg__', true], ...(kwarg ?? [])]);
    const published = publishedKeywords(kwargs);
    const timeoutMs = waitOf('timeout', named.get('timeout'));
    const [ret, jid] = [pyStr(named.get('ret') ?? ''), pyStr(named.get('jid') ?? '')];
    const command = {
      tgt: targetOf(named.get('tgt')),
      tgtType: pyStr(named.get('tgt_type') ?? 'glob'),
      fun: pyStr(named.get('fun') ?? ''),
      arg: keywords.size > 1 ? [...words, keywords] : words,
      ...(ret === '' ? {} : { ret }),
      ...(jid === '' ? {} : { jid }),
      ...(published.size === 0 ? {} : { kwargs: published }),
    };
    const wait = timeoutMs === undefined ? {} : { timeoutMs };
    const full = isTruthy(kwargs.get('full_return'));
    return { value: await returnsOf(context, command, wait, full) };
  },
};

export const SALT_RUNNER: readonly RunnerFunction[] = [cmd, execute];
