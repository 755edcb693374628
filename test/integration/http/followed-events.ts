import { eventsSchema } from '@brine/api';
import { loadPauses } from '@brine/testing/waits';
import type { Page } from 'playwright-core';

/** Where the http-api processes serve that are there now. */
export type Bases = () => readonly string[];

/** Events as one who follows got them, in order. */
export interface FollowedEvents {
  readonly tags: readonly string[];
  readonly places: readonly string[];
}

const PAGE = 500;
/** A page of a process that was killed, or has no master for the moment, is asked for again. */
const AGAIN_MS = 100;

/** A program that reads page after page, each from the next process. */
export class PageReader implements FollowedEvents {
  readonly tags: string[] = [];
  readonly places: string[] = [];
  pages = 0;
  /** Pages that did not come, or were refused with 503, and were asked for again. */
  refused = 0;
  readonly #bases: Bases;
  readonly #token: string;

  constructor(bases: Bases, token: string) {
    this.#bases = bases;
    this.#token = token;
  }

  /** Reads events with tags of a glob after a position, until the signal. */
  async read(tag: string, position: string, ended: AbortSignal): Promise<void> {
    let from = position;
    for (let turn = 0; !ended.aborted; turn += 1) {
      const bases = this.#bases();
      const query = new URLSearchParams({ tag, from, limit: String(PAGE) });
      const url = `${bases[turn % bases.length] ?? ''}/v1/events?${query.toString()}`;
      const text = await this.#page(url);
      if (text === undefined) {
        await loadPauses(AGAIN_MS);
        continue;
      }
      const { items, next, asOf } = eventsSchema.parse(JSON.parse(text));
      this.pages += 1;
      for (const one of items) {
        this.tags.push(one.tag);
        this.places.push(one.position);
      }
      from = next ?? asOf;
      if (next === null) await loadPauses(AGAIN_MS);
    }
  }

  async #page(url: string): Promise<string | undefined> {
    const headers = { Authorization: `Bearer ${this.#token}` };
    const { status, text } = await fetch(url, { headers }).then(
      async (answer) => ({ status: answer.status, text: await answer.text() }),
      () => ({ status: 0, text: '' }),
    );
    if (status === 200) return text;
    if (status !== 0 && status !== 503) throw new Error(`${url}: ${status} ${text}`);
    this.refused += 1;
    return undefined;
  }
}

/** What the script of {@link BrowserFollower} hands over. */
interface Given {
  /** A tag, a space and a place in each line. */
  readonly text: string;
  readonly errors: number;
  readonly opened: number;
  readonly messages: { readonly event: string; readonly data: string }[];
}

/** A page of the console that follows events by the browser's own EventSource. */
export class BrowserFollower implements FollowedEvents {
  readonly tags: string[] = [];
  readonly places: string[] = [];
  /** Messages that are no events. */
  readonly messages: { readonly event: string; readonly data: string }[] = [];
  /** How often its stream broke, and how often it began. */
  errors = 0;
  opened = 0;
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Follows topics from a position on, until the signal. */
  async follow(topics: string, from: string, ended: AbortSignal): Promise<void> {
    const path = `/v1/stream?${new URLSearchParams({ topics }).toString()}`;
    await this.page.evaluate(`(${SCRIPT})(${JSON.stringify(path)}, ${JSON.stringify(from)})`);
    while (!ended.aborted) {
      await this.#take();
      await loadPauses(50);
    }
    await this.page.evaluate('followed.source.close()');
  }

  async #take(): Promise<void> {
    const given = await this.page.evaluate<Given>('followed.give()');
    for (const line of given.text.split('\n')) {
      if (line === '') continue;
      const at = line.lastIndexOf(' ');
      this.tags.push(line.slice(0, at));
      this.places.push(line.slice(at + 1));
    }
    this.messages.push(...given.messages);
    this.errors = given.errors;
    this.opened = given.opened;
  }
}

/**
 * In the page. A browser comes again by itself, with the last id, where the network failed. Where
 * it was answered with an error it gives up, and the page begins another stream from the last id.
 */
const SCRIPT = `function (path, from) {
  const AGAIN_MS = 500;
  let text = '';
  let messages = [];
  let last = from;
  const followed = { errors: 0, opened: 0, source: undefined };
  followed.give = () => {
    const given = { text, messages, errors: followed.errors, opened: followed.opened };
    text = '';
    messages = [];
    return given;
  };
  const open = () => {
    const source = new EventSource(path + '&from=' + last);
    followed.source = source;
    source.onopen = () => (followed.opened += 1);
    source.onerror = () => {
      followed.errors += 1;
      if (source.readyState === EventSource.CLOSED) setTimeout(open, AGAIN_MS);
    };
    for (const event of ['hello', 'lag', 'reset', 'bye']) {
      source.addEventListener(event, ({ data, lastEventId }) => {
        last = lastEventId || last;
        messages.push({ event, data });
      });
    }
    source.addEventListener('events', ({ data, lastEventId }) => {
      last = lastEventId || last;
      for (const { tag, position } of JSON.parse(data)) text += tag + ' ' + position + '\\n';
    });
  };
  window.followed = followed;
  open();
}`;
