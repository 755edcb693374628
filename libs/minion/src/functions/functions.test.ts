import { SALT_RELEASE, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { describe, expect, test } from 'vitest';
import { collectGrains } from '../grains/collect.ts';
import { linuxGrains, parseOsRelease } from '../grains/os-grains.ts';
import { hostFunctions } from '../modules/index.ts';
import { grainsFunctions } from './grains-functions.ts';
import { missingFunction, type Outcome, runFunction } from './run-function.ts';
import { saltutilFunctions } from './saltutil-functions.ts';
import { docsOf, sysFunctions } from './sys-functions.ts';

const kwarg = (values: Record<string, SaltValue>): SaltMap =>
  new Map<SaltValue, SaltValue>([['__kwarg__', true], ...Object.entries(values)]);

async function run(name: string, ...args: SaltValue[]): Promise<Outcome> {
  const fun = hostFunctions.get(name);
  if (fun === undefined) return missingFunction(name, docsOf(hostFunctions, [`${name}*`]));
  return runFunction(name, fun, args, new Map([['jid', '1']]));
}

describe('arguments', () => {
  test.each([
    ['test.echo', [], "echo() missing 1 required positional argument: 'text'"],
    ['test.ping', [1], 'ping() takes 0 positional arguments but 1 was given'],
    ['test.echo', [1, 2], 'echo() takes 1 positional argument but 2 were given'],
    ['test.echo', ['a', kwarg({ text: 'b' })], "echo() got multiple values for argument 'text'"],
    [
      'test.exception',
      [1, 2],
      'exception() takes from 0 to 1 positional arguments but 2 were given',
    ],
  ])('%s(%j) is refused with the text of Python', async (name, args, text) => {
    const outcome = await run(name, ...args);
    expect(outcome).toMatchObject({ success: false, retcode: 1, out: 'nested' });
    expect(pyStr(outcome.return).split('\n')[0]).toBe(
      `Passed invalid arguments to ${name}: ${text}`,
    );
  });
  test('unknown named arguments are refused with the text of Salt', async () => {
    const outcome = await run('test.ping', kwarg({ x: 1, y: [true] }));
    expect(outcome.return).toBe(
      "ERROR executing 'test.ping': The following keyword arguments are not valid: x=1, y=[True]",
    );
  });
  test('functions that take any name also see the publication', async () => {
    const { return: value } = await run('test.kwarg', kwarg({ a: 1 }));
    expect(value).toEqual(
      new Map<SaltValue, SaltValue>([
        ['a', 1],
        ['__pub_jid', '1'],
      ]),
    );
    const clean = await run('test.arg_clean', 'x', kwarg({ a: 1 }));
    expect(clean.return).toEqual(
      new Map<SaltValue, SaltValue>([
        ['args', ['x']],
        ['kwargs', new Map([['a', 1]])],
      ]),
    );
  });
});

describe('functions', () => {
  test('an unknown function returns an error, or the docs of those that begin alike', async () => {
    expect((await run('no.such')).return).toBe("'no.such' is not available.");
    const { return: value } = await run('test.pin');
    expect([...(value as SaltMap).keys()]).toEqual(['test.ping', 'test.pin']);
  });
  test('errors, exit codes and false results make a job fail', async () => {
    expect(await run('test.raise_exception', 'no')).toMatchObject({
      return: 'ERROR: no',
      retcode: 1,
    });
    expect(pyStr((await run('test.exception', 'boom')).return)).toMatch(
      /^The minion function caused an exception: Error: boom/,
    );
    expect(await run('test.retcode', 7)).toMatchObject({
      return: true,
      retcode: 7,
      success: false,
    });
    const failing = { doc: '', run: () => new Map<SaltValue, SaltValue>([['result', false]]) };
    expect(await runFunction('x.y', failing, [], new Map())).toMatchObject({ retcode: 1 });
  });
  test('numbers keep their types', async () => {
    const { return: value } = await run('test.fib', 100);
    expect((value as SaltValue[])[0]).toBe(354_224_848_179_261_915_075n);
    expect((await run('test.echo', new SaltFloat(1))).return).toEqual(new SaltFloat(1));
    expect((await run('test.collatz', 3)).return).toEqual([3, 10, 5, 16, 8, 4, 2, 1]);
    expect((await run('test.arg_repr', true, null)).return).toEqual(
      new Map([
        ['args', '[True, None]'],
        ['kwargs', "{'__pub_jid': '1'}"],
      ]),
    );
  });
});

describe('data of the minion itself', () => {
  const grains: SaltMap = new Map<SaltValue, SaltValue>([
    ['os', 'Debian'],
    ['roles', ['web', 'db']],
    ['deep', new Map([['a:b', 1]])],
  ]);
  const signals: string[] = [];
  const own = {
    grains: () => grains,
    pillar: () => new Map(),
    jobs: () => [
      {
        jid: '1',
        pid: 7,
        fun: 'test.sleep',
        arg: [9],
        tgt: '*',
        tgtType: 'glob',
        ret: '',
        user: 'root',
      },
    ],
    signalJob: (jid: string, name: string) => signals.push(`${name} ${jid}`) > 0,
    refresh: () => Promise.resolve(),
  };
  const table = new Map([...grainsFunctions(own), ...saltutilFunctions(own)]);
  const ask = async (name: string, ...args: SaltValue[]): Promise<SaltValue> => {
    const fun = table.get(name) ?? sysFunctions(table).get(name);
    return (await runFunction(name, fun!, args, new Map())).return;
  };
  test('grains are found by path', async () => {
    expect(await ask('grains.get', 'roles:1')).toBe('db');
    expect(await ask('grains.get', 'no:such')).toBe('');
    expect(await ask('grains.get', 'no', 'x')).toBe('x');
    expect(await ask('grains.get', 'deep|a:b', kwarg({ delimiter: '|' }))).toBe(1);
    expect(await ask('grains.item', 'os', 'nope')).toEqual(
      new Map([
        ['os', 'Debian'],
        ['nope', ''],
      ]),
    );
    expect(await ask('grains.ls')).toEqual(['deep', 'os', 'roles']);
  });
  test('find_job names a running job and is empty for others', async () => {
    expect(Object.fromEntries((await ask('saltutil.find_job', '1')) as SaltMap)).toEqual({
      pid: 7,
      fun: 'test.sleep',
      arg: [9],
      tgt: '*',
      jid: '1',
      ret: '',
      tgt_type: 'glob',
      user: 'root',
    });
    expect(await ask('saltutil.find_job', '2')).toEqual(new Map());
    expect(await ask('saltutil.kill_job', '1')).toBe('Signal 9 sent to job 1 at pid 7');
    expect(signals).toEqual(['SIGKILL 1']);
  });
  test('sys lists functions and their docs', async () => {
    expect(await ask('sys.list_functions', 'grains')).toContain('grains.items');
    expect(await ask('sys.list_modules')).toEqual(['grains', 'pillar', 'saltutil']);
    expect([...((await ask('sys.doc', 'grains.ls')) as SaltMap).keys()]).toEqual(['grains.ls']);
  });
  test('grains of this host have the names of Salt', async () => {
    const settings = {
      id: 'm1',
      master: 'x',
      grains: new Map([['os', 'Mine']]),
      saltVersion: '3008.5',
    };
    const found = await collectGrains(settings);
    for (const name of ['kernel', 'os_family', 'host', 'fqdn', 'num_cpus', 'mem_total', 'ipv4']) {
      expect(found.get(name), name).toBeTruthy();
    }
    expect(found.get('id')).toBe('m1');
    expect(found.get('os')).toBe('Mine');
    expect(found.get('ipv4')).toContain('127.0.0.1');
    expect(found.get('saltversioninfo')).toEqual(SALT_RELEASE.split('.').map(Number));
  });
  test.each([
    ['ID=ubuntu\nNAME="Ubuntu"\nVERSION_ID="24.04"', ['Ubuntu', 'Debian', 'Ubuntu-24.04', 24]],
    ['ID=debian\nNAME="Debian GNU/Linux"\nVERSION_ID="12"', ['Debian', 'Debian', 'Debian-12', 12]],
    ["ID='rocky'\nNAME=Rocky Linux\nVERSION_ID=9.3", ['Rocky', 'RedHat', 'Rocky Linux-9', 9]],
    ['', ['Linux', 'Linux', 'Linux-', '']],
    ['ID=constructor\nNAME=X', ['X', 'X', 'X-', '']],
  ])('the os-release %j gives %j', (text, expected) => {
    const found = linuxGrains(parseOsRelease(text));
    const names = ['os', 'os_family', 'osfinger', 'osmajorrelease'];
    expect(names.map((name) => found.get(name))).toEqual(expected);
  });
});
