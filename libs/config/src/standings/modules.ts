import { homedir } from 'node:os';
import { join } from 'node:path';
import { isList } from '../option.ts';
import { alike, ignored, type StandingTable, stops } from '../standing.ts';
import { hasPython, textsIn } from './names.ts';

const IN_PYTHON = 'Brine loads modules in Python only by an interpreter; set brine.python';

/** Modules in Python, which Brine does not load, and what belongs to them. */
export const moduleStandings: StandingTable = {
  ...alike(
    {
      auth_dirs: [],
      cache_dirs: [],
      engines_dirs: [],
      fileserver_dirs: [],
      netapi_dirs: [],
      queue_dirs: [],
      returner_dirs: [],
      roster_dirs: [],
      tokens_dirs: [],
    },
    (preset) => stops(preset, 'Brine does not load such modules in Python'),
  ),
  ...alike(
    {
      module_dirs: [],
      outputter_dirs: [],
      pillar_dirs: [],
      render_dirs: [],
      runner_dirs: [],
      sdb_dirs: [],
      top_dirs: [],
      utils_dirs: [],
      wheel_dirs: [],
    },
    (preset) =>
      stops(preset, IN_PYTHON, { lost: (_value, values) => (hasPython(values) ? [] : undefined) }),
  ),
  // A list: the kinds of modules that lie where the option is not set (loadMasterConfig).
  extension_modules: stops(null, IN_PYTHON, {
    lost: (value, values) => {
      if (hasPython(values)) return [];
      return isList(value) ? textsIn(value) : undefined;
    },
  }),
  ...alike({ extmod_blacklist: {}, extmod_whitelist: {} }, (preset) =>
    ignored(preset, 'Brine does not synchronise modules to the master'),
  ),
  ...alike(
    {
      enable_ssh_minions: false,
      min_extra_mods: '',
      regen_thin: false,
      roster: 'flat',
      roster_defaults: {},
      roster_file: null,
      rosters: [],
      // As salt/config/__init__.py makes it of the user's home.
      ssh_config_file: join(homedir(), '.ssh', 'config'),
      ssh_identities_only: false,
      ssh_keepalive: true,
      ssh_keepalive_count_max: 3,
      ssh_keepalive_interval: 60,
      ssh_list_nodegroups: {},
      ssh_log_file: '/var/log/salt/ssh',
      ssh_merge_pillar: true,
      ssh_minion_opts: {},
      ssh_passwd: '',
      ssh_port: '22',
      ssh_priv_passwd: '',
      ssh_run_pre_flight: false,
      ssh_scan_ports: '22',
      ssh_scan_timeout: 0.01,
      ssh_sudo: false,
      ssh_sudo_user: '',
      ssh_timeout: 60,
      ssh_update_roster: false,
      ssh_use_home_key: false,
      ssh_user: 'root',
      thin_exclude_saltexts: false,
      thin_extra_mods: '',
      thin_saltext_allowlist: null,
      thin_saltext_blocklist: [],
    },
    (preset) => ignored(preset, 'Brine has no salt-ssh'),
  ),
  ...alike(
    {
      api_logfile: '/var/log/salt/api',
      api_pidfile: '/var/run/salt-api.pid',
      netapi_disable_clients: [],
      netapi_enable_clients: [],
      rest_cherrypy: {},
      rest_timeout: 300,
      rest_tornado: {},
      rest_wsgi: {},
    },
    (preset) => ignored(preset, 'Brine has no salt-api'),
  ),
  ...alike(
    {
      win_gitrepos: [],
      win_repo: null,
      win_repo_mastercachefile: null,
      winrepo_branch: 'master',
      winrepo_cachefile: 'winrepo.p',
      winrepo_depth: 1,
      winrepo_dir: '/srv/salt/win/repo',
      winrepo_dir_ng: '/srv/salt/win/repo-ng',
      winrepo_fallback: '',
      winrepo_insecure_auth: false,
      winrepo_mastercachefile: null,
      winrepo_passphrase: '',
      winrepo_password: '',
      winrepo_privkey: '',
      winrepo_provider: null,
      winrepo_proxy: '',
      winrepo_pubkey: '',
      winrepo_refspecs: ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'],
      winrepo_remotes: ['https://github.com/saltstack/salt-winrepo.git'],
      winrepo_remotes_ng: ['https://github.com/saltstack/salt-winrepo-ng.git'],
      winrepo_ssl_verify: true,
      winrepo_user: '',
    },
    (preset) => ignored(preset, 'Brine has no winrepo runner'),
  ),
  ...alike({ django_auth_path: '', django_auth_settings: '' }, (preset) =>
    ignored(preset, 'it belongs to the login module django, which Brine does not have'),
  ),
  range_server: ignored('range:80', 'Brine has no range targets'),
  sqlite_queue_dir: ignored('/var/cache/salt/master/queues', 'Brine has no queue runner'),
  master_roots: ignored({ base: ['/srv/salt-master'] }, 'the master applies no states to itself'),
  features: ignored({}, "Brine does not know Salt's switches for coming features"),
  cython_enable: ignored(false, 'Brine does not load modules in Python'),
  optimization_order: ignored([0, 1, 2], 'Brine does not load modules in Python'),
  search: ignored('', 'Salt 3008 does not read it either'),
};
