import { type ConfigMap, type ConfigValue, isConfigMap, isList } from '../option.ts';
import { alike, harmless, ignored, partly, type StandingTable, stops } from '../standing.ts';
import { hasPython, IN_PYTHON, namesIn, notServed, textsIn } from './names.ts';

const REFSPECS = ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'];

/** Pillars, files, states, and storage of minion data. */
export const dataStandings: StandingTable = {
  ext_pillar: stops(
    [],
    'pillars lack their data and carry an error that stops states; exclude_ext_pillar leaves ' +
      'them out without an error, brine.python makes them by Salt',
    { lost: otherPillars },
  ),
  fileserver_backend: stops(['roots'], 'Brine does not serve files from these', {
    lost: (value) => notServed('fileserver_backend', textsIn(value)),
  }),
  master_tops: stops({}, 'minions get no states from these without brine.python', {
    lost: (value, values) => (hasPython(values) ? [] : notServed('master_tops', namesIn(value))),
  }),
  renderer: stops('jinja|yaml', 'no pillar can be rendered with these without brine.python', {
    lost: (value, values) => (hasPython(values) ? [] : notServed('renderer', pipeOf(value))),
  }),
  decrypt_pillar: stops([], 'Brine does not decrypt pillar keys with these', {
    lost: otherRenderers,
  }),
  decrypt_pillar_default: stops('gpg', 'Brine does not decrypt pillar keys with this', {
    lost: (value) => notServed('decrypt_pillar', textsIn(value)),
  }),
  decrypt_pillar_renderers: partly(['gpg'], 'Brine does not decrypt pillar keys with these', {
    lost: (value) => notServed('decrypt_pillar', textsIn(value)),
  }),
  jinja_sls_env: partly({}, 'minions use these; the master renders pillars without them', {
    lost: (value) =>
      namesIn(value).filter((name) => name !== 'trim_blocks' && name !== 'lstrip_blocks'),
  }),
  pillar_opts: partly(false, 'the pillar contains only the options that Brine reads'),
  pillar_version: ignored(2, 'Brine always sends pillars of version 2'),
  pillar_raise_on_missing: ignored(false, 'only minions read it'),
  pillar_mask_output: ignored(true, 'only minions read it'),
  pillar_cache_backend: harmless('disk', 'Brine caches pillars in NATS'),
  'pillar.cache_driver': ignored(null, 'Brine keeps minion data in NATS and in cachedir'),
  ...alike(
    {
      git_pillar_depth: 1,
      git_pillar_disable_saltenv_mapping: false,
      git_pillar_insecure_auth: false,
      git_pillar_passphrase: '',
      git_pillar_proxy: '',
      git_pillar_ref_types: ['branch', 'tag', 'sha'],
      git_pillar_refspecs: REFSPECS,
    },
    (preset) => ignored(preset, 'git_pillar fetches without it'),
  ),
  ...alike(
    {
      git_pillar_global_lock: true,
      git_pillar_provider: null,
      git_pillar_pubkey: '',
      git_pillar_verify_config: true,
      gitfs_global_lock: true,
      gitfs_provider: null,
      gitfs_pubkey: '',
      pillar_gitfs_ssl_verify: null,
    },
    (preset) => harmless(preset, 'Brine runs git itself, which needs no such setting'),
  ),
  ...alike({ gpg_cache: false, gpg_cache_backend: 'disk', gpg_cache_ttl: 86_400 }, (preset) =>
    ignored(preset, 'Brine does not cache decrypted messages'),
  ),
  ...alike(
    { pass_dir: '', pass_gnupghome: '', pass_strict_fetch: false, pass_variable_prefix: '' },
    (preset) => ignored(preset, 'the renderer pass needs brine.python', IN_PYTHON),
  ),
  ...alike(
    {
      azurefs_update_interval: 60,
      hgfs_base: 'default',
      hgfs_branch_method: 'branches',
      hgfs_mountpoint: '',
      hgfs_remotes: [],
      hgfs_root: '',
      hgfs_saltenv_blacklist: [],
      hgfs_saltenv_whitelist: [],
      hgfs_update_interval: 60,
      minionfs_blacklist: [],
      minionfs_env: 'base',
      minionfs_mountpoint: '',
      minionfs_update_interval: 60,
      minionfs_whitelist: [],
      s3fs_update_interval: 60,
      svnfs_branches: 'branches',
      svnfs_mountpoint: '',
      svnfs_remotes: [],
      svnfs_root: '',
      svnfs_saltenv_blacklist: [],
      svnfs_saltenv_whitelist: [],
      svnfs_tags: 'tags',
      svnfs_trunk: 'trunk',
      svnfs_update_interval: 60,
    },
    (preset) => ignored(preset, 'Brine serves files from roots and gitfs only'),
  ),
  ...alike({ fileserver_interval: 3600, fileserver_verify_config: true }, (preset) =>
    harmless(preset, 'Brine sees a changed file at its next request'),
  ),
  master_tops_first: ignored(false, 'Brine does not send it to minions'),
  lock_saltenv: ignored(false, 'Brine does not send it to minions'),
  test: partly(false, "orchestrations use it; set it for minions in the minions' files"),
  global_state_conditions: stops(
    null,
    'orchestrations would run states that these conditions should block',
  ),
  file_client: ignored('local', 'the master always reads its own files'),
  local: ignored(true, 'the master always reads its own files'),
  cache: ignored('localfs', 'Brine keeps minion data in NATS and in cachedir'),
  ...alike(
    {
      memcache_debug: false,
      memcache_expire_seconds: 0,
      memcache_full_cleanup: false,
      memcache_max_items: 1024,
    },
    (preset) => ignored(preset, 'Brine uses no cache module of Salt'),
  ),
  key_cache: harmless('', 'Brine always keeps keys in memory'),
  master_job_cache: partly('local_cache', 'Brine keeps jobs in PostgreSQL, not in this cache', {
    lost: (value) => notServed('master_job_cache', textsIn(value)),
  }),
};

/** External pillars that are neither excluded by exclude_ext_pillar nor supported. */
function otherPillars(value: ConfigValue, values: ConfigMap): readonly string[] {
  if (hasPython(values)) return [];
  const excluded = textsIn(values['exclude_ext_pillar']);
  const asked = (isList(value) ? value : []).filter((entry) => {
    // The first name of an entry decides, as in Salt.
    const [first = ''] = namesIn(entry);
    return !excluded.includes(first);
  });
  return notServed('ext_pillar', namesIn(asked));
}

/** The renderers that `decrypt_pillar` names for its keys. */
function otherRenderers(value: ConfigValue): readonly string[] {
  const maps = (isList(value) ? value : [value]).filter(isConfigMap);
  return notServed('decrypt_pillar', maps.flatMap(Object.values).flatMap(textsIn));
}

/** The renderers of a pipe as `jinja|yaml`. */
function pipeOf(value: ConfigValue): string[] {
  const [pipe = ''] = textsIn(value);
  const steps = pipe.replace(/^(yaml|json)_jinja$/, 'jinja|$1').split('|');
  return steps.map((step) => step.trim().split(/\s+/)[0] ?? '');
}
