import { readsAll } from '@brine/acl';
import { noQuery, timeText } from '@brine/api';
import { type Doctor, doctorSchema } from '@brine/api/site';
import { JobRecords } from '@brine/client';
import type { DescribedApp, HttpRequest } from '@brine/http';
import { type Finding, runbookOf } from '@brine/operations/findings';
import { isMap, mapOf, type SaltMap } from '@brine/wire';
import { askedBy } from '../asking.ts';
import { callerAgain } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { inPlace, whoAsks } from '../who.ts';

/** An examination reads files, and asks servers: its findings are kept for so long. */
const KEPT_MS = 10_000;
const WITHHELD = 'withheld: it has a secret; run `brine doctor` on the host';

/** `/v1/doctor`: what the doctor finds on the host of this http-api. */
export function addDoctor(app: DescribedApp, parts: V1Parts): void {
  const findings = keptFor(KEPT_MS);
  app.get(
    '/doctor',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['site'],
        summary: 'What the doctor finds on the host of this http-api',
        description: 'As `brine doctor` does, for callers with all rights.',
        querystring: noQuery,
        response: { 200: doctorSchema, ...problems('forbidden', 'too-many', 'no-master') },
      },
    },
    (request): Promise<Doctor> =>
      inPlace(request, parts.room, async () => {
        const { reader } = await callerAgain(request, parts);
        if (!readsAll(reader.acl)) throw new RefusedRequest('forbidden');
        const { atMs, found } = await findings(() => parts.examine(recordsAs(request, parts)));
        const scanner = parts.secrets();
        return {
          host: parts.host,
          examined: timeText(atMs / 1_000),
          findings: found.map(({ level, check, text }) => ({
            level,
            check,
            text: scanner.find(text).length > 0 ? WITHHELD : text,
            runbook: runbookOf(check),
          })),
        };
      }),
  );
}

/** The job cache and the roll, asked with the token of a caller with all rights. */
function recordsAs(request: HttpRequest, { requests }: Pick<V1Parts, 'requests'>): JobRecords {
  const { token } = whoAsks(request).session;
  const command = async (load: SaltMap): Promise<SaltMap> => {
    const answer = await requests.ask(new Map([...load, ['token', token]]), askedBy(request));
    return isMap(answer) ? answer : mapOf({});
  };
  return new JobRecords({ command });
}

interface Examined {
  readonly atMs: number;
  readonly found: readonly Finding[];
}

/** Runs one examination at a time, for all who ask meanwhile and for some time after it. */
function keptFor(ms: number) {
  let last: Promise<Examined> | undefined;
  return (examine: () => Promise<readonly Finding[]>): Promise<Examined> => {
    if (last !== undefined) return last;
    const begun = examine().then((found) => ({ atMs: Date.now(), found }));
    const forget = (): void => {
      last = undefined;
    };
    begun.then(() => setTimeout(forget, ms).unref(), forget);
    return (last = begun);
  };
}
