import { timeText } from '@brine/api';
import { begunJobSchema } from '@brine/api/jobs';
import { type AuditPage, auditQuery, auditSchema } from '@brine/api/runs';
import type { DescribedApp } from '@brine/http';
import { isMap, type SaltMap, textOf } from '@brine/wire';
import { addressOfWork } from '../asking.ts';
import { cursorOf, notOfThisList, placeOf } from '../cursor.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { momentsOf } from '../time-or-age.ts';
import { textIn } from '../values.ts';
import { beginRun, RUN_CODES } from './begin-run.ts';
import { CALL_CODES, callRunner } from './call-runner.ts';

/** `/v1/audit`: acts on record, and whether they are intact. */
export function addAudit(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/audit',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['audit'],
        summary: 'Acts on record, newest first',
        description: 'For a caller with the runner `audit.list`. The request itself is on record.',
        querystring: auditQuery,
        response: { 200: auditSchema, ...problems(...CALL_CODES) },
      },
    },
    async (request): Promise<AuditPage> => {
      const { who, act, limit, after } = request.query;
      const { from, to } = momentsOf(request.query, ['from', 'to']);
      const found = await callRunner(request, parts, 'audit.list', {
        limit,
        kind: act,
        principal: who,
        since: from === undefined ? undefined : new Date(from).toISOString(),
        until: to === undefined ? undefined : new Date(to).toISOString(),
        before: after === undefined ? undefined : placeIn(after),
      });
      const rows = Array.isArray(found) ? found.filter(isMap) : [];
      const last = rows.length < limit ? undefined : rows.at(-1);
      return { items: rows.map(actOf), next: last === undefined ? null : nextOf(last) };
    },
  );
  app.post(
    '/audit/verify',
    {
      schema: {
        tags: ['audit'],
        summary: 'Check the seals of all acts on record',
        description:
          'Begins a run of the runner `audit.verify` with the rights of the caller; its result ' +
          'names rows that were changed, taken out or moved. Takes an `Idempotency-Key`.',
        response: { 202: begunJobSchema, ...problems(...RUN_CODES) },
      },
    },
    async (request, reply) => {
      const run = { client: 'runner', fun: 'audit.verify', kwarg: {} } as const;
      const { jid } = await beginRun(request, parts, { ...run, arg: [] });
      return reply
        .code(202)
        .header('Location', addressOfWork(request, 'runs', jid))
        .send({ jid });
    },
  );
}

/** The cursor for the acts that come after a row. */
function nextOf(row: SaltMap): string {
  return cursorOf([textOf(row, 'at') ?? '', textOf(row, 'row') ?? '']);
}

/** A place in the record, as the runner takes it. @throws RefusedRequest for a forged cursor */
function placeIn(after: string): string {
  const [at, row] = placeOf(after, ['string', 'string']).map(String);
  const isPlace = !Number.isNaN(Date.parse(at ?? '')) && /^.+ \d{1,15}$/s.test(row ?? '');
  if (!isPlace) throw notOfThisList();
  return `${at} ${row}`;
}

function actOf(row: SaltMap): AuditPage['items'][number] {
  return {
    row: textOf(row, 'row') ?? '',
    at: timeText(Date.parse(textOf(row, 'at') ?? '') / 1_000),
    kind: textOf(row, 'kind') ?? '',
    outcome: textOf(row, 'outcome') ?? '',
    ...textIn(row, 'principal'),
    ...textIn(row, 'claimed'),
    ...textIn(row, 'fun'),
    ...textIn(row, 'target'),
    ...textIn(row, 'path'),
    ...textIn(row, 'jid'),
    ...textIn(row, 'via'),
    ...textIn(row, 'peer'),
    ...textIn(row, 'source'),
  };
}
