import { connectForeign, type ForeignNats } from '@brine/bus/foreign';
import { OptionError, Options } from '../child/options.ts';
import type { EngineStart } from '../engine.ts';
import { deliverBatches, NotTakenError } from './deliver.ts';

const SUBJECT = 'salt.{tag}';
const MOST = 100;

/**
 * Sends events as JSON to subjects of another NATS. `{tag}` in the subject is replaced by the tag,
 * with dots for its slashes. With `jetstream` a stream there must have stored each event.
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const servers = options.texts('servers');
  if (servers === undefined) throw new OptionError('option servers must name NATS servers');
  const template = options.text('subject', SUBJECT);
  const isStored = options.flag('jetstream', false);
  const [user, password] = [options.maybeText('user'), options.maybeText('password')];
  const [token, caFile] = [options.maybeText('token'), options.maybeText('ca_file')];
  const delivery = { tags: options.texts('tags'), funs: options.texts('funs'), most: MOST };
  let nats: ForeignNats | undefined;
  try {
    await deliverBatches(engine, delivery, async (events) => {
      nats ??= await connectForeign({
        servers,
        user,
        password,
        token,
        caFile,
        name: `brine ${engine.masterId} ${engine.name}`,
      });
      const open = nats;
      const messages = events.map(({ id, tag, data, timeMs }) => ({
        subject: subjectOf(template, tag),
        id,
        payload: Buffer.from(JSON.stringify({ tag, data, time: new Date(timeMs).toISOString() })),
      }));
      await (isStored ? open.store(messages) : open.publish(messages)).catch(refuse);
    });
  } finally {
    await nats?.close();
  }
};

/** @throws NotTakenError if a message is never taken, as when it is too large; else the error */
function refuse(error: unknown): never {
  if (!(error instanceof Error) || !('retryable' in error) || error.retryable === true) throw error;
  throw new NotTakenError(error.message, { cause: error });
}

/** Makes a valid subject, whatever the tag contains. */
export function subjectOf(template: string, tag: string): string {
  const words = tag.split('/').map((word) => (word === '' ? '_' : word.replace(/[.*>\s]/g, '_')));
  return template.replaceAll('{tag}', words.join('.'));
}
