// A sample of each kind of message that goes over NATS, as the current code writes it.
import type { Event, Job } from '@brine/job';
import { mapOf } from '@brine/wire';
import type { Bus } from '../src/connection/connect.ts';
import { announceCommits } from '../src/events/commit-notice.ts';
import { EventWriter } from '../src/events/event-writer.ts';
import { type Again } from '../src/jobs/publication.ts';
import { PublicationWriter } from '../src/jobs/publication-writer.ts';
import { announceSent, type Sent } from '../src/jobs/send-notice.ts';
import { Bundler } from '../src/rpc/bundle.ts';
import { ask } from '../src/rpc/queries.ts';
import {
  MESSAGES,
  packReply,
  packReplyElsewhere,
  packRequest,
  type RequestHead,
} from '../src/rpc/request-frame.ts';
import { type Announcement, packAnnouncement } from '../src/rpc/worker-board.ts';

/** A message as it is on the wire, in the form of the recorded files. */
export interface RecordedMessage {
  readonly subject: string;
  /** Lines of `Name: value`. */
  readonly headers: readonly string[];
  /** Base64. */
  readonly data: string;
}

const JID = '20261122200000000001';

export const JOB: Job = {
  jid: JID,
  publication: Buffer.from('publication'),
  load: Buffer.from('load'),
  principal: 'root key',
  user: 'root',
  fun: 'test.ping',
  tgt: ['web-1', 'web-2'],
  tgtType: 'list',
  minions: ['web-1', 'web-2'],
  missing: ['web-3'],
  publishedAt: 1_795_384_800_000,
  deadlineAt: 1_795_384_860_000,
  notAfter: 1_795_384_830_000,
  hidden: false,
  host: 'host-1',
  requestId: 'abc-1',
  piece: 'p1',
  durable: true,
};

export const AGAIN: Again = {
  jid: JID,
  seq: 42,
  notAfter: 1_795_384_830_000,
  only: { minions: ['web-1'], publication: Buffer.from('for one') },
};

export const EVENTS = {
  'event of a return': {
    kind: 'ret',
    tag: `salt/job/${JID}/ret/web-1.example`,
    body: Buffer.from('return'),
    msgId: 'ret:1',
    jid: JID,
    minion: 'web-1.example',
    link: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    traced: true,
  },
  'event of a local tool': {
    kind: 'local',
    tag: 'my tag: grün/✓',
    body: Buffer.from('data'),
    msgId: 'local:1',
    jid: JID,
    minion: 'web 1',
  },
} as const satisfies Record<string, Event>;

/** Returns that share a message. */
export const PAGED: readonly Event[] = ['web-1.example', 'grün'].map((minion) => ({
  kind: 'ret',
  tag: `salt/job/${JID}/ret/${minion}`,
  jid: JID,
  minion,
  body: Buffer.from(`of ${minion}`),
  link: EVENTS['event of a return'].link,
  traced: minion === 'grün',
}));

export const REQUEST: RequestHead = {
  id: 'abc-1',
  host: 'host-1',
  deadlineMs: 1_795_384_830_000,
  peer: '192.0.2.1',
  receivedMs: 1_795_384_800_000.25,
  reference: 'ref-1',
};

export const ANNOUNCEMENT: Announcement = {
  host: 'host-1',
  draining: true,
  load: {
    auth: { hand: 1, room: 72, concurrency: 8 },
    clear: { hand: 2, room: 320, concurrency: 64 },
    aes: { hand: 3, room: 1_280, concurrency: 256 },
  },
};

export const SENT: Sent = {
  jid: JID,
  piece: 'p1',
  sentMs: 1_795_384_800_001.5,
  before: 1,
  minions: 2,
  ids: ['web-1', 'web-2'],
};

export const COMMITTED = [7, 8, 9, 12];
export const QUESTION = mapOf({ jid: JID, n: 1 });

/** All samples, by kind. */
export async function writtenMessages(): Promise<Record<string, RecordedMessage>> {
  const found: Record<string, RecordedMessage> = {};
  const wire = new Wire();
  for (const [name, event] of Object.entries(EVENTS)) {
    void new EventWriter(wire.bus).append(event);
    found[name] = await wire.taken();
  }
  const paging = new EventWriter(wire.bus);
  for (const event of PAGED) void paging.append(event);
  const page = await wire.taken();
  // Each page has an id of its own.
  const headers = page.headers.filter((line) => !line.startsWith('Nats-Msg-Id:'));
  found['page of returns'] = { ...page, headers };
  const publications = new PublicationWriter(wire.bus);
  void publications.appendJob(JOB, { written: '_INBOX.wk.w1.5' });
  found['job'] = await wire.taken();
  void publications.appendAgain(AGAIN, { slot: 'slot' });
  found['job again'] = await wire.taken();
  void publications.appendMarker({ epoch: 7 });
  found['marker'] = await wire.taken();
  const bundler = new Bundler(wire.bus, '_INBOX.gw.g1.all');
  bundler.add('brine.req.aes.w1', 's1', packRequest(REQUEST, Buffer.from('sealed')));
  bundler.flush();
  found['bundle of a request'] = await wire.taken();
  const words = {
    answer: packReply(Buffer.from('answer'), 'traced'),
    'answer elsewhere': packReplyElsewhere('ref-2'),
    'word: refused': MESSAGES.refuse,
    'word: may I': MESSAGES.askGrant,
    'word: none': MESSAGES.drop,
    announcement: packAnnouncement(ANNOUNCEMENT),
  };
  for (const [name, data] of Object.entries(words)) {
    found[name] = { subject: '', headers: [], data: Buffer.from(data).toString('base64') };
  }
  announceSent(wire.bus, SENT);
  found['sent'] = await wire.taken();
  announceCommits(wire.bus, COMMITTED);
  found['committed'] = await wire.taken();
  void ask(wire.bus, 'jobs.get', QUESTION, 1_000);
  found['question'] = await wire.taken();
  return found;
}

/** A connection that records publishes and answers nothing. */
class Wire {
  readonly bus: Bus;
  #message: RecordedMessage | undefined;

  constructor() {
    const nothing = { clear: () => undefined, close: () => undefined, subject: '_INBOX.x' };
    const note = (subject: string, data: Uint8Array | string, headers?: Uint8Array): void => {
      const text = headers === undefined ? '' : Buffer.from(headers).toString('utf8');
      const lines = text
        .split('\r\n')
        .slice(1)
        .filter((line) => line !== '');
      this.#message = { subject, headers: lines, data: Buffer.from(data).toString('base64') };
    };
    const bus = {
      status: 'connected',
      wheel: { set: () => nothing },
      inbox: {
        open: () => nothing,
      },
      answers: {
        request: (subject: string, payload: Uint8Array) => {
          note(subject, payload);
          return new Promise(() => undefined);
        },
      },
      connection: {
        isClosed: () => false,
        isDraining: () => false,
        publish: (
          subject: string,
          data: Uint8Array | string,
          options?: { readonly headers?: { encode(): Uint8Array } },
        ) => note(subject, data, options?.headers?.encode()),
      },
    };
    this.bus = bus as unknown as Bus;
  }

  /** The last published message; writers publish within the turn. */
  async taken(): Promise<RecordedMessage> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#message === undefined) throw new Error('nothing was published');
    const taken = this.#message;
    this.#message = undefined;
    return taken;
  }
}
