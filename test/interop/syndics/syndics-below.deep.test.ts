import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BrineMaster,
  endPool,
  freePorts,
  type SaltHome,
  type SaltVenv,
  saltVenv,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stockConfig, waitFor as waitSo } from '../stock-tools/stock-tools.ts';
import { LowerMaster, TREE_APPLIED, TREE_STATES } from './stock-tree.ts';

/** BRINE_TREE_MINIONS: that many in all below the two syndics. */
const EACH = Math.max(2, Number(process.env['BRINE_TREE_MINIONS'] ?? 4) / 2);
const named = (name: string): string[] =>
  Array.from({ length: EACH }, (_, n) => `${name}-${n + 1}`);
const LOWER = [
  { version: '3008.2', syndic: 'syn-new', minions: named('new') },
  { version: '3006.26', syndic: 'syn-old', minions: named('old') },
] as const;
const [NEW, OLD] = LOWER.map(({ minions }) => [...minions].sort()) as [string[], string[]];
const BELOW = LOWER.flatMap(({ minions }) => [...minions]);
const ALL = ['up-1', ...BELOW];

/** All of a tree on one machine, which other tests share. */
const waitFor = (what: string, isSo: () => Promise<boolean>): Promise<void> =>
  waitSo(what, isSo, EACH > 2 ? 600_000 : 150_000);

interface Standing {
  readonly id: string;
  readonly state: string;
  readonly unexpected: boolean;
}

describe('real salt-syndics of two releases below Brine', () => {
  let postgres: TestPostgres;
  let pool: pg.Pool;
  let master: BrineMaster;
  let venv: SaltVenv;
  let home: SaltHome;
  const lower: LowerMaster[] = [];

  beforeAll(async () => {
    venv = await saltVenv('3008.2');
    const venvs = await Promise.all(LOWER.map(({ version }) => saltVenv(version)));
    const ports = await freePorts(2 * LOWER.length);
    const publishPorts = ports.slice(0, LOWER.length);
    postgres = await startPostgres();
    pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
    master = await BrineMaster.start(
      {
        auto_accept: true,
        order_masters: true,
        master_id: 'upper',
        // From the job on: in that time the lower masters must list the minions they expect.
        syndic_wait: 6,
        brine: {
          workers: 2,
          event_framing: 'bare',
          // A stock syndic looks for the number of its own publish_port.
          further_publish_ports: publishPorts,
          syndics: ['syn-*'],
        },
      },
      { env: { DATABASE_URL: postgres.url } },
    );
    home = await stockConfig(master, '3008.2', 'bare', 'local_cache');
    await master.startMinion('up-1');
    lower.push(
      ...(await Promise.all(
        LOWER.map(({ syndic, minions }, n) =>
          LowerMaster.start({
            venv: venvs[n]!,
            syndic,
            minions,
            publishPort: publishPorts[n]!,
            retPort: ports[LOWER.length + n]!,
            upperPort: master.home.retPort,
            states: TREE_STATES,
          }),
        ),
      )),
    );
    const answered = new Set<string>();
    await waitFor('the answers of all', async () => {
      const { stdout } = await brine('*', 'test.ping', '--static', '--out', 'json', '-t', '2');
      for (const id of Object.keys(json(stdout))) answered.add(id);
      return ALL.every((id) => answered.has(id));
    });
  });
  afterAll(async () => {
    await Promise.all(lower.map((one) => one.close()));
    await master?.close();
    await endPool(pool);
    await postgres?.stop();
  });

  const brine = (...args: string[]) => master.brine('salt', args);
  const stock = (command: string, ...args: string[]) =>
    master.sandbox.run(venv, command, home, args);

  async function ledger(jid: string): Promise<readonly Standing[]> {
    const text = 'SELECT id, state, unexpected FROM brine.ledger WHERE jid = $1 ORDER BY id';
    return (await pool.query<Standing>(text, [jid])).rows;
  }
  const standing = (id: string, state: string): Standing => ({ id, state, unexpected: false });
  async function reaches(jid: string, expected: readonly Standing[]): Promise<void> {
    await waitFor(`the ledger of ${jid}`, async () => {
      const now = await ledger(jid);
      return JSON.stringify(now) === JSON.stringify(expected);
    }).catch(async () => expect(await ledger(jid)).toEqual(expected));
  }

  // What a stock master of masters (3008.2) prints above the same lower master, minions sorted.
  it.each([
    ['*', ['test.ping'], ALL.map((id) => `${id}:\n    True\n`).sort(), 0],
    ['new-*', ['cmd.run', 'exit 3'], NEW.map((id) => `${id}:\n`).sort(), 1],
    ['nobody*', ['test.ping', '-t', '1'], [], 0],
  ] as const)(
    'salt of both prints for %s %j what a stock tree prints',
    async (tgt, args, blocks, code) => {
      for (const run of [brine, (...all: string[]) => stock('salt', ...all)]) {
        const got = await run(tgt, ...args);
        expect(got.stdout.split(/^(?=\S)/m).sort()).toEqual(blocks.length > 0 ? blocks : ['']);
        expect(got.code).toBe(code);
      }
    },
  );

  it('state.apply gives what the states of the lower masters come to', async () => {
    for (const run of [brine, (...all: string[]) => stock('salt', ...all)]) {
      // Without --static: that ends at the first return, since above none of these is known.
      const args = ['-E', '(new|old)-.*', 'state.apply', 'tree', '--out', 'json', '-t', '15'];
      const { stdout, code } = await run(...args);
      const printed = stdout.trim().split(/\n(?=\{)/);
      const got = Object.assign({}, ...printed.map(json)) as Record<string, unknown>;
      expect(Object.keys(got).sort()).toEqual([...BELOW].sort());
      expect(printed).toHaveLength(BELOW.length);
      for (const states of Object.values(got)) expect(states).toMatchObject(TREE_APPLIED);
      expect(code).toBe(0);
    }
  });

  it('a job of --async is looked up whole, with the minions that lower masters named', async () => {
    const { stdout } = await stock('salt', '*-1', 'test.echo', 'kept', '--async');
    const jid = jidIn(stdout);
    const ids = ['new-1', 'old-1', 'up-1'];
    await reaches(
      jid,
      ids.map((id) => standing(id, 'returned')),
    );
    for (const run of [
      stock,
      (command: string, ...all: string[]) => master.brine(command.replace('salt-', ''), all),
    ]) {
      const looked = await run('salt-run', 'jobs.lookup_jid', jid, '--out', 'json');
      expect(json(looked.stdout)).toEqual(Object.fromEntries(ids.map((id) => [id, 'kept'])));
      const listed = json((await run('salt-run', 'jobs.list_job', jid, '--out', 'json')).stdout);
      expect([...(listed['Minions'] as string[])].sort()).toEqual(ids);
    }
    const told = await pool.query(
      "SELECT id, detail FROM brine.sightings WHERE jid = $1 AND kind = 'below' ORDER BY id",
      [jid],
    );
    const one = { minions: 1 };
    expect(told.rows).toEqual([
      { id: 'syn-new', detail: one },
      { id: 'syn-old', detail: one },
    ]);
  });

  it("the master above hears of a lower master's own job, and which minions it expects", async () => {
    const { stdout } = await lower[1]!.run('salt', ['*', 'test.echo', 'own', '--async']);
    const jid = jidIn(stdout);
    await reaches(
      jid,
      OLD.map((id) => standing(id, 'returned')),
    );
    const { stdout: looked } = await stock('salt-run', 'jobs.lookup_jid', jid, '--out', 'json');
    expect(json(looked)).toEqual(Object.fromEntries(OLD.map((id) => [id, 'own'])));
  });

  it('two syndics to one lower master run a job once and count it once', async () => {
    await lower[0]!.startSyndic('syn-again');
    const runs = join(master.sandbox.dir, 'runs');
    await waitFor('both syndics', async () => {
      const args = ['new-1', 'test.ping', '--async'];
      const jid = jidIn((await brine(...args)).stdout);
      await reaches(jid, [standing('new-1', 'returned')]);
      const rows = await pool.query(
        "SELECT FROM brine.sightings WHERE jid = $1 AND kind = 'below'",
        [jid],
      );
      return rows.rowCount === 2;
    });
    const { stdout } = await brine('new-*', 'cmd.run', `echo $$ >> ${runs}`, '-v');
    const jid = jidIn(stdout);
    await reaches(
      jid,
      NEW.map((id) => standing(id, 'returned')),
    );
    expect((await readFile(runs, 'utf8')).trim().split('\n')).toHaveLength(EACH);
    const returns = 'SELECT count(*)::integer AS rows FROM brine.returns WHERE jid = $1';
    expect((await pool.query(returns, [jid])).rows).toEqual([{ rows: EACH }]);
    const evidence = 'SELECT id FROM brine.evidence WHERE jid = $1';
    expect((await pool.query(evidence, [jid])).rows).toEqual([]);
    await lower[0]!.killSyndic('syn-again');
  });

  it('what comes after the syndic was killed and the deadline has passed is late', async () => {
    const gate = join(master.sandbox.dir, 'gate');
    const command = `until [ -e ${gate} ]; do sleep 0.1; done`;
    const metadata = JSON.stringify({ brine_deadline: 1 });
    const args = ['new-1', 'cmd.run', command, '--async', '--metadata', metadata];
    const jid = jidIn((await brine(...args)).stdout);
    await reaches(jid, [standing('new-1', 'never')]);
    await lower[0]!.killSyndic('syn-new');
    await lower[0]!.startSyndic('syn-new');
    await waitFor('the syndic', async () => {
      const { stdout } = await brine('new-2', 'test.ping', '--static', '--out', 'json', '-t', '1');
      return json(stdout)['new-2'] === true;
    });
    await writeFile(gate, '');
    await reaches(jid, [standing('new-1', 'late')]);
  });

  it('a minion that is dead below is waited for, and told of by both', async () => {
    await lower[0]!.stopMinion('new-2');
    for (const run of [brine, (...all: string[]) => stock('salt', ...all)]) {
      const { stdout, code } = await run('new-*', 'test.ping', '-t', '8', '-v');
      const jid = jidIn(stdout);
      for (const id of NEW) {
        if (id !== 'new-2') expect(stdout).toContain(`${id}:\n    True\n`);
      }
      expect(stdout).toContain(`new-2:\n    Minion did not return. [No response]\n`);
      expect(stdout).toContain(`salt-run jobs.lookup_jid ${jid}`);
      expect(code).toBe(1);
      await reaches(
        jid,
        NEW.map((id) => standing(id, id === 'new-2' ? 'waiting' : 'returned')),
      );
    }
  });
});

function jidIn(text: string): string {
  const jid = /(\d{20})/.exec(text)?.[1];
  if (jid === undefined) throw new Error(`no job id in ${text}`);
  return jid;
}

function json(text: string): Record<string, unknown> {
  return JSON.parse(text.trim() === '' ? '{}' : text) as Record<string, unknown>;
}
