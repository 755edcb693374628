import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isRecord, JS_ERRORS } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';

/**
 * Changes the subjects of a durable reader; it keeps its place. Does nothing if there is no such
 * reader yet: it is made with the subjects of the first process that reads.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function changeSubjects(
  bus: Bus,
  stream: StreamName,
  durable: string,
  subjects: readonly string[],
): Promise<void> {
  const reader = `${stream}.${durable}`;
  const found = await askJetStream(bus, `CONSUMER.INFO.${reader}`, undefined);
  if (!found.ok) {
    if (found.number === JS_ERRORS.consumerNotFound) return;
    throw new BusError('BUS_REFUSED', `no state of reader ${durable}: ${found.text}`);
  }
  const config = isRecord(found.value['config']) ? found.value['config'] : {};
  if (isSame(subjectsOf(config), subjects)) return;
  // The server keeps notes of its own in the metadata.
  const { filter_subject: _one, filter_subjects: _more, metadata: _notes, ...rest } = config;
  const filter =
    subjects.length === 1 ? { filter_subject: subjects[0] } : { filter_subjects: subjects };
  const answer = await askJetStream(bus, `CONSUMER.CREATE.${reader}`, {
    stream_name: stream,
    config: { ...rest, ...filter },
    action: 'update',
  });
  if (answer.ok) return;
  throw new BusError('BUS_REFUSED', `reader ${durable} was not changed: ${answer.text}`);
}

function subjectsOf(config: Readonly<Record<string, unknown>>): readonly string[] {
  const { filter_subject: one, filter_subjects: several } = config;
  if (Array.isArray(several)) return several.filter((text) => typeof text === 'string');
  return typeof one === 'string' && one !== '' ? [one] : [];
}

function isSame(have: readonly string[], want: readonly string[]): boolean {
  return have.length === want.length && want.every((subject) => have.includes(subject));
}
