import { noQuery } from '@brine/api';
import { minionParams, minionPartSchema, pillarQuery } from '@brine/api/fleet';
import { begunJobSchema } from '@brine/api/jobs';
import type { DescribedApp, HttpReply, HttpRequest } from '@brine/http';
import { mapOf, type SaltValue } from '@brine/wire';
import { toJson } from '@brine/wire/text';
import { addressOfWork, readAs } from '../asking.ts';
import { publishAs } from '../jobs/new-job.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { textIn, timeIn } from '../values.ts';
import { inPlace } from '../who.ts';
import { fleetView } from './fleet-view.ts';
import { seenRow } from './minion.ts';

const tags = ['minions'];
const codes = ['forbidden', 'not-found', 'too-many', 'no-master'] as const;

/** A part of a minion: how it is shown, and the function that has it sent. */
interface Part {
  readonly name: string;
  /** Undefined: another route shows it. */
  readonly shown?: { readonly summary: string; readonly right: string };
  readonly fun: string;
  readonly kwarg?: Readonly<Record<string, SaltValue>>;
}

const AS_DATA = { return_yaml: false };

/** A worker judges who may read them, and has them (libs/master reads/minion-parts.ts). */
const PARTS: readonly Part[] = [
  { name: 'grains', fun: 'saltutil.refresh_grains' },
  {
    name: 'pillar',
    shown: { summary: 'The pillar of a minion, as it was made last', right: 'pillar.items' },
    fun: 'saltutil.refresh_pillar',
  },
  {
    name: 'mine',
    shown: { summary: 'What a minion put into the mine', right: 'mine.get' },
    fun: 'mine.update',
  },
  {
    name: 'schedule',
    shown: { summary: 'The schedule of a minion, as it gave it last', right: 'schedule.list' },
    fun: 'schedule.list',
    kwarg: { show_all: true, ...AS_DATA },
  },
  {
    name: 'beacons',
    shown: { summary: 'The beacons of a minion, as it gave them last', right: 'beacons.list' },
    fun: 'beacons.list',
    kwarg: AS_DATA,
  },
];

/** `/v1/minions/{id}/pillar` and so on: parts of one minion, and how they are refreshed. */
export function addMinionParts(app: DescribedApp, parts: V1Parts): void {
  for (const part of PARTS) {
    if (part.shown !== undefined) addShown(app, parts, part.name, part.shown);
    addRefresh(app, parts, part);
  }
}

function addShown(
  app: DescribedApp,
  parts: V1Parts,
  part: string,
  { summary, right }: NonNullable<Part['shown']>,
): void {
  const schema = {
    tags,
    summary,
    description: `For a caller that may run \`${right}\` there.`,
    params: minionParams,
    response: { 200: minionPartSchema, ...problems(...codes) },
  };
  const path = `/minions/:id/${part}`;
  if (part !== 'pillar') {
    const options = { exposeHeadRoute: true, schema: { ...schema, querystring: noQuery } };
    app.get(path, options, (request, reply) =>
      show(request, reply, parts, { part, ...request.params }),
    );
    return;
  }
  const options = { exposeHeadRoute: true, schema: { ...schema, querystring: pillarQuery } };
  app.get(path, options, (request, reply) =>
    show(request, reply, parts, { part, ...request.params, ...request.query }),
  );
}

async function show(
  request: HttpRequest,
  reply: HttpReply,
  parts: V1Parts,
  asked: Readonly<Record<string, SaltValue | undefined>>,
) {
  const found = await readAs(request, parts, 'minion_part', asked);
  const { jid = null } = textIn(found, 'jid');
  const rest = { updated: timeIn(found, 'at'), jid, masked: found.get('isMasked') === true };
  // It may have some MiB, and is written once.
  const text = `{"data":${toJson(found.get('data') ?? null).json},${JSON.stringify(rest).slice(1)}`;
  return reply.type('application/json; charset=utf-8').serializer(String).send(text);
}

function addRefresh(app: DescribedApp, parts: V1Parts, { name, fun, kwarg }: Part): void {
  const arg = kwarg === undefined ? [] : [mapOf({ __kwarg__: true, ...kwarg })];
  app.post(
    `/minions/:id/${name}/refresh`,
    {
      schema: {
        tags,
        summary: `Have a minion send its ${name}`,
        description: `Publishes \`${fun}\` there, judged as a new job.`,
        params: minionParams,
        querystring: noQuery,
        response: {
          202: begunJobSchema,
          ...problems(...codes, 'bad-target', 'key-in-use'),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      await inPlace(request, parts.room, async () => seenRow(await fleetView(request, parts), id));
      const { jid } = await publishAs(request, parts, {
        tgt: [id],
        tgtType: 'list',
        fun,
        arg,
        ret: '',
        metadata: mapOf({}),
        expect: undefined,
      });
      return reply
        .code(202)
        .header('Location', addressOfWork(request, 'jobs', jid))
        .send({ jid });
    },
  );
}
