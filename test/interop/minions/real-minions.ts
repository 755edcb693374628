import { createHash } from 'node:crypto';
import { BrineMaster, newestOf, type SaltVenv, saltVenv, type SaltVersion } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const idOf = (version: SaltVersion): string => `real-${version}`;
const LARGE_BYTES = 50 * 1024 * 1024;

type Answers = Record<string, unknown>;

/** Minions of all these releases are served at the same time; the newest must be among them. */
export function describeRealMinions(versions: readonly SaltVersion[]): void {
  const ids = versions.map(idOf);

  describe(`real salt-minions of ${versions.join(', ')}`, () => {
    let master: BrineMaster;
    let venvs: readonly SaltVenv[];

    beforeAll(async () => {
      venvs = await Promise.all(versions.map((version) => saltVenv(version)));
      // All of what follows holds with signed returns too; each release signs in its own way.
      const signed = { require_minion_sign_messages: true, drop_messages_signature_fail: true };
      master = await BrineMaster.start({
        minimum_auth_version: 0,
        ...signed,
        brine: { workers: 2 },
      });
      for (const [index, version] of versions.entries()) {
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
    const all = (value: unknown): Answers => Object.fromEntries(ids.map((id) => [id, value]));

    it('keys wait until an operator accepts them, then every minion answers', async () => {
      const isWaiting = async (): Promise<boolean> => {
        const { stdout } = await master.brine('key', ['-l', 'un', '--out', 'json']);
        const { minions_pre: waiting = [] } = JSON.parse(stdout) as { minions_pre?: string[] };
        expect([...waiting].sort()).toEqual([...ids].sort());
        return true;
      };
      await until('the key of each minion waits', isWaiting, { withinMs: 120_000 });
      const { code, stdout } = await master.brine('key', ['-A', '-y']);
      expect(code).toBe(0);
      for (const id of ids) expect(stdout).toContain(`Key for minion ${id} accepted.`);
      await master.waitForMinions(ids);
      expect(await salt('*', 'test.ping')).toEqual(all(true));
    });

    it('run a command', async () => {
      const answers = await salt('*', 'cmd.run', 'ls /');
      for (const id of ids) expect(String(answers[id]).split('\n')).toContain('tmp');
    });

    it('echo unicode', async () => {
      const text = 'Grüße, 世界 🧂 – ок';
      expect(await salt('*', 'test.echo', text)).toEqual(all(text));
    });

    it('are targeted by the grains they sent with their pillar request', async () => {
      expect(await salt('-G', 'os:*', 'test.ping')).toEqual(all(true));
      const answers = await salt('-G', `saltversion:${newestOf('3008')}`, 'test.ping');
      expect(Object.keys(answers)).toEqual([idOf(newestOf('3008'))]);
    });

    it('run a state', async () => {
      const answers = await salt('*', 'state.single', 'test.nop', 'name=nothing');
      for (const id of ids) {
        const states = Object.values(answers[id] as Record<string, { readonly result: boolean }>);
        expect(states.map((state) => state.result)).toEqual([true]);
      }
    });

    it('return 50 MB, which are stored whole; event readers get the marker', async () => {
      const command = `head -c ${LARGE_BYTES} /dev/zero | tr '\\0' x`;
      const id = idOf(newestOf('3008'));
      const args = [id, 'cmd.run', command, 'python_shell=True', '-t', '90', '--async'];
      const { stdout } = await master.brine('salt', args);
      const jid = /(\d{20})/.exec(stdout)?.[1];
      if (jid === undefined) throw new Error(`no job id in ${stdout}`);
      const want = createHash('sha256').update('x'.repeat(LARGE_BYTES)).digest('hex');
      const run = async (...words: string[]): Promise<Answers> => {
        const ran = await master.brine('run', [...words, jid, '--out', 'json'], 120_000);
        expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
        return JSON.parse(ran.stdout) as Answers;
      };
      // Looked up each time, 50 MB would keep a busy master from storing them.
      const isStored = async (): Promise<boolean> => {
        expect(await run('jobs.missing')).toEqual({});
        return true;
      };
      await until('the return of 50 MB is stored', isStored, { withinMs: 300_000 });
      const text = String((await run('jobs.lookup_jid'))[id]);
      expect(text.length).toBe(LARGE_BYTES);
      expect(createHash('sha256').update(text).digest('hex')).toBe(want);
    }, 400_000);

    it('a waiting CLI gets the marker of max_event_size for a 50 MB return', async () => {
      const command = `head -c ${LARGE_BYTES} /dev/zero | tr '\\0' x`;
      const answers = await salt(idOf(newestOf('3007')), 'cmd.run', command, 'python_shell=True');
      expect(answers).toEqual({ [idOf(newestOf('3007'))]: 'VALUE_TRIMMED' });
    });
  });
}
