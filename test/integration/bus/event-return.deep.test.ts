// event_return while PostgreSQL is away, and while the process that writes is killed: every event
// once and in order, in PostgreSQL and in a file.
import { appendFile, readFile, truncate } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { BrineMaster } from '@brine/testing';
import { faultLasts, loadPauses, until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { ipcFrame, packEvent } from '@brine/wire/frames';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakablePostgres } from '../faults/breakable-postgres.ts';

/** `BRINE_EVENTS_AWAY_S=30 BRINE_EVENTS_KILLS=5` is the long form. */
const AWAY_MS = Number(process.env['BRINE_EVENTS_AWAY_S'] ?? 8) * 1_000;
const PER_SECOND = Number(process.env['BRINE_EVENTS_RATE'] ?? 1_000);
/** Events of one write of the load, and the pause between two. */
const TICK_MS = 50;
const PER_TICK = Math.round((PER_SECOND * TICK_MS) / 1_000);
const KILLS = Number(process.env['BRINE_EVENTS_KILLS'] ?? 2);
/** A lease of a dead process, and time for a busy machine. */
const CATCH_UP_MS = 120_000;

/** Fires numbered events at the socket for local tools, as they do. */
class Load {
  readonly #socket: Socket;
  #fired = 0;
  #isOn = true;
  readonly #running: Promise<void>;

  constructor(path: string) {
    this.#socket = connect(path);
    this.#running = this.#run();
  }

  get fired(): number {
    return this.#fired;
  }

  /** How many events there are, once the last is with the master. */
  async stop(): Promise<number> {
    this.#isOn = false;
    await this.#running;
    await new Promise<void>((resolve) => this.#socket.end(resolve));
    return this.#fired;
  }

  async #run(): Promise<void> {
    const startMs = performance.now();
    for (let tick = 1; this.#isOn; tick += 1) {
      const frames = Array.from({ length: PER_TICK }, () => {
        this.#fired += 1;
        const data = pack(mapOf({ n: this.#fired, text: 'x'.repeat(100) }), 'bin');
        return ipcFrame(packEvent(`load/${this.#fired}`, data), 'bare');
      });
      const isRoom = this.#socket.write(Buffer.concat(frames));
      if (!isRoom) await new Promise<void>((resolve) => this.#socket.once('drain', resolve));
      await loadPauses(Math.max(1, startMs + tick * TICK_MS - performance.now()));
    }
  }
}

describe('events are returned once and in order', () => {
  let postgres: BreakablePostgres;
  let master: BrineMaster;

  beforeAll(async () => {
    postgres = await BreakablePostgres.start();
    master = await BrineMaster.start(
      {
        event_return: ['pgjsonb', 'rawfile_json'],
        event_return_whitelist: ['load/*'],
        brine: { workers: 1, postgres: { url: postgres.url } },
      },
      {
        onHome: async ({ configDir }) => {
          const path = join(configDir, 'events.jsonl');
          await appendFile(join(configDir, 'master'), `rawfile_json.filename: ${path}\n`);
        },
      },
    );
    await until('it writes', async () => {
      return (await postgres.count('SELECT count(*)::int FROM brine.event_return')) === 1;
    });
  }, 300_000);
  afterAll(async () => {
    await master?.close();
    await postgres?.[Symbol.asyncDispose]();
  });

  const load = (): Load => new Load(join(master.home.sockDir, 'master_event_pull.ipc'));

  async function rows(): Promise<number[]> {
    const { rows: found } = await postgres.pool.query<{ n: number }>(
      "SELECT (data->>'n')::int AS n FROM salt_events ORDER BY id",
    );
    return found.map(({ n }) => n);
  }

  async function lines(): Promise<number[]> {
    const text = await readFile(join(master.home.configDir, 'events.jsonl'), 'utf8');
    const whole = text.split('\n').slice(0, -1);
    return whole.map((line) => (JSON.parse(line) as { data: { n: number } }).data.n);
  }

  const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

  async function begin(): Promise<void> {
    await postgres.pool.query('TRUNCATE salt_events');
    await truncate(join(master.home.configDir, 'events.jsonl')).catch(() => undefined);
  }

  async function allThere(fired: number, since: number): Promise<number> {
    await until(
      `${fired} rows`,
      async () => (await postgres.count('SELECT count(*)::int FROM salt_events')) >= fired,
      { withinMs: CATCH_UP_MS },
    );
    await until(`${fired} lines`, async () => (await lines()).length >= fired, {
      withinMs: CATCH_UP_MS,
    });
    return performance.now() - since;
  }

  it('PostgreSQL is away: all rows afterwards, in order, none twice', async () => {
    await begin();
    const firing = load();
    await loadPauses(5_000);
    await postgres.stop();
    const before = firing.fired;
    await faultLasts(AWAY_MS);
    const behind = firing.fired - before;
    // The file does not wait for PostgreSQL.
    await until(
      'the file has most events of the outage',
      async () => (await lines()).length > before + behind / 2,
      { withinMs: CATCH_UP_MS },
    );
    await postgres.again();
    const back = performance.now();
    await loadPauses(5_000);
    const fired = await firing.stop();
    const ms = await allThere(fired, back);
    process.stdout.write(
      `event_return: PostgreSQL away ${AWAY_MS} ms at ${PER_SECOND} events/s, ` +
        `${behind} behind, all ${fired} there ${Math.round(ms)} ms after it was back\n`,
    );
    expect(await rows()).toEqual(upTo(fired));
    expect(await lines()).toEqual(upTo(fired));
    const log = await master.log();
    expect(log.split('events wait: no answer of the returner').length - 1).toBeLessThanOrEqual(8);
    expect(log.split('the returner is back').length - 1).toBe(1);
  }, 600_000);

  it('the process that writes is killed again and again: nothing lost, nothing twice', async () => {
    await begin();
    const firing = load();
    for (let kill = 0; kill < KILLS; kill += 1) {
      await loadPauses(3_000);
      const services = await master.services();
      const { pid } = services.find(({ name }) => name === 'job-cache-returner') ?? {};
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      const had = (await lines()).length;
      await until('it writes again', async () => (await lines()).length > had, {
        withinMs: CATCH_UP_MS,
      });
    }
    const fired = await firing.stop();
    await allThere(fired, performance.now());
    expect(await rows()).toEqual(upTo(fired));
    expect(await lines()).toEqual(upTo(fired));
  }, 900_000);
});
