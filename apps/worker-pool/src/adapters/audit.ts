import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import type { AuditSeal } from '@brine/crypt';
import type { AuditRecord } from '@brine/master';
import { AuditWriter } from '@brine/master-state';

/** Refusals on record: rows of these stay for good, so they are fewer than events. */
const RECORDED_STRANGERS = { atOnce: 200, eachSecond: 1 };

/** Opens the record of this worker. Refusals past the allowance are counted, and told of. */
export function openAudit(
  bus: Bus,
  seal: AuditSeal,
  options: {
    readonly host: string;
    readonly count: (name: string) => void;
    readonly onTrouble: (text: string, err: unknown) => void;
  },
): AuditRecord & { close(): Promise<void> } {
  const name = `worker-${options.host}`;
  const writer = new AuditWriter(new EventWriter(bus), seal, {
    name,
    onTrouble: options.onTrouble,
  });
  const mayRecord = strangerAllowance(RECORDED_STRANGERS);
  return {
    record: (act) => writer.record(act),
    recordRefusal: (act) => {
      if (mayRecord()) return writer.record(act);
      options.count('audit_left_out');
      writer.leaveOut();
    },
    close: () => writer.close(),
  };
}

/** Events of refused and waiting log-ins that may come at once: a fleet that is rolled out. */
const AT_ONCE = 5_000;

/** And each second after that, from one worker: some 500 MB of events in the time they are kept. */
const EACH_SECOND = 200;

/**
 * Tells whether one more event of a log-in that was not accepted may be written. Anybody who
 * reaches port 4506 causes such events, and they lie in the stream that returns need.
 */
export function strangerAllowance(
  { atOnce = AT_ONCE, eachSecond = EACH_SECOND } = {},
  nowMs: () => number = () => performance.now(),
): () => boolean {
  let left = atOnce;
  let at = nowMs();
  return () => {
    const now = nowMs();
    left = Math.min(atOnce, left + ((now - at) / 1000) * eachSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
