import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '@brine/bus';
import { handleEach } from '@brine/bus';
import { BusError } from '@brine/bus';
import { STREAMS, subjects } from '@brine/bus';
import { PublicationReader } from '@brine/bus/jobs';

/** From this sequence of PUBLICATIONS on, the key of this epoch holds. */
export interface EpochMarker {
  readonly seq: number;
  readonly epoch: number;
  /** When the stream stored it, µs since 1970. */
  readonly timeUs: number;
}

/** Markers remembered; the stream is purged long before it holds so many. */
const MAX_MARKERS = 1_000;
const POLL_MS = 20;

/** The markers of PUBLICATIONS: those that are in the stream, then each as it comes. */
export class EpochMarkers {
  readonly #bus: Bus;
  readonly #reader: PublicationReader;
  readonly #onMarker: (epoch: number) => void;
  #markers: EpochMarker[] = [];
  #incarnation: string | undefined;
  #closed = false;

  constructor(bus: Bus, onMarker: (epoch: number) => void) {
    this.#bus = bus;
    this.#onMarker = onMarker;
    this.#reader = new PublicationReader(bus, { kinds: ['marker'], from: 'all' });
    void this.#follow();
  }

  /** Whether the stream is being read just now. */
  get reading(): boolean {
    return this.#reader.reading;
  }

  /** The marker in force for a publication; undefined where none before it is known. */
  before(seq: number): EpochMarker | undefined {
    return this.#markers.findLast((marker) => marker.seq < seq);
  }

  /** The last marker that is known. */
  get last(): EpochMarker | undefined {
    return this.#markers.at(-1);
  }

  /** The first marker that is known. */
  get first(): EpochMarker | undefined {
    return this.#markers[0];
  }

  /**
   * Resolves when every marker stored so far has been read.
   * @throws BusError `BUS_TIMEOUT` when that takes longer, and as `Inbox.request` does.
   */
  async caughtUp(timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    const last = await this.#lastStored();
    while ((this.#markers.at(-1)?.seq ?? 0) < last && !this.#closed) {
      if (performance.now() > until) {
        throw new BusError('BUS_TIMEOUT', 'the markers of the AES epochs were not read in time');
      }
      await sleep(POLL_MS);
    }
  }

  close(): void {
    this.#closed = true;
    this.#reader.close();
  }

  #follow(): Promise<void> {
    return handleEach(this.#reader, (published) => {
      if (published.kind !== 'marker') return;
      if (published.incarnation !== this.#incarnation) {
        // Another stream: its sequences have nothing to do with those noted.
        this.#incarnation = published.incarnation;
        this.#markers = [];
      }
      const { seq, timeUs, marker } = published;
      this.#markers.push({ seq, epoch: marker.epoch, timeUs });
      if (this.#markers.length > MAX_MARKERS) this.#markers.shift();
      this.#onMarker(marker.epoch);
    });
  }

  async #lastStored(): Promise<number> {
    const query = JSON.stringify({ last_by_subj: subjects.publication('marker') });
    const verb = `$JS.API.DIRECT.GET.${STREAMS.publications}`;
    const msg = await this.#bus.inbox.request(verb, query, { timeoutMs: 3_000 });
    const code = msg.headers?.code ?? 0;
    if (code === 404) return 0;
    if (code !== 0) throw new BusError('BUS_REFUSED', `no read of the last marker: ${code}`);
    return Number(msg.headers?.get('Nats-Sequence'));
  }
}
