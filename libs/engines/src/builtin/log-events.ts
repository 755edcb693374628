import { Options } from '../child/options.ts';
import type { EngineStart } from '../engine.ts';

/** Logs events in the master's log, for first experiments (salt/engines/test.py). */
export const start: EngineStart = async (engine, given) => {
  const tags = new Options(given).texts('tags');
  let events = 0;
  for await (const event of engine.events({
    from: 'now',
    ...(tags === undefined ? {} : { tags }),
  })) {
    const { tag, data } = event;
    engine.log('info', JSON.stringify({ tag, data }));
    events += 1;
    engine.tell({ events });
    event.done();
  }
};
