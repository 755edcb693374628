import { mapOf, type SaltMap, textOf } from '../value.ts';

/**
 * Functions whose runs have no entry in the job cache: `auth` and `key.gen` return secrets, and
 * `jobs` reads the job cache itself.
 */
const WITHOUT_ENTRY = /^(?:runner\.(?:auth|jobs)\.|wheel\.key\.gen)/;

/**
 * Functions that take secrets: passwords, or the text of configurations and pillars. Refused
 * runners (`nacl`, `vault`, …) are included: they are called by mistake.
 */
const WITH_SECRETS = [
  /^runner\.(?:auth|cloud|nacl|ssh|vault)\./,
  /^runner\.(?:http\.query|sdb\.set|manage\.bootstrap\w*)$/,
  /^wheel\.(?:config\.(?:apply|update_config)|(?:file|pillar)_roots\.write)$/,
];

/** Functions that return secrets: a token, the private key of a minion. */
const RETURNS_SECRETS = /^(?:runner\.auth\.mk_token|wheel\.key\.gen(?:_accept|_keys)?)$/;

/** The purpose for which returns of {@link hasSecretReturn} are sealed. */
export const SECRET_RETURN = 'secret return';

/** Tags of the events that end a run; the job id is in the first group. */
const ENDED = /^salt\/(?:run|wheel)\/(\d{20})\/ret$/;

/**
 * The entry that the job cache keeps of a runner or a wheel that has ended (salt/client/mixins.py
 * `low`, salt/utils/job.py `store_job`): a return of the master itself whose value is the event.
 *
 * @param tag of the event
 * @param data of the event
 * @param masterId `<host>_master`
 * @returns undefined for an event that ends no run, or a run without an entry
 */
export function buildRunEntry(
  tag: string,
  data: SaltMap,
  masterId: string,
): { readonly jid: string; readonly load: SaltMap } | undefined {
  const jid = ENDED.exec(tag)?.[1];
  const fun = textOf(data, 'fun');
  if (jid === undefined || fun === undefined || !hasRunEntry(fun)) return undefined;
  const retcode = data.get('retcode');
  const load = mapOf({
    id: masterId,
    jid,
    fun,
    fun_args: data.get('fun_args') ?? [],
    arg: [],
    tgt: masterId,
    tgt_type: 'list',
    user: textOf(data, 'user') ?? '',
    return: data,
    success: data.get('success') === true,
    retcode: typeof retcode === 'number' ? retcode : Number(data.get('success') === false),
  });
  return { jid, load };
}

/** True if the job cache keeps the runs of a function: `runner.manage.up`. */
export function hasRunEntry(fun: string): boolean {
  return !WITHOUT_ENTRY.test(fun);
}

/** True if a function's arguments stay out of events, lists and jobs: `runner.auth.mk_token`. */
export function hasSecretArguments(fun: string): boolean {
  return WITH_SECRETS.some((names) => names.test(fun));
}

/** True if a function's return is kept out of streams and records: `wheel.key.gen`. */
export function hasSecretReturn(fun: string): boolean {
  return RETURNS_SECRETS.test(fun);
}

/** True if an event of this tag ends a run. */
export function endsRun(tag: string): boolean {
  return ENDED.test(tag);
}
