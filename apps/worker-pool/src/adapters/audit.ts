import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import type { AuditSeal } from '@brine/crypt';
import type { AuditRecord } from '@brine/master';
import { AuditWriter } from '@brine/master-state';
import { strangerAllowance } from './stranger-allowance.ts';

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
