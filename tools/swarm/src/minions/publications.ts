import { CryptError, isSigAlgo } from '@brine/crypt';
import { unpackMap, WireError } from '@brine/wire';
import { readPublication } from '@brine/wire/frames';
import type { PublishedJob } from '@brine/wire/load';
import { parsePublishedJob } from '@brine/wire/load';
import { compileTarget, JobRun } from '../load/job-run.ts';
import type { SwarmCounts } from '../types.ts';
import type { MasterKnowledge } from './master-knowledge.ts';

/** A received job and the targets of this frame: a master may send the job again to others. */
export interface ReadJob {
  readonly run: JobRun;
  readonly matches: (id: string) => boolean;
}

/** The kind of a frame: a job, ignored by minions, or sealed with an unknown key. */
export type ReadFrame = ReadJob | 'ignored' | 'stale';

interface CachedFrame {
  readonly frame: Buffer;
  readonly epoch: number;
  readonly read: ReadFrame;
}

/** Maximum of frames that minions of one process may be apart. */
const MAX_FRAMES = 256;
/** Maximum of jobs whose minions are remembered (Salt: minion_jid_queue_hwm). */
const MAX_RUNS = 100;
/** Offset of the IV in a frame packed by Salt: 16 random bytes that identify the frame. */
const MARK_FROM = 17;
const MARK_TO = 33;

/** Opens each publication once for all minions of the process, and checks its signature then. */
export class Publications {
  readonly #frames = new Map<string, CachedFrame>();
  readonly #runs = new Map<string, JobRun>();
  readonly #knowledge: MasterKnowledge;
  readonly #counts: SwarmCounts;
  readonly #minions: number;

  constructor(knowledge: MasterKnowledge, minions: number, counts: SwarmCounts) {
    this.#knowledge = knowledge;
    this.#minions = minions;
    this.#counts = counts;
  }

  /** The jobs that are remembered, oldest first. */
  get runs(): IterableIterator<JobRun> {
    return this.#runs.values();
  }

  run(jid: string): JobRun | undefined {
    return this.#runs.get(jid);
  }

  /** Reads a frame. A stale one may be read again after a log-in. */
  read(frame: Buffer): ReadFrame {
    const mark = frame.toString('latin1', MARK_FROM, MARK_TO);
    const known = this.#frames.get(mark);
    if (known?.frame.equals(frame)) {
      if (known.read !== 'stale' || known.epoch === this.#knowledge.epoch) return known.read;
    }
    const { epoch } = this.#knowledge;
    const read = this.#open(frame);
    this.#frames.set(mark, { frame: Buffer.from(frame), epoch, read });
    if (this.#frames.size > MAX_FRAMES) dropOldest(this.#frames);
    return read;
  }

  #open(frame: Buffer): ReadFrame {
    const { aes } = this.#knowledge;
    if (aes === undefined) return 'stale';
    try {
      const publication = readPublication(frame);
      const { load, sig, sigAlgo } = publication;
      const body = aes.open(load);
      if (body === undefined) return this.#bad();
      if (sig !== undefined && sigAlgo !== undefined) {
        const good = isSigAlgo(sigAlgo) && this.#knowledge.key?.verify(load, sig, sigAlgo);
        if (good !== true) return this.#bad();
      }
      const job = parsePublishedJob(unpackMap(body));
      const run = this.#runOf(job);
      return run === undefined ? this.#bad() : { run, matches: compileTarget(job) };
    } catch (error) {
      if (error instanceof CryptError && error.code === 'SALT_CRYPT_MAC') return 'stale';
      if (error instanceof CryptError || error instanceof WireError) return this.#bad();
      throw error;
    }
  }

  #runOf(job: PublishedJob): JobRun | undefined {
    const known = this.#runs.get(job.jid);
    if (known !== undefined) return known;
    if (job.serial !== undefined && !this.#knowledge.serials.accept(job.serial)) return undefined;
    const run = new JobRun(job, this.#minions);
    this.#runs.set(job.jid, run);
    if (this.#runs.size > MAX_RUNS) dropOldest(this.#runs);
    return run;
  }

  #bad(): ReadFrame {
    this.#counts.badPublications += 1;
    return 'ignored';
  }
}

function dropOldest(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
