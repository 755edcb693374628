import { setTimeout as wait } from 'node:timers/promises';
import { SaltFloat, type SaltValue } from '@brine/wire';
import { pyRepr, pyStr } from '@brine/wire/text';
import {
  type Call,
  ExecutionError,
  type FunctionTable,
  InvocationError,
  type MinionFunction,
} from '../functions/minion-function.ts';

const MAX_FIB = 10_000;
const MAX_SLEEP_S = 7 * 86_400;

const ping: MinionFunction = {
  doc: 'Used to make sure the minion is up and responding. Not an ICMP ping. Returns True.',
  run: () => true,
};

const echo: MinionFunction = {
  doc: 'Return a string - used for testing the connection.',
  parameters: [{ name: 'text' }],
  run: (call) => call.named.get('text') ?? null,
};

const arg: MinionFunction = {
  doc: 'Print out the data passed into the function *args and kwargs.',
  takes: 'both',
  run: (call) =>
    new Map<SaltValue, SaltValue>([
      ['args', [...call.args]],
      ['kwargs', call.kwargs],
    ]),
};

const argClean: MinionFunction = {
  doc: 'Like test.arg but cleans kwargs of the __pub* items.',
  takes: 'both',
  run: (call) =>
    new Map<SaltValue, SaltValue>([
      ['args', [...call.args]],
      ['kwargs', new Map([...call.kwargs].filter(([key]) => !pyStr(key).startsWith('__pub_')))],
    ]),
};

const argType: MinionFunction = {
  doc: 'Print out the types of the args and kwargs.',
  takes: 'both',
  run: (call) =>
    new Map<SaltValue, SaltValue>([
      ['args', call.args.map(typeName)],
      ['kwargs', new Map([...call.kwargs].map(([key, value]) => [key, typeName(value)]))],
    ]),
};

const argRepr: MinionFunction = {
  doc: 'Print out the data passed into the function *args and kwargs, as Python shows it.',
  takes: 'both',
  run: (call) =>
    new Map<SaltValue, SaltValue>([
      ['args', pyRepr([...call.args])],
      ['kwargs', pyRepr(call.kwargs)],
    ]),
};

const kwarg: MinionFunction = {
  doc: 'Print out the data passed into the function **kwargs.',
  takes: 'kwargs',
  run: (call) => call.kwargs,
};

const sleep: MinionFunction = {
  doc: 'Instruct the minion to initiate a process that will sleep for a given period of time.',
  parameters: [{ name: 'length' }],
  run: async (call) => {
    const seconds = numberArgument(call, 'length');
    if (seconds < 0 || seconds > MAX_SLEEP_S) throw new InvocationError('no such length of sleep');
    await wait(seconds * 1000);
    return true;
  },
};

const fib: MinionFunction = {
  doc: 'Return the num-th Fibonacci number, and the time it took to compute in seconds.',
  parameters: [{ name: 'num' }],
  run: (call) => {
    const count = Math.trunc(numberArgument(call, 'num'));
    if (count < 0) throw new InvocationError('Negative number is not allowed!');
    if (count > MAX_FIB) throw new InvocationError(`at most ${MAX_FIB}`);
    const started = performance.now();
    let [a, b] = [0n, 1n];
    for (let i = 0; i < count; i += 1) [a, b] = [b, a + b];
    const found = a <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(a) : a;
    const seconds = (performance.now() - started) / 1000;
    return [found, Number.isInteger(seconds) ? new SaltFloat(seconds) : seconds];
  },
};

const collatz: MinionFunction = {
  doc: 'Execute the collatz conjecture from the passed starting number.',
  parameters: [{ name: 'start' }],
  run: (call) => {
    let current = Math.trunc(numberArgument(call, 'start'));
    const steps: SaltValue[] = [];
    while (current > 1 && steps.length < MAX_FIB) {
      steps.push(current);
      current = current % 2 === 0 ? current / 2 : current * 3 + 1;
    }
    return [...steps, 1];
  },
};

const exception: MinionFunction = {
  doc: 'Raise an exception.',
  parameters: [{ name: 'message', default: 'Test Exception' }],
  run: (call) => {
    throw new Error(pyStr(call.named.get('message') ?? null));
  },
};

const raiseError: MinionFunction = {
  doc: 'Say that the command could not be carried out.',
  parameters: [{ name: 'message', default: 'Test' }],
  run: (call) => {
    throw new ExecutionError(pyStr(call.named.get('message') ?? null));
  },
};

const retcode: MinionFunction = {
  doc: 'Test that the returncode system is functioning correctly.',
  parameters: [{ name: 'code', default: 42 }],
  run: (call) => {
    call.setRetcode(Math.trunc(numberArgument(call, 'code')));
    return true;
  },
};

const randStr: MinionFunction = {
  doc: 'Return a random string of the given size in hexadecimal digits.',
  parameters: [{ name: 'size', default: 64 }],
  run: async (call) => {
    const size = Math.min(Math.trunc(numberArgument(call, 'size')), 16 * 1024 * 1024);
    const { randomBytes } = await import('node:crypto');
    return randomBytes(Math.ceil(Math.max(0, size) / 2))
      .toString('hex')
      .slice(0, size);
  },
};

const constant = (doc: string, value: SaltValue): MinionFunction => ({ doc, run: () => value });

/** The module `test`. */
export const testFunctions: FunctionTable = new Map<string, MinionFunction>([
  ['test.ping', ping],
  ['test.echo', echo],
  ['test.arg', arg],
  ['test.arg_clean', argClean],
  ['test.arg_type', argType],
  ['test.arg_repr', argRepr],
  ['test.kwarg', kwarg],
  ['test.sleep', sleep],
  ['test.fib', fib],
  ['test.collatz', collatz],
  ['test.exception', exception],
  ['test.raise_exception', raiseError],
  ['test.retcode', retcode],
  ['test.rand_str', randStr],
  ['test.true', constant('Always return True.', true)],
  ['test.true_', constant('Always return True.', true)],
  ['test.false', constant('Always return False.', false)],
  ['test.false_', constant('Always return False.', false)],
]);

function numberArgument(call: Call, name: string): number {
  const value = call.named.get(name);
  const number = value instanceof SaltFloat ? value.value : Number(value);
  if (typeof value === 'object' && !(value instanceof SaltFloat)) {
    throw new InvocationError(`argument ${name} must be a number`);
  }
  if (!Number.isFinite(number)) throw new InvocationError(`argument ${name} must be a number`);
  return number;
}

function typeName(value: SaltValue): string {
  if (value === null) return "<class 'NoneType'>";
  if (typeof value === 'string') return "<class 'str'>";
  if (typeof value === 'boolean') return "<class 'bool'>";
  if (typeof value === 'bigint' || Number.isInteger(value)) return "<class 'int'>";
  if (typeof value === 'number' || value instanceof SaltFloat) return "<class 'float'>";
  if (value instanceof Uint8Array) return "<class 'bytes'>";
  return Array.isArray(value) ? "<class 'list'>" : "<class 'dict'>";
}
