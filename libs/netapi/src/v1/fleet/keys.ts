import { mayRead } from '@brine/acl';
import { timeText } from '@brine/api';
import {
  type KeyAct,
  type KeyActed,
  keyActedSchema,
  keyActSchema,
  type KeyShown,
  type KeysPage,
  keysQuery,
  keysSchema,
} from '@brine/api/fleet';
import { fingerprint } from '@brine/crypt';
import { type FleetRow, pageOf } from '@brine/fleet';
import type { DescribedApp } from '@brine/http';
import { isMap, mapIn, mapOf, type SaltMap } from '@brine/wire';
import type { KeyRecord } from '../../fleet/key-record.ts';
import { addressOf } from '../../rest-cherrypy/asked.ts';
import { cursorOf, placeOf } from '../cursor.ts';
import { needClient } from '../enabled.ts';
import { repeatableOf } from '../jobs/new-job.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { inPlace, whoAsks } from '../who.ts';
import { fleetView } from './fleet-view.ts';

const tags = ['keys'];

/** `/v1/keys`: keys of minions, and acts on them. */
export function addKeys(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/keys',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: 'Keys of minions, by id',
        description: 'For a caller with the wheel `key.list_all`.',
        querystring: keysQuery,
        response: { 200: keysSchema, ...problems('forbidden', 'too-many', 'no-master') },
      },
    },
    (request): Promise<KeysPage> =>
      inPlace(request, parts.room, async () => {
        const { state, q, limit, after } = request.query;
        const { index, sight, reader } = await fleetView(request, parts);
        if (!mayRead(reader, { kind: 'keys' })) throw new RefusedRequest('forbidden');
        const { rows, total, next } = pageOf(index, sight, {
          id: q,
          ...(state === 'denied' ? { hasDenied: true } : { keys: state && [state] }),
          limit,
          after: after === undefined ? undefined : { value: 0, id: idIn(after) },
        });
        const records = await parts.records.keys(rows.map(({ id }) => id));
        return {
          items: rows.map((row, at) => keyShown(row, records[at])),
          total,
          next: next === undefined ? null : cursorOf([next.id]),
        };
      }),
  );
  app.post(
    '/keys/act',
    {
      schema: {
        tags,
        summary: 'Accept, reject or delete keys',
        description:
          'Runs the wheel `key.accept_dict`, `key.reject_dict` or `key.delete_dict` with the ' +
          'rights of the caller, who also needs `key.list_all`. With a header ' +
          '`Idempotency-Key` the same request may be sent again, to any replica: keys that are ' +
          'as it wants them count as expected, and as done.',
        body: keyActSchema,
        response: {
          200: keyActedSchema,
          ...problems('forbidden', 'changed', 'too-many', 'no-master'),
        },
      },
    },
    (request): Promise<KeyActed> =>
      inPlace(request, parts.room, async () => {
        needClient(parts, 'callWheel');
        const { session } = whoAsks(request);
        const peer = addressOf(request);
        const caller = await parts.callers.again(session.token, peer);
        if (caller === undefined) throw new RefusedRequest('not-logged-in');
        if (!mayRead(caller.reader, { kind: 'keys' })) throw new RefusedRequest('forbidden');
        const isRepeatable = repeatableOf(request) !== undefined;
        return actOn(parts, request.body, { token: session.token, peer, isRepeatable });
      }),
  );
}

function idIn(cursor: string): string {
  return String(placeOf(cursor, ['string'])[0]);
}

function keyShown({ id, key }: FleetRow, record: KeyRecord | undefined): KeyShown {
  return {
    id,
    state: key,
    fingerprints: record?.state === undefined ? null : fingerprintsOf(record.pub),
    denied: (record?.denied ?? []).map(fingerprintsOf),
    changed: record?.at === undefined ? null : timeText(record.at),
  };
}

function fingerprintsOf(pem: string): NonNullable<KeyShown['fingerprints']> {
  return { salt3006: fingerprint(pem, '3006'), salt3008: fingerprint(pem, '3008') };
}

/** The names of states in matches of the key wheel. */
const SECTIONS = {
  accepted: 'minions',
  pending: 'minions_pre',
  rejected: 'minions_rejected',
} as const;

type Result = KeyActed['results'][number];

/** Who acts, from where, and whether its request may have been done before. */
interface ActedBy {
  readonly token: string;
  readonly peer: string;
  readonly isRepeatable: boolean;
}

async function actOn(
  parts: Pick<V1Parts, 'records' | 'client'>,
  { act, ids: given, expect, fingerprints }: KeyAct,
  { isRepeatable, ...by }: ActedBy,
): Promise<KeyActed> {
  const ids = [...new Set(given)];
  const before = await parts.records.keys(ids);
  const known = fingerprints && new Map(fingerprints.map((one) => [one.id, one.fingerprint]));
  const isFor = (record: KeyRecord | undefined): record is KeyRecord =>
    act === 'delete' ? isThere(record) : record?.state === 'pending';
  // What another replica did before its answer was lost.
  const wasDone = (id: string, record: KeyRecord | undefined): boolean =>
    isDone(act, record) &&
    (known === undefined || !isThere(record) || isKnown(record, known.get(id)));
  const count = before.filter(isFor).length;
  const doneBefore = ids.filter((id, at) => wasDone(id, before[at])).length;
  const isAgain = isRepeatable && doneBefore > 0 && count + doneBefore === expect.count;
  if (count !== expect.count && !isAgain) {
    throw new RefusedRequest('changed', `${count} of these keys can be acted on`, {
      facts: { count },
    });
  }
  const refused = new Map<string, Result['result']>();
  const match = new Map<string, string[]>();
  ids.forEach((id, at) => {
    const record = before[at];
    if (isAgain && wasDone(id, record)) return;
    if (!isFor(record)) refused.set(id, 'no-key');
    else if (known !== undefined && !isKnown(record, known.get(id))) refused.set(id, 'other-key');
    else for (const name of sectionsOf(record)) match.set(name, [...(match.get(name) ?? []), id]);
  });
  if (match.size > 0) await runWheel(parts, `key.${act}_dict`, match, by);
  const after = await parts.records.keys(ids);
  return {
    results: ids.map((id, at) => {
      const result = refused.get(id) ?? (isDone(act, after[at]) ? 'done' : 'unchanged');
      return { id, result };
    }),
  };
}

function isThere(record: KeyRecord | undefined): record is KeyRecord {
  return record !== undefined && (record.state !== undefined || record.denied.length > 0);
}

function isKnown({ pub, denied, state }: KeyRecord, wanted: string | undefined): boolean {
  const keys = state === undefined ? denied : [pub];
  return keys.some((pem) => Object.values(fingerprintsOf(pem)).some((one) => one === wanted));
}

function sectionsOf({ state, denied }: KeyRecord): readonly string[] {
  return [
    ...(state === undefined ? [] : [SECTIONS[state]]),
    ...(denied.length > 0 ? ['minions_denied'] : []),
  ];
}

function isDone(act: KeyAct['act'], record: KeyRecord | undefined): boolean {
  if (act === 'delete') return !isThere(record);
  return record?.state === (act === 'accept' ? 'accepted' : 'rejected');
}

/** @throws RefusedRequest, NetapiError for what the master refuses */
async function runWheel(
  { client }: Pick<V1Parts, 'client'>,
  fun: string,
  match: ReadonlyMap<string, string[]>,
  { token, peer }: { readonly token: string; readonly peer: string },
): Promise<void> {
  const chunk: SaltMap = mapOf({ fun, match: new Map(match), token });
  const result = await client.run({ client: 'wheel', chunk }, { address: peer });
  const value = result.kind === 'value' ? result.value : null;
  const data = isMap(value) ? mapIn(value, 'data') : undefined;
  if (data?.get('success') === false) throw new RefusedRequest('fault', `${fun} failed`);
}
