import { isJid } from '@brine/job';
import {
  checkNames,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  unpackMap,
  WireError,
} from '@brine/wire';
import type { AesRequest } from '../channel.ts';
import type { AnswerAbout, MasterPorts, Request, SharingPeer } from '../ports/ports.ts';
import { receiveFile } from './file-recv.ts';
import {
  allEnvs,
  fileEnvs,
  fileHash,
  findFile,
  hashAndStat,
  listOf,
  serveFile,
  symlinkList,
} from './files.ts';
import { masterOpts, masterTops } from './master-opts.ts';
import { deleteFromMine, flushMine, getFromMine, putIntoMine } from './mine.ts';
import { takeMinionEvent } from './minion-event.ts';
import { eventsOnce, onceKey, onceOnly } from './once.ts';
import { minionRunner } from './peer-runner.ts';
import { minionPub, minionPublish, publishedReturns } from './peers.ts';
import { rememberPillarRequest, renderPillar } from './pillar.ts';
import { linkOf, takeReturn } from './return.ts';
import { keepRefusal } from './return-refusal.ts';
import { revokeAuth } from './revoke-auth.ts';
import { takeSyndicReturn } from './syndic-return.ts';
import { mayBeSyndic } from './syndics.ts';

/** The result of a command, and how it is sealed (salt/master.py `AESFuncs.run_func`). */
export interface AesResult {
  readonly reply: 'send' | 'private';
  readonly value: SaltValue;
  /** For its trace. */
  readonly about?: AnswerAbout;
}

type AesCommand = (ports: MasterPorts, request: AesRequest) => Promise<AesResult> | AesResult;

/**
 * A command, and how a repetition of its bytes is treated: one that `reads` runs again, one that
 * `writes` does not ({@link onceOnly}). `seesToIt`: the command detects repetitions itself.
 */
interface Listed {
  readonly does: 'reads' | 'writes' | 'seesToIt';
  readonly run: AesCommand;
}
const reads = (run: AesCommand): Listed => ({ does: 'reads', run });
const writes = (run: AesCommand): Listed => ({ does: 'writes', run });
const seesToIt = (run: AesCommand): Listed => ({ does: 'seesToIt', run });

/** A constant answer: Salt's "not found" of a command whose data this master does not serve. */
const fixed = (value: () => SaltValue): AesCommand => {
  return () => ({ reply: 'send', value: value() });
};

/** Unpacks the load; throws WireError for an invalid name in a field that names something. */
function loadOf({ body, scan }: AesRequest): SaltMap {
  const load = unpackMap(body);
  checkNames(load, scan.text('cmd') ?? '');
  return load;
}

/** A command that takes the unpacked load. */
const decoded =
  (
    run: (ports: MasterPorts, request: AesRequest, load: SaltMap) => Promise<SaltValue> | SaltValue,
  ) =>
  async (ports: MasterPorts, request: AesRequest): Promise<AesResult> => ({
    reply: 'send',
    value: await run(ports, request, loadOf(request)),
  });

/** A command that needs only its load; version 2 file requests name no minion. */
const fromLoad = (
  run: (ports: MasterPorts, load: SaltMap) => Promise<SaltValue> | SaltValue,
): AesCommand => decoded((ports, _request, load) => run(ports, load));

/** A command that version 2 minions send with `tok`; `refused` is Salt's answer without it. */
const needsToken =
  (refused: () => SaltValue, command: AesCommand): AesCommand =>
  (ports, request) => {
    if (request.tokenChecked) return command(ports, request);
    ports.count('aes_without_token');
    return { reply: 'send', value: refused() };
  };

const emptyMap = (): SaltMap => mapOf({});
const no = (): boolean => false;

/** A command of a minion in its own name; `refused` is the answer without a token. */
const ofMinion = (
  run: (ports: MasterPorts, minion: string, load: SaltMap) => Promise<SaltValue>,
  refused: () => SaltValue = emptyMap,
): AesCommand =>
  needsToken(
    refused,
    decoded((ports, { minion }, load) =>
      minion === undefined ? refused() : run(ports, minion, load),
    ),
  );

/** A command about jobs that a minion publishes; a replay publishes nothing. */
const ofPeer = (
  run: (ports: MasterPorts, request: Request, minion: string, load: SaltMap) => Promise<SaltValue>,
): AesCommand =>
  needsToken(
    emptyMap,
    decoded((ports, request, load) => {
      const { minion } = request;
      if (minion === undefined) return emptyMap();
      return run(ports, { ...request.request, id: onceId(request) }, minion, load);
    }),
  );

const returned: AesCommand = async (ports, request) => {
  const { minion } = request;
  // A version 2 return carries no token: at least its id must be one of ours.
  if (minion === undefined || ports.keys.cached(minion)?.state !== 'accepted') {
    ports.count('return_of_unknown_minion');
    const state = minion === undefined ? undefined : ports.keys.cached(minion)?.state;
    // Strangers could name any number of ids without a key.
    if (state !== undefined) {
      const jid = request.scan.text('jid');
      await keepRefusal(ports, { jid, minion }, `its key is not accepted (${state})`);
    }
    return { reply: 'send', value: null };
  }
  if (ports.syndics.unanswering().has(minion)) await ports.syndics.answers(minion);
  const take = () => takeReturn(ports, request.request, request.body);
  let job: Awaited<ReturnType<typeof take>>;
  // The store detects repeated returns of a job, for good, but not those without a job.
  if (isJid(request.scan.text('jid') ?? '')) job = await take();
  else {
    await onceOnly(ports, request, async () => {
      job = await take();
      return null;
    });
  }
  return { reply: 'send', value: null, ...(job === undefined ? {} : { about: job }) };
};

const syndicReturned: AesCommand = async (ports, { request, body, minion }) => {
  await takeSyndicReturn(ports, request, unpackMap(body), minion);
  return { reply: 'send', value: null };
};

const pillar: AesCommand = async (ports, request) => {
  const { minion } = request;
  let value = emptyMap();
  if (minion !== undefined) {
    const load = loadOf(request);
    await onceOnly(ports, request, async () => {
      await rememberPillarRequest(ports, onceId(request), load, minion);
      return null;
    });
    value = (await renderPillar(ports, load, minion)) ?? value;
  }
  return { reply: 'private', value, about: aboutRequest('pillar', request) };
};

const minionEvent: AesCommand = async (ports, request) => {
  const load = unpackMap(request.body);
  load.delete('tok');
  load.delete('nonce');
  const store = (): Promise<boolean> => takeMinionEvent(ports, onceId(request), load);
  const take = (): Promise<boolean> => eventsOnce(ports, request, store);
  // Before the note, because a refused request must write nothing.
  const peer = await sharingPeer(ports, request);
  const taken = await ports.inShare(peer, request.body.length, take);
  return { reply: 'send', value: taken ? null : emptyMap(), about: aboutRequest('event', request) };
};

async function sharingPeer(ports: MasterPorts, { minion = '' }: AesRequest): Promise<SharingPeer> {
  const isSyndic = mayBeSyndic(ports, minion) && (await ports.syndics.isKnown(minion));
  return { id: minion, kind: isSyndic ? 'syndic' : 'minion' };
}

const revoked = decoded((ports, request, load) => revokeAuth(ports, request.minion, load));

/** The id under which all writes of a request happen once, in any worker. */
function onceId(request: AesRequest): string {
  return onceKey(request) ?? request.request.id;
}

function aboutRequest(kind: 'pillar' | 'event', { scan, minion }: AesRequest): AnswerAbout {
  const link = linkOf(scan);
  return {
    kind,
    ...(minion === undefined ? {} : { minion }),
    ...(link === undefined ? {} : { link }),
  };
}

const registerResources = decoded(async (ports, request) => {
  const { minion } = request;
  const { minionDataCache, minionDataCacheEvents } = ports.rules;
  if (minion === undefined || !minionDataCache || !minionDataCacheEvents) return true;
  await ports.events.append({
    kind: 'minion',
    tag: `resource/refresh/${minion}`,
    body: pack(mapOf({ 'Resource cache refresh': minion })),
    minion,
    msgId: `resource:${onceId(request)}`,
  });
  return true;
});

/**
 * The closed table of commands a minion may send (salt/master.py `AESFuncs.expose_methods`).
 * Commands that this version does not serve answer Salt's "not found" value, which stock minions
 * accept. A Map, never an object: a received name must not reach a prototype.
 */
const COMMANDS: ReadonlyMap<string, Listed> = new Map<string, Listed>([
  ['_return', seesToIt(returned)],
  ['_pillar', seesToIt(pillar)],
  ['_minion_event', seesToIt(needsToken(emptyMap, minionEvent))],
  ['_register_resources', writes(registerResources)],
  [
    '_master_opts',
    reads(
      fromLoad(async (ports, load) =>
        masterOpts(ports.rules.masterOpts, allEnvs(await ports.files.envs()), load),
      ),
    ),
  ],
  ['_mine', writes(ofMinion(putIntoMine))],
  ['_mine_get', reads(ofMinion(getFromMine))],
  ['_mine_delete', writes(ofMinion(deleteFromMine))],
  ['_mine_flush', writes(ofMinion(flushMine))],
  ['_master_tops', reads(ofMinion(masterTops))],
  ['_file_envs', reads(fromLoad(fileEnvs))],
  ['_file_list', reads(fromLoad(listOf('files')))],
  ['_file_list_emptydirs', reads(fromLoad(listOf('emptyDirs')))],
  ['_dir_list', reads(fromLoad(listOf('dirs')))],
  ['_symlink_list', reads(fromLoad(symlinkList))],
  ['_file_hash', reads(fromLoad(fileHash))],
  ['_file_hash_and_stat', reads(fromLoad(hashAndStat))],
  ['_file_find', reads(fromLoad(findFile))],
  ['_serve_file', reads(fromLoad(serveFile))],
  ['_file_recv', writes(ofMinion(receiveFile, no))],
  ['_syndic_return', writes(syndicReturned)],
  ['minion_runner', writes(ofPeer(minionRunner))],
  ['minion_pub', writes(ofPeer(minionPub))],
  ['minion_publish', writes(ofPeer(minionPublish))],
  ['pub_ret', reads(ofPeer(publishedReturns))],
  ['revoke_auth', writes(needsToken(no, revoked))],
  // Whitelisted in Salt, but its handler raises: an empty text comes back.
  ['verify_minion', reads(fixed(() => ''))],
]);

/** Runs a minion's command; an unknown one answers an empty map, as Salt does. */
export async function runAesCommand(ports: MasterPorts, request: AesRequest): Promise<AesResult> {
  const name = request.scan.text('cmd') ?? '';
  const command = COMMANDS.get(name);
  if (command === undefined) {
    ports.count('aes_unknown_command');
    return { reply: 'send', value: emptyMap() };
  }
  const start = performance.now();
  try {
    if (command.does !== 'writes') return await command.run(ports, request);
    return await written(ports, request, command.run);
  } catch (cause) {
    if (!(cause instanceof WireError) || cause.code !== 'SALT_WIRE_FIELD') throw cause;
    // Salt's answer when one of its own functions fails.
    ports.count('aes_malformed');
    return { reply: 'send', value: '' };
  } finally {
    ports.handled?.(name, performance.now() - start);
  }
}

async function written(
  ports: MasterPorts,
  request: AesRequest,
  run: AesCommand,
): Promise<AesResult> {
  let about: AnswerAbout | undefined;
  const value = await onceOnly(ports, request, async () => {
    const result = await run(ports, request);
    about = result.about;
    return result.value;
  });
  return { reply: 'send', value, ...(about === undefined ? {} : { about }) };
}
