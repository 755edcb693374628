import { STREAMS, type StreamUsage } from '@brine/bus';

/** Above this share of its limit a stream gets a warning in the log. */
export const ALARM_AT = 0.7;
/** Below this share the warning ends; lower, so that not every purge is logged. */
export const ROOM_AT = 0.65;

/** The warnings, the worse first. */
const LEVELS = [
  { share: 0.9, hint: 'once it is full returns stay without an answer and jobs are refused' },
  { share: ALARM_AT, hint: 'is a reader behind, as the store while PostgreSQL is unreachable?' },
] as const;

/** A line about a stream for the log; `over`: the warning has ended. */
export interface StreamAlarmLine {
  readonly text: string;
  readonly over: boolean;
}

/** Logs when a stream fills, when it is nearly full, and when the warning ends. */
export class StreamAlarm {
  /** By stream, the level that was logged. */
  readonly #logged = new Map<string, number>();

  /** The share of the fullest stream. */
  fullest(usage: readonly StreamUsage[]): number {
    return Math.max(0, ...usage.filter(counts).map(({ share }) => share));
  }

  /** The changes since the last look. */
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

/** Bodies of requests live for minutes, and the oldest give way to new ones. */
function counts({ stream }: StreamUsage): boolean {
  return stream !== STREAMS.bodies;
}
