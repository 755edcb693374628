import { BrineMaster, saltVenv, type SaltVenv, type SaltVersion } from '@brine/testing';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** 3006.5 speaks payload version 2, the others version 3; all are served at the same time. */
const VERSIONS: readonly SaltVersion[] = ['3006.5', '3006.26', '3007.13', '3008.2'];
const idOf = (version: string): string => `real-${version}`;
const IDS = VERSIONS.map(idOf);
const LARGE_BYTES = 50 * 1024 * 1024;

type Answers = Record<string, unknown>;

describe('real salt-minions of four releases', () => {
  let master: BrineMaster;
  let venvs: readonly SaltVenv[];

  beforeAll(async () => {
    venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
    // All of what follows holds with signed returns too; each release signs in its own way.
    const signed = { require_minion_sign_messages: true, drop_messages_signature_fail: true };
    master = await BrineMaster.start({ minimum_auth_version: 0, ...signed, brine: { workers: 2 } });
    for (const [index, version] of VERSIONS.entries()) {
      const venv = venvs[index];
      if (venv === undefined) throw new Error(`no Salt ${version}`);
      const home = await master.sandbox.minion(idOf(version), master.home.retPort, {
        // A stock minion passes a return over its own event bus, which trims it there otherwise.
        max_event_size: 4 * LARGE_BYTES,
        minion_sign_messages: true,
      });
      master.sandbox.startMinion(venv, home);
    }
  });
  afterAll(async () => {
    await master.close();
  });

  async function salt(...args: string[]): Promise<Answers> {
    const all = [...args, '--static', '--out', 'json', '-t', '60'];
    const { stdout, stderr, code } = await master.brine('salt', all, 180_000);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Answers;
  }
  const all = (value: unknown): Answers => Object.fromEntries(IDS.map((id) => [id, value]));

  it('keys wait until an operator accepts them, then every minion answers', async () => {
    const until = Date.now() + 60_000;
    let waiting: readonly string[] = [];
    while (waiting.length < IDS.length && Date.now() < until) {
      const { stdout } = await master.brine('key', ['-l', 'un', '--out', 'json']);
      waiting = (JSON.parse(stdout) as { minions_pre?: string[] }).minions_pre ?? [];
    }
    expect([...waiting].sort()).toEqual([...IDS].sort());
    const { code, stdout } = await master.brine('key', ['-A', '-y']);
    expect(code).toBe(0);
    for (const id of IDS) expect(stdout).toContain(`Key for minion ${id} accepted.`);
    await master.waitForMinions(IDS);
    expect(await salt('*', 'test.ping')).toEqual(all(true));
  });

  it('run a command', async () => {
    const answers = await salt('*', 'cmd.run', 'ls /');
    for (const id of IDS) expect(String(answers[id]).split('\n')).toContain('tmp');
  });

  it('echo unicode', async () => {
    const text = 'Grüße, 世界 🧂 – ок';
    expect(await salt('*', 'test.echo', text)).toEqual(all(text));
  });

  it('are targeted by the grains they sent with their pillar request', async () => {
    expect(await salt('-G', 'os:*', 'test.ping')).toEqual(all(true));
    const answers = await salt('-G', 'saltversion:3008.2', 'test.ping');
    expect(Object.keys(answers)).toEqual([idOf('3008.2')]);
  });

  it('run a state', async () => {
    const answers = await salt('*', 'state.single', 'test.nop', 'name=nothing');
    for (const id of IDS) {
      const states = Object.values(answers[id] as Record<string, { readonly result: boolean }>);
      expect(states.map((state) => state.result)).toEqual([true]);
    }
  });

  it('return 50 MB, which are stored whole; event readers get the marker', async () => {
    const command = `head -c ${LARGE_BYTES} /dev/zero | tr '\\0' x`;
    const id = idOf('3008.2');
    const args = [id, 'cmd.run', command, 'python_shell=True', '-t', '90', '--async'];
    const { stdout } = await master.brine('salt', args);
    const jid = /(\d{20})/.exec(stdout)?.[1];
    if (jid === undefined) throw new Error(`no job id in ${stdout}`);
    const want = createHash('sha256').update('x'.repeat(LARGE_BYTES)).digest('hex');
    const until = Date.now() + 120_000;
    let text = '';
    while (text === '' && Date.now() < until) {
      const looked = ['jobs.lookup_jid', jid, '--out', 'json'];
      const answer = await master.brine('run', looked, 120_000);
      const returned = JSON.parse(answer.stdout === '' ? '{}' : answer.stdout) as Answers;
      text = typeof returned[id] === 'string' ? returned[id] : '';
    }
    expect(text.length).toBe(LARGE_BYTES);
    expect(createHash('sha256').update(text).digest('hex')).toBe(want);
  });

  it('a waiting CLI gets the marker of max_event_size for a 50 MB return', async () => {
    const command = `head -c ${LARGE_BYTES} /dev/zero | tr '\\0' x`;
    const answers = await salt(idOf('3007.13'), 'cmd.run', command, 'python_shell=True');
    expect(answers).toEqual({ [idOf('3007.13')]: 'VALUE_TRIMMED' });
  });
});

describe('a minion of payload version 2 under the default floor', () => {
  it('is refused with "bad load" and never becomes a waiting key', async () => {
    const venv = await saltVenv('3006.5');
    await using master = await BrineMaster.start({ brine: { workers: 1 } });
    const home = await master.sandbox.minion('old', master.home.retPort);
    const minion = master.sandbox.startMinion(venv, home);
    await minion.waitForLog(/Sign-in attempt failed: bad load/, 60_000);
    const { stdout } = await master.brine('key', ['-L', '--out', 'json']);
    const keys = JSON.parse(stdout) as Record<string, readonly string[]>;
    expect(Object.values(keys).flat()).not.toContain('old');
  });
});
