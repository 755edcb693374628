import { pack, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { describe, expect, test } from 'vitest';
import { hostFunctions } from '../modules/index.ts';
import { type Outcome, runFunction } from './run-function.ts';

const kwarg = (values: Record<string, SaltValue>): SaltMap =>
  new Map<SaltValue, SaltValue>([['__kwarg__', true], ...Object.entries(values)]);

const run = (name: string, ...args: SaltValue[]): Promise<Outcome> =>
  runFunction(name, hostFunctions.get(name)!, args, new Map([['jid', '1']]));

describe('commands', () => {
  test('both outputs come in order, without white space at the end', async () => {
    const outcome = await run('cmd.run', 'echo a; echo b >&2; echo c; echo');
    expect(outcome).toMatchObject({ return: 'a\nb\nc', retcode: 0, success: true });
  });
  test('a failing command fails the job, unless its code is to be ignored', async () => {
    expect(await run('cmd.run', 'exit 3')).toMatchObject({ retcode: 3, success: false });
    expect(await run('cmd.retcode', 'exit 3')).toMatchObject({ return: 3, retcode: 3 });
    expect(await run('cmd.run', 'exit 3', kwarg({ ignore_retcode: true }))).toMatchObject({
      retcode: 0,
    });
    expect(await run('cmd.run', 'exit 3', kwarg({ success_retcodes: [3] }))).toMatchObject({
      retcode: 0,
    });
  });
  test('output that is no UTF-8 survives the road to the master', async () => {
    const { return: value } = await run('cmd.run', "printf 'a\\377\\376 \\n'");
    expect(Buffer.from(value as Uint8Array)).toEqual(Buffer.from([0x61, 0xff, 0xfe]));
    expect(Buffer.from(unpack(pack(value)) as Uint8Array)).toEqual(Buffer.from([0x61, 0xff, 0xfe]));
  });
  test('directory, environment and input are those that are asked for', async () => {
    const options = kwarg({ cwd: '/', env: new Map([['X', 'y']]), stdin: 'in', clean_env: true });
    const { return: value } = await run('cmd.run_all', 'pwd; echo $X; cat; echo $HOME', options);
    expect((value as SaltMap).get('stdout')).toBe('/\ny\nin');
    expect((await run('cmd.run', 'true', kwarg({ cwd: '/no/such' }))).return).toMatch(/^ERROR: /);
  });
  test('a command that takes too long is ended with all that it started', async () => {
    // A process that is not ended keeps the output open until after this test.
    const outcome = await run('cmd.run', 'sleep 600 & sleep 600', kwarg({ timeout: 1 }));
    expect(pyStr(outcome.return)).toContain('Timed out after 1 seconds');
    expect(outcome.retcode).toBe(1);
  });
  test('a command that does not end its output is ended', async () => {
    expect((await run('cmd.run', 'cat /dev/zero')).return).toBe(
      'ERROR: the command wrote more than 64 MiB',
    );
  });
  test('programs are found along the path', async () => {
    expect((await run('cmd.which', 'sh')).return).toMatch(/\/sh$/);
    expect((await run('cmd.has_exec', 'no-such-program')).return).toBe(false);
    expect((await run('cmd.which', 'no-such-program')).return).toBe(null);
  });
});
