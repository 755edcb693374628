import {
  areWorkersThere,
  deleteStream,
  KEPT_STREAMS,
  PLACED_STREAMS,
  putValues,
  restoreReader,
  restoreStream,
  stateOfStream,
  type StoredValue,
  useSequences,
} from '@brine/bus/snapshots';
import type { MasterOptions } from '@brine/config';
import { CopyIn } from '@brine/job-cache';
import { RefusedError } from '@brine/master-host';
import type { Servers } from '@brine/master-host/servers';
import { BackupError } from '../backup-error.ts';
import type { FileRecord } from '../file-records.ts';
import type { DatabaseRecord, Json, Manifest, StreamRecord } from '../manifest.ts';
import { readMarker, removeMarker, type RestoreMarker, writeMarker } from '../marker/marker.ts';
import type { RestoreFiles } from './restore-files.ts';

/** The backup that is restored. */
export interface RestoreOf {
  readonly manifest: Manifest;
  readonly file: string;
  readonly keepsCertificates: boolean;
  /** Parts that are left out. */
  readonly without: readonly string[];
}

/** The target of a restore: empty, or with parts of this backup in it. */
export type BackupTarget = Omit<RestoreTarget, 'begin' | 'end' | 'close'>;

/** Tables that are restored in one transaction. */
export type TablesTarget = Awaited<ReturnType<RestoreTarget['tables']>>;

/** Target of a restore: NATS, PostgreSQL and files of a host that is not yet a master. */
export class RestoreTarget {
  readonly #options: MasterOptions;
  readonly #bus: Servers['bus'];
  readonly #copy: CopyIn;
  readonly #files: RestoreFiles;
  #marker: RestoreMarker;

  private constructor(parts: {
    readonly options: MasterOptions;
    readonly bus: Servers['bus'];
    readonly copy: CopyIn;
    readonly files: RestoreFiles;
    readonly marker: RestoreMarker;
  }) {
    this.#options = parts.options;
    this.#bus = parts.bus;
    this.#copy = parts.copy;
    this.#files = parts.files;
    this.#marker = parts.marker;
  }

  /**
   * Checks that NATS and PostgreSQL are empty, or have only parts of this backup from a killed run;
   * writes nothing.
   * @throws RefusedError if they are not
   */
  static async open(
    options: MasterOptions,
    servers: Pick<Servers, 'bus' | 'postgresUrl'>,
    files: RestoreFiles,
    of: RestoreOf,
  ): Promise<RestoreTarget> {
    const { name } = of.manifest;
    const { bus, postgresUrl } = servers;
    const begun = readMarker(options.brine.stateDir);
    if (begun !== undefined && begun.backup !== name) {
      const text =
        `the restore of ${begun.file} is not done: end it by the same command ` + 'with that file';
      throw new RefusedError(text);
    }
    if (await areWorkersThere(bus)) {
      throw new RefusedError('services of a master use this NATS: stop them on all hosts first');
    }
    if (begun === undefined) await refuseStreams(options, bus);
    const copy = await CopyIn.open(postgresUrl);
    try {
      const done = new Set(begun?.done);
      const state = await copy.state();
      if (begun !== undefined && state.kind === 'restored' && state.from === name) {
        done.add('tables');
      } else if (state.kind === 'used' || state.kind === 'restored') {
        const where = state.kind === 'used' ? `${state.table} has rows` : 'it has another backup';
        throw new RefusedError(
          `PostgreSQL is not empty: ${where}. ${whatToEmpty(options, 'postgres')}`,
        );
      }
      for (const part of of.without) done.add(part);
      const { file, keepsCertificates } = of;
      const marker = { backup: name, file, keepsCertificates, done: [...done] };
      return new RestoreTarget({ options, bus, copy, files, marker });
    } catch (error) {
      await copy.close();
      throw error;
    }
  }

  /** Parts that an earlier run has restored. */
  get done(): ReadonlySet<string> {
    return new Set(this.#marker.done);
  }

  /** Keeps a master from starting on this host until the restore is done. */
  begin(): Promise<void> {
    return writeMarker(this.#options.brine.stateDir, this.#marker);
  }

  /** Records a part as done, so that the next run skips it. */
  async finished(part: string): Promise<void> {
    this.#marker = { ...this.#marker, done: [...this.#marker.done, part] };
    await this.begin();
  }

  file(record: FileRecord, data: Uint8Array): Promise<void> {
    return this.#files.put(record, data);
  }

  /** Restores a stream, after deleting the remains of an earlier run. */
  async stream(
    { name, config, state }: StreamRecord,
    chunks: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    assertKept(name);
    // Absent, or left by a run that was killed before it recorded the stream as done.
    await deleteStream(this.#bus, name);
    await restoreStream(this.#bus, { config, state, chunks }, this.#options.brine.streamReplicas);
  }

  /** As {@link stream}, for a stream that was read value by value. */
  async values({ name, config }: StreamRecord, values: AsyncIterable<Json>): Promise<void> {
    assertKept(name);
    await deleteStream(this.#bus, name);
    await putValues(this.#bus, config, asStored(values), this.#options.brine.streamReplicas);
  }

  /** Opened when the first table comes. */
  async tables(head: DatabaseRecord['head']) {
    await this.#copy.begin(head);
    return {
      table: (table: DatabaseRecord['head']['tables'][number], chunks: AsyncIterable<Uint8Array>) =>
        this.#copy.table(table, chunks),
      commit: (sequences: DatabaseRecord['sequences']) =>
        this.#copy.commit(this.#marker.backup, sequences),
    };
  }

  /** After all streams; may be done twice, as {@link readers}. */
  async useSequences(used: Manifest['usedSequences']): Promise<void> {
    for (const [stream, seq] of Object.entries(used)) {
      const root = PLACED_STREAMS[stream];
      if (root !== undefined) await useSequences(this.#bus, stream, root, seq);
    }
  }

  async readers(readers: Manifest['readers']): Promise<void> {
    for (const reader of readers) await restoreReader(this.#bus, reader);
  }

  /** The restore is done: a master may start. */
  async end(): Promise<void> {
    await removeMarker(this.#options.brine.stateDir);
    // Only after the marker: while it exists, rows are recognized as those of an earlier run.
    await this.#copy.forget();
  }

  close(): Promise<void> {
    return this.#copy.close();
  }
}

/** Refuses streams that no backup contains: a backup must not write to others of this NATS. */
function assertKept(stream: string): void {
  if (KEPT_STREAMS.includes(stream)) return;
  throw new BackupError(`its stream ${stream} is not one of a master`);
}

async function* asStored(values: AsyncIterable<Json>): AsyncGenerator<StoredValue, void> {
  for await (const { subject, headers, data } of values) {
    yield {
      subject: String(subject),
      headers: headers as StoredValue['headers'],
      data: Buffer.from(String(data), 'base64'),
    };
  }
}

async function refuseStreams(options: MasterOptions, bus: Servers['bus']): Promise<void> {
  for (const stream of KEPT_STREAMS) {
    if ((await stateOfStream(bus, stream)) !== 'used') continue;
    const found = `NATS is not empty: the stream ${stream} is in use`;
    throw new RefusedError(`${found}. ${whatToEmpty(options, 'nats')}`);
  }
}

function whatToEmpty({ brine }: MasterOptions, which: 'nats' | 'postgres'): string {
  const { url } = which === 'nats' ? brine.nats : brine.postgres;
  return url === undefined || url === ''
    ? `If nothing of this host is needed, remove ${brine.stateDir}/${which}`
    : `Give servers without data of a master (brine.${which}.url)`;
}
