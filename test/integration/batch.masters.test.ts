// What a batch prints, against recordings of real commands, and its runners.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BrineMaster, type SaltProcess } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Case {
  readonly name: string;
  readonly version: string;
  readonly argv: readonly string[];
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

const RECORDED = fileURLToPath(new URL('../fixtures/transcripts/batch.json', import.meta.url));
/** Their functions are modules of the recorded minions, or their text a stack of Python. */
const OTHERS = /retcode|state|no-return-value|invalid|unknown-function/;
const IDS = ['web1.example', 'web2.example', 'db1.example'];
const DEAD = 'dead1.example';

const cases = (JSON.parse(await readFile(RECORDED, 'utf8')) as readonly Case[]).filter(
  ({ name, version }) => version.startsWith('3008.') && !OTHERS.test(name),
);

/** Which minion answers first is chance: they are called by the order in which they are named. */
function normalised(text: string): string {
  const names = new Map<string, string>();
  const plain = text
    .replace(/\b\d{20}\b/g, '<JID>')
    // The parts of a display are sorted, so this id stands before the others where `web1` does not.
    .replace(/(db1\.example:\n {4}True\n)(jid:\n {4}<JID>\nretcode:\n {4}0\n)/g, '$2$1');
  const named = plain.replace(/\b(?:web\d|db\d)\.example/g, (id) => {
    if (!names.has(id)) names.set(id, `minion-${names.size + 1}`);
    return names.get(id) ?? '';
  });
  // Of minions that run at the same time, which one returns first is chance too.
  if (!named.includes("Executing run on ['minion-1', 'minion-2']")) return named;
  return named.replace(/(?:jid:\n.*\nretcode:\n.*\nminion-\d:\n.*\n){2,}/g, (returns) =>
    returns
      .split(/(?=jid:\n)/)
      .sort()
      .join(''),
  );
}

describe('a batch at a whole master', () => {
  let master: BrineMaster;
  let dead: SaltProcess;

  beforeAll(async () => {
    master = await BrineMaster.start({ brine: { workers: 2 }, timeout: 5 });
    for (const id of IDS) await master.startMinion(id);
    dead = await master.startMinion(DEAD);
    await master.acceptKeys([...IDS, DEAD]);
    await master.waitForMinions([...IDS, DEAD]);
    await dead.stop();
  });
  afterAll(async () => {
    await master?.close();
  });

  const salt = (...args: readonly string[]) => master.brine('salt', args);
  const run = async (...args: readonly string[]): Promise<unknown> => {
    const { stdout } = await master.brine('run', [...args, '--out', 'json']);
    return JSON.parse(stdout) as unknown;
  };

  /** A command that ends once its gate is opened, or by itself when the test is over. */
  function gateOf(name: string): { readonly waitsFor: string; readonly open: () => Promise<void> } {
    const path = join(master.sandbox.dir, `gate-${name}`);
    const waitsFor = `for n in $(seq 900); do test -e ${path} && break; sleep 0.2; done`;
    return { waitsFor, open: () => writeFile(path, '') };
  }

  it.each(cases)('$name prints what Salt prints', async ({ argv, exit, stdout, stderr }) => {
    const printed = await salt(...argv.slice(3));
    expect(normalised(printed.stdout)).toBe(normalised(stdout));
    expect(printed.stderr).toBe(stderr);
    expect(printed.code).toBe(exit);
  });

  it('ends with the highest retcode, and with failhard at the first', async () => {
    const all = await salt('-b', '1', 'web*', 'cmd.run', 'exit 3');
    expect(all.code).toBe(3);
    expect(all.stdout.match(/Executing run on/g)).toHaveLength(2);
    const first = await salt('-b', '1', '--failhard', 'web*', 'cmd.run', 'exit 3');
    expect(first.code).toBe(3);
    expect(first.stdout.match(/Executing run on/g)).toHaveLength(1);
    expect(first.stderr).toBe('[ERROR   ] Batch run stopped due to failhard\n');
  });

  it('without minions, or with none that answers, it ends with 2', async () => {
    const ended = { code: 2, stderr: 'ERROR: No return received\n' };
    expect(await salt('-b', '1', 'nobody', 'test.ping')).toMatchObject({
      ...ended,
      stdout:
        'No minions matched the target. No command was sent, no jid was assigned.\n' +
        'No minions matched the target.\n',
    });
    const down = `Minion ${DEAD} did not respond. No job will be sent.\n`;
    const silent = await salt('-b', '1', '-t', '2', DEAD, 'test.ping');
    expect(silent).toMatchObject({ ...ended, stdout: '' });
    const both = await salt('-b', '1', '-t', '2', '-L', `${DEAD},ghost,web1.example`, 'test.ping');
    expect(both.code).toBe(0);
    expect(both.stdout.startsWith(`${down}\nExecuting run on ['web1.example']`)).toBe(true);
  });

  it('a size that is none is refused before anything runs', async () => {
    const { code, stdout, stderr } = await salt('-b', 'abc', 'web*', 'test.ping');
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain("SaltInvocationError: Invalid batch specification 'abc'");
  });

  it.each([
    ['a grain', ['-G', 'id:web*']],
    ['a compound', ['-C', 'G@id:web* or nomatch*']],
    ['a glob', ['web*']],
  ])('the safe limit counts the minions of %s', async (_kind, target) => {
    const limits = ['--batch-safe-limit', '2', '--batch-safe-size', '1'];
    const { code, stdout } = await salt(...limits, ...target, 'test.ping');
    expect(code).toBe(0);
    expect(stdout).toContain('NOTICE: Too many minions targeted, switching to batch execution.');
    expect(stdout.match(/Executing run on/g)).toHaveLength(2);
  });

  it('the preview of a target by grains names its minions', async () => {
    const { stdout } = await salt('-G', 'id:web*', '--preview-target', '--out', 'json');
    expect(JSON.parse(stdout)).toEqual(['web1.example', 'web2.example']);
  });

  it('--async names the minions that do not answer before the job id', async () => {
    const { code, stdout } = await salt(
      ...['--async', '-b', '1', '-t', '2', '-L', `web1.example,${DEAD}`, 'test.ping'],
    );
    expect(stdout.replace(/\d{20}/, '<JID>')).toBe(
      `Minion ${DEAD} did not respond. No job will be sent.\n` +
        'Executed batch command with job ID: <JID>\n',
    );
    expect(code).toBe(0);
  });

  it('canaries that fail end a batch before it reaches the others', async () => {
    const args = ['-b', '2', '--batch-canary', '1', '*.example', 'cmd.run', 'exit 4', '-t', '2'];
    const { code, stdout, stderr } = await salt(...args);
    expect(code).toBe(4);
    expect(stdout.match(/Executing run on/g)).toHaveLength(1);
    expect(stderr).toContain('Batch run stopped: one of its first minions failed');
  });

  it('goes on without its command, and is paused, resumed and looked at by runners', async () => {
    // The pause comes before the first of them has returned, on any machine.
    const gate = gateOf('pause');
    const { stdout } = await salt('--async', '-b', '1', 'web*', 'cmd.run', gate.waitsFor);
    const jid = /\d{20}/.exec(stdout)?.[0] ?? '';
    await until('it is listed', async () => {
      const listed = (await run('batch.list_active')) as { jid: string }[];
      return listed.some((one) => one.jid === jid);
    });
    expect(await run('batch.pause', jid)).toBe(true);
    await gate.open();
    const status = async () => (await run('batch.status', jid)) as Record<string, unknown>;
    await until('none is active', async () => (await status())['active'] === 0, {
      withinMs: 40_000,
    });
    expect(await status()).toMatchObject({ total: 2, paused: true, driver: 'master' });
    expect(await run('batch.resume', jid)).toBe(true);
    await until('it is done', async () => (await status())['completed'] === 2, {
      withinMs: 40_000,
    });
    expect(await status()).toMatchObject({ jid, active: 0, pending: 0, failed: 0, halted: false });
    expect(await run('batch.stop', jid)).toBe(false);
    expect(await run('batch.status', '20200101000000000000')).toBeNull();
  });

  it('is stopped by a runner', async () => {
    const gate = gateOf('stop');
    const { stdout } = await salt('--async', '-b', '1', 'web*', 'cmd.run', gate.waitsFor);
    const jid = /\d{20}/.exec(stdout)?.[0] ?? '';
    expect(await run('batch.stop', jid)).toBe(true);
    await gate.open();
    await until('it is halted', async () => {
      const status = (await run('batch.status', jid)) as Record<string, unknown>;
      return status['halted'] === true && status['halted_reason'] === 'stop';
    });
  });
});
