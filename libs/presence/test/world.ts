import { ConnectionBoard } from '../src/connection-board.ts';
import { packReport, readReport } from '../src/index.ts';
import { Presence } from '../src/presence.ts';
import type { PublisherReport } from '../src/reports.ts';
import type { SavedMinion } from '../src/saved.ts';

/** What a run of the world was like. */
export interface WorldResult {
  /** Minions that were lost and had a connection, or had lost it a moment ago. */
  readonly falseLost: readonly string[];
  /** How long minions were away when they were lost, in s. */
  readonly lostAfter: readonly number[];
  /** After a calm time: who differs from the truth. */
  readonly wrongAtEnd: readonly string[];
  readonly faults: Readonly<Record<string, number>>;
  readonly asked: number;
  readonly log: readonly string[];
}

/** What a world is made of. */
export interface WorldOptions {
  readonly seed: number;
  readonly seconds: number;
  /** Faults come about each so many seconds. */
  readonly faultEverySeconds: number;
  readonly asks: boolean;
}

interface Host {
  readonly name: string;
  board: ConnectionBoard | undefined;
  backAt: number;
  readonly muteUntil: { at: number };
}

interface SimMinion {
  readonly id: string;
  address: string;
  /** A minion has one connection, or one to each host. */
  readonly homes: readonly Home[];
  alive: boolean;
  backAt: number;
  cutUntil: number;
  stuckUntil: number;
  /** Since when it has no connection; undefined while it has one. */
  awaySince: number | undefined;
  /** Since when nothing hinders it; undefined while it is dead or cut off. */
  wellSince: number | undefined;
}

interface Home {
  readonly host: Host;
  readonly reconnectS: number;
  /** Where the publisher sees a connection; it may be dead. */
  conn: { readonly board: ConnectionBoard; readonly place: string; works: boolean } | undefined;
  /** The dead connections that the publisher still counts, and when it notices. */
  dead: { readonly board: ConnectionBoard; readonly place: string; endAt: number }[];
  connectAt: number;
}

/** So many of the faults are of services; each delays all verdicts for a while. */
const SERVICE_SHARE = 0.15;
const HEARTBEAT_S = 40;
const GRACE_S = 30;
/** Longest time to reconnect, and what a question that is on its way may take. */
const RECONNECT_MAX_S = 30;

/** A generator of numbers from 0 to 1 that gives the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Minions, hosts with publishers, and the owner of presence, on a clock of whole seconds. Faults
 * are drawn from the seed: kills, cuts without FIN, moves, strangers, publishers that restart or
 * are killed, reports that are lost, an owner that is paused, cut off or replaced.
 */
export class World {
  readonly #options: WorldOptions;
  readonly #random: () => number;
  readonly #hosts: Host[] = [];
  readonly #minions: SimMinion[] = [];
  readonly #strangers: {
    readonly board: ConnectionBoard;
    readonly place: string;
    endAt: number;
  }[] = [];
  readonly #byId = new Map<string, SimMinion>();
  readonly #falseLost: string[] = [];
  readonly #lostAfter: number[] = [];
  readonly #faults: Record<string, number> = {};
  readonly #log: string[] = [];
  #presence: Presence;
  #saved = new Map<string, SavedMinion>();
  #knownPublishers: { by: string; host: string }[] = [];
  #second = 0;
  #starts = 0;
  #asked = 0;
  #pausedUntil = 0;
  #cutOffUntil = 0;
  /** Messages that wait while the owner is paused. */
  #backlog: (() => void)[] = [];
  /** As of the last look; undefined for an owner that was not looked at yet. */
  #wasPresent: ReadonlySet<string> | undefined;
  #answers: { readonly id: string; readonly at: number }[] = [];

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#random = randomFrom(options.seed);
    for (const name of ['a', 'b']) {
      const host: Host = { name, board: undefined, backAt: 0, muteUntil: { at: 0 } };
      this.#hosts.push(host);
    }
    this.#populate();
    this.#presence = this.#newOwner();
  }

  /** Runs the faults, then a calm time, and compares. */
  run(): WorldResult {
    const { seconds, faultEverySeconds } = this.#options;
    for (let n = 0; n < seconds; n += 1) {
      // The first minute is calm: all log in.
      if (n > 60 && this.#random() < 1 / faultEverySeconds) this.#fault();
      this.#step();
    }
    // Long enough for a publisher that does not come back, and for rounds of questions.
    for (let n = 0; n < 3_600; n += 1) this.#step();
    return {
      falseLost: this.#falseLost,
      lostAfter: this.#lostAfter,
      wrongAtEnd: this.#wrong(),
      faults: this.#faults,
      asked: this.#asked,
      log: this.#log,
    };
  }

  #wrong(): string[] {
    const present = new Set(this.#presence.changes().present);
    return this.#minions
      .filter((minion) => present.has(minion.id) !== isConnected(minion))
      .map(({ id }) => `${id} ${present.has(id) ? 'is not there' : 'is there'}`);
  }

  #populate(): void {
    const add = (id: string, address: string, hosts: readonly Host[]): void => {
      const homes = hosts.map((host) => {
        const reconnectS = 1 + Math.floor(this.#random() * 11);
        return { host, reconnectS, conn: undefined, dead: [], connectAt: 1 };
      });
      const minion: SimMinion = {
        id,
        address,
        homes,
        alive: true,
        backAt: 0,
        cutUntil: 0,
        stuckUntil: 0,
        awaySince: 0,
        wellSince: 0,
      };
      this.#minions.push(minion);
      this.#byId.set(id, minion);
    };
    const [a, b] = this.#hosts as [Host, Host];
    for (let n = 0; n < 20; n += 1) add(`own${n}`, `10.0.0.${n + 1}`, [n % 2 === 0 ? a : b]);
    for (let n = 0; n < 12; n += 1) add(`nat${n}`, '192.0.2.1', [n % 3 === 0 ? b : a]);
    for (let n = 0; n < 8; n += 1) add(`both${n}`, '192.0.2.2', [a, b]);
  }

  #newOwner(): Presence {
    const presence = new Presence({
      graceMs: GRACE_S * 1_000,
      asks: this.#options.asks,
      provenForMs: 86_400_000,
      isAccepted: () => true,
      answers: () => true,
      wallOf: (ms) => ms,
    });
    presence.restore(this.#knownPublishers, this.#saved.values(), this.#nowMs);
    return presence;
  }

  get #nowMs(): number {
    return this.#second * 1_000;
  }

  // One second.

  #step(): void {
    this.#second += 1;
    for (const host of this.#hosts) {
      if (host.board === undefined && this.#second >= host.backAt) this.#startPublisher(host);
    }
    for (const minion of this.#minions) this.#live(minion);
    this.#endStrangers();
    for (const host of this.#hosts) this.#report(host);
    this.#answer();
    this.#own();
  }

  #live(minion: SimMinion): void {
    if (!minion.alive && minion.backAt > 0 && this.#second >= minion.backAt) {
      minion.alive = true;
      minion.backAt = 0;
      for (const home of minion.homes) home.connectAt = this.#second + 1;
      this.#proves(minion);
    }
    for (const home of minion.homes) {
      for (const dead of home.dead.filter(({ endAt }) => this.#second >= endAt)) {
        if (dead.board === home.host.board) dead.board.closed(dead.place);
      }
      home.dead = home.dead.filter(({ endAt }) => this.#second < endAt);
      if (home.conn !== undefined && home.conn.board !== home.host.board) {
        // Its publisher is gone.
        home.conn = undefined;
        home.connectAt = this.#second + home.reconnectS;
      }
      const mayConnect = minion.alive && this.#second >= minion.cutUntil;
      if (home.conn === undefined && mayConnect && this.#second >= home.connectAt) {
        this.#connect(minion, home);
      }
    }
    if (isConnected(minion)) minion.awaySince = undefined;
    else minion.awaySince ??= this.#second;
    if (minion.alive && this.#second >= minion.cutUntil) minion.wellSince ??= this.#second;
    else minion.wellSince = undefined;
    const calls = minion.alive && this.#second >= minion.cutUntil && this.#random() < 1 / 200;
    if (calls) this.#proves(minion);
  }

  #connect(minion: SimMinion, home: Home): void {
    const { board } = home.host;
    if (board === undefined) {
      home.connectAt = this.#second + home.reconnectS;
      return;
    }
    board.opened(minion.address);
    home.conn = { board, place: minion.address, works: true };
    // A minion that never proved itself logs in first.
    if (this.#second < 30) this.#proves(minion);
  }

  #report(host: Host): void {
    const { board } = host;
    if (board === undefined) return;
    const isCut = this.#second < host.muteUntil.at;
    const reports: PublisherReport[] = [board.changes()];
    if (!isCut && this.#presence.publishers.wantsList) reports.push(...board.whole());
    for (const report of reports) if (!isCut) this.#deliver(report);
  }

  #deliver(report: PublisherReport): void {
    const read = readReport(packReport(report));
    if (read === undefined) throw new Error('a report that can not be read');
    this.#toOwner(() => this.#presence.takeReport(read, this.#nowMs));
  }

  #proves(minion: SimMinion, answers = false): void {
    const { id, address } = minion;
    const proofs = [{ id, address, agoMs: 0, answers }];
    this.#toOwner(() => this.#presence.takeProofs(proofs, this.#nowMs));
  }

  #toOwner(take: () => void): void {
    if (this.#second < this.#cutOffUntil) return;
    if (this.#second < this.#pausedUntil) this.#backlog.push(take);
    else this.#watched(take);
  }

  #answer(): void {
    const due = this.#answers.filter(({ at }) => at <= this.#second);
    this.#answers = this.#answers.filter(({ at }) => at > this.#second);
    for (const { id } of due) {
      const minion = this.#byId.get(id);
      if (minion?.alive === true && this.#second >= minion.cutUntil) this.#proves(minion, true);
    }
  }

  #own(): void {
    if (this.#second < this.#pausedUntil || this.#second < this.#cutOffUntil) return;
    if (this.#pausedUntil === this.#second || this.#cutOffUntil === this.#second) {
      this.#presence.resumed(this.#nowMs);
      for (const take of this.#backlog.splice(0)) this.#watched(take);
    }
    let ids: readonly string[] = [];
    this.#watched(() => (ids = this.#presence.judge(this.#nowMs)));
    this.#asked += ids.length;
    for (const id of ids) {
      const minion = this.#byId.get(id);
      const receives = minion !== undefined && isConnected(minion);
      if (receives && this.#second >= minion.stuckUntil)
        this.#answers.push({ id, at: this.#second + 2 });
    }
    if (this.#second % 60 === 0) this.#tick();
  }

  #tick(): void {
    this.#presence.confirm(this.#presence.changes());
    for (const minions of this.#presence.takeUnsaved().values()) {
      for (const minion of minions) this.#saved.set(minion.id, minion);
    }
    this.#knownPublishers = [...this.#presence.publishers.all].map(({ by, host }) => ({
      by,
      host,
    }));
  }

  /** Notes who becomes lost meanwhile, and whether that is true. */
  #watched(work: () => void): void {
    const before = this.#wasPresent ?? new Set(this.#presence.changes().present);
    work();
    const after = new Set(this.#presence.changes().present);
    this.#wasPresent = after;
    for (const id of before) {
      if (after.has(id)) continue;
      const minion = this.#byId.get(id);
      const away = minion?.awaySince === undefined ? 0 : this.#second - minion.awaySince;
      const well = minion?.wellSince === undefined ? 0 : this.#second - minion.wellSince;
      this.#note(`${id} is lost, away ${away} s, well ${well} s`);
      // One that nothing hinders comes back by itself, at the latest when its publisher does.
      const isFalse = away < GRACE_S - 2 || well > RECONNECT_MAX_S;
      if (isFalse) this.#falseLost.push(`${id} at ${this.#second}, away ${away} s, well ${well} s`);
      else this.#lostAfter.push(away);
    }
  }

  #note(text: string): void {
    this.#log.push(`${this.#second} ${text}`);
  }

  // Publishers.

  #startPublisher(host: Host): void {
    this.#starts += 1;
    host.board = new ConnectionBoard(`p${this.#starts}`, host.name);
    this.#note(`publisher of ${host.name} starts`);
    for (const report of host.board.whole()) this.#deliver(report);
  }

  #stopPublisher(host: Host, how: 'bye' | 'kill' | 'rolling', backAfterS: number): void {
    const { board } = host;
    if (board === undefined) return;
    host.board = undefined;
    host.backAt = this.#second + backAfterS;
    if (how === 'rolling') this.#startPublisher(host);
    if (how !== 'kill' && this.#second >= host.muteUntil.at) this.#deliver(board.bye());
    for (const home of this.#minions.flatMap(({ homes }) => homes)) {
      if (home.host === host) home.dead = [];
    }
  }

  #endStrangers(): void {
    for (const stranger of this.#strangers.filter(({ endAt }) => this.#second >= endAt)) {
      const isThere = this.#hosts.some(({ board }) => board === stranger.board);
      if (isThere) stranger.board.closed(stranger.place);
      this.#strangers.splice(this.#strangers.indexOf(stranger), 1);
    }
  }

  // Faults.

  #fault(): void {
    const ofMinions = {
      kill: () => this.#kill(this.#anyMinion(), 0),
      restart: () => this.#kill(this.#anyMinion(), 3 + this.#within(20)),
      reconnect: () => this.#reconnect(this.#anyMinion()),
      cut: () => this.#cut(this.#anyMinion(), 10 + this.#within(300)),
      shortCut: () => this.#cut(this.#anyMinion(), 5 + this.#within(25)),
      move: () => this.#move(),
      stuck: () => this.#stick(this.#anyMinion()),
      back: () => this.#back(),
      stranger: () => this.#stranger(),
    };
    const ofServices = {
      publisherRestart: () => this.#stopPublisher(this.#anyHost(), 'bye', 2 + this.#within(40)),
      publisherKill: () => this.#stopPublisher(this.#anyHost(), 'kill', 2 + this.#within(40)),
      rolling: () => this.#stopPublisher(this.#anyHost(), 'rolling', 0),
      publisherMute: () => (this.#anyHost().muteUntil.at = this.#second + 2 + this.#within(200)),
      ownerPause: () => (this.#pausedUntil = this.#second + 2 + this.#within(120)),
      ownerCutOff: () => this.#cutOwnerOff(2 + this.#within(120)),
      takeover: () => this.#takeOver(),
    };
    const faults = Object.entries<() => unknown>(
      this.#random() < SERVICE_SHARE ? ofServices : ofMinions,
    );
    const [name, happen] = faults[this.#within(faults.length)] ?? ['none', () => undefined];
    this.#faults[name] = (this.#faults[name] ?? 0) + 1;
    this.#note(name);
    happen();
  }

  /** Its host is busy: it stays connected and answers nothing. */
  #stick(minion: SimMinion): void {
    // Some minions are known by their answers alone, for which they have two minutes.
    const seconds = 30 + this.#within(70);
    this.#note(`${minion.id} answers nothing for ${seconds} s`);
    minion.stuckUntil = this.#second + seconds;
  }

  #kill(minion: SimMinion, backAfterS: number): void {
    if (!minion.alive) return;
    this.#note(`${minion.id} is killed`);
    minion.alive = false;
    minion.backAt = backAfterS === 0 ? 0 : this.#second + backAfterS;
    // A cut network brings no FIN.
    for (const home of minion.homes) this.#drop(home, this.#second < minion.cutUntil);
  }

  #reconnect(minion: SimMinion): void {
    if (this.#second < minion.cutUntil) return;
    for (const home of minion.homes) {
      this.#drop(home, false);
      home.connectAt = this.#second + home.reconnectS;
    }
  }

  /** The network of a minion is cut: nothing comes through, no FIN either. */
  #cut(minion: SimMinion, seconds: number): void {
    this.#note(`${minion.id} is cut for ${seconds} s`);
    minion.cutUntil = Math.max(minion.cutUntil, this.#second + seconds);
    // A short cut is made good by TCP.
    if (seconds < 30) return;
    for (const home of minion.homes) {
      this.#drop(home, true);
      home.connectAt = minion.cutUntil + home.reconnectS;
    }
  }

  /** It has another address from now on; its old connection is dead without an end. */
  #move(): void {
    const minion = this.#byId.get(`own${this.#within(20)}`);
    if (minion === undefined || !minion.alive) return;
    const to =
      this.#random() < 0.3 ? '192.0.2.1' : `10.1.${this.#within(250)}.${this.#within(250)}`;
    this.#note(`${minion.id} moves to ${to}`);
    minion.address = to;
    for (const home of minion.homes) {
      this.#drop(home, true);
      home.connectAt = this.#second + home.reconnectS;
    }
  }

  #drop(home: Home, withoutFin: boolean): void {
    const { conn } = home;
    if (conn === undefined) return;
    home.conn = undefined;
    const isThere = conn.board === home.host.board;
    if (withoutFin) home.dead.push({ ...conn, endAt: this.#second + HEARTBEAT_S });
    else if (isThere) conn.board.closed(conn.place);
  }

  /** One that was killed for good comes back. */
  #back(): void {
    const dead = this.#minions.filter(({ alive, backAt }) => !alive && backAt === 0);
    const minion = dead[this.#within(dead.length)];
    if (minion !== undefined) minion.backAt = this.#second + 1;
  }

  #stranger(): void {
    const { board } = this.#anyHost();
    if (board === undefined) return;
    const place = `172.16.0.${this.#within(250)}`;
    board.opened(place);
    this.#strangers.push({ board, place, endAt: this.#second + 5 + this.#within(200) });
  }

  #cutOwnerOff(seconds: number): void {
    this.#presence.cutOff(this.#nowMs);
    this.#cutOffUntil = this.#second + seconds;
  }

  #takeOver(): void {
    this.#pausedUntil = 0;
    this.#cutOffUntil = 0;
    this.#backlog = [];
    this.#presence = this.#newOwner();
    this.#wasPresent = undefined;
  }

  #anyMinion(): SimMinion {
    return this.#minions[this.#within(this.#minions.length)] as SimMinion;
  }

  #anyHost(): Host {
    return this.#hosts[this.#within(this.#hosts.length)] as Host;
  }

  #within(count: number): number {
    return Math.floor(this.#random() * count);
  }
}

function isConnected(minion: SimMinion): boolean {
  return minion.alive && minion.homes.some(({ conn }) => conn !== undefined);
}
