import { STREAMS, type StreamUsage } from '@brine/bus';

/** Share of a stream's room from which on the service logs a warning. */
export const ALARM_AT = 0.7;
/** Share below which a stream has room again; lower, so that not every purge is logged. */
export const ROOM_AT = 0.65;

/** The warnings, the worse first. */
const LEVELS = [
  { share: 0.9, hint: 'once it is full returns stay without an answer and jobs are refused' },
  { share: ALARM_AT, hint: 'is a reader behind, as the store while PostgreSQL is away?' },
] as const;

/** A line about a stream for the log; `over`: it has room again. */
export interface StreamAlarmLine {
  readonly text: string;
  readonly over: boolean;
}

/** One line when a stream fills, one when it is nearly full, one when it has room again. */
export class StreamAlarm {
  /** By stream, the level that was logged. */
  readonly #logged = new Map<string, number>();

  /** The share of the fullest stream. */
  fullest(usage: readonly StreamUsage[]): number {
    return Math.max(0, ...usage.filter(counts).map(({ share }) => share));
  }

  /** What is new since the last look. */
  look(usage: readonly StreamUsage[]): readonly StreamAlarmLine[] {
    const words: StreamAlarmLine[] = [];
    for (const { stream, share } of usage.filter(counts)) {
      const logged = this.#logged.get(stream) ?? 0;
      const level = LEVELS.find((one) => share > one.share);
      const percent = Math.round(share * 100);
      if (level !== undefined && level.share > logged) {
        this.#logged.set(stream, level.share);
        words.push({ text: `stream ${stream} is ${percent} % full: ${level.hint}`, over: false });
      } else if (logged > 0 && share < ROOM_AT) {
        this.#logged.set(stream, 0);
        words.push({ text: `stream ${stream} has room again: ${percent} % full`, over: true });
      }
    }
    return words;
  }
}

/** Bodies of requests live minutes, and the oldest make room for new ones. */
function counts({ stream }: StreamUsage): boolean {
  return stream !== STREAMS.bodies;
}
