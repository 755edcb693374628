import { type Batch, eventMap, type EventReturner, ReturnerError } from '@brine/event-return';
import { deliverEvents, PythonCallError, type PythonCalls } from '@brine/python-host';

/**
 * Passes events to a returner of the site's Salt, through the interpreter of `brine.python`. Such a
 * returner reports neither whether a retry may help nor which events it stored.
 */
export class PythonReturner implements EventReturner {
  readonly name: string;
  readonly keepsPlace = false;
  readonly #python: PythonCalls;

  constructor(name: string, python: PythonCalls) {
    this.name = name;
    this.#python = python;
  }

  open(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async write({ events }: Batch): Promise<undefined> {
    if (events.length > 0) await this.#deliver(events);
  }

  async writeAgain(event: Batch['events'][number]): Promise<void> {
    await this.#deliver([event]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #deliver(events: Batch['events']): Promise<void> {
    try {
      await deliverEvents(this.#python, this.name, events.map(eventMap));
    } catch (error) {
      if (!(error instanceof PythonCallError)) throw error;
      throw new ReturnerError(failureOf(error), error.message, error);
    }
  }
}

function failureOf({ code }: PythonCallError): ReturnerError['failure'] {
  switch (code) {
    case 'unknown':
      return 'missing';
    case 'size':
      return 'refused';
    case 'busy':
    case 'start':
      return 'away';
    case 'raised':
    case 'late':
    case 'ended':
      return 'unclear';
  }
}
