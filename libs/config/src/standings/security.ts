import { alike, ignored, type StandingTable, stops } from '../standing.ts';
import { namesIn, notServed } from './names.ts';
import { SERVED } from './served.ts';

/** Keys, rights, and what protects the traffic. */
export const securityStandings: StandingTable = {
  key_pass: stops(null, 'an encrypted master.pem can not be opened; decrypt it'),
  signing_key_pass: stops(null, 'an encrypted signing key can not be opened; decrypt it'),
  cluster_id: stops(
    null,
    "Salt's clusters are not joined: this master would have a key of its own",
  ),
  cluster_peers: stops([], "Salt's clusters are not joined; several hosts share NATS"),
  cluster_pki_dir: stops(null, 'keys are read from pki_dir alone; set pki_dir to this directory'),
  cluster_mode: stops(false, "Salt's clusters are not joined; several hosts share NATS"),
  ...alike(
    {
      cluster_auto_replace_voters: false,
      cluster_demote_cooldown: 60,
      cluster_encryption_algorithm: 'OAEP-SHA1',
      cluster_isolated_filesystem: false,
      cluster_join_timeout: null,
      cluster_key_pass: null,
      cluster_max_log_size: null,
      cluster_max_voters: null,
      cluster_min_voters: 3,
      cluster_pool_port: 4520,
      cluster_port: null,
      cluster_pub_fingerprint: null,
      cluster_secret: null,
      cluster_voter_health_check_interval: 1,
      cluster_voter_timeout: 10,
    },
    (preset) => ignored(preset, "it belongs to Salt's clusters, which are not joined"),
  ),
  ssl: stops(null, 'connections to 4505 and 4506 are not wrapped in TLS'),
  disable_aes_with_tls: ignored(false, 'traffic is always encrypted by the AES key'),
  fips_mode: stops(false, 'algorithms that FIPS 140 forbids are not refused'),
  'keys.cache_driver': stops(
    'localfs_key',
    "keys are looked for in pki_dir alone: no other's log in",
  ),
  eauth_acl_module: stops('', 'no module gives rights'),
  external_auth: stops({}, 'users of these modules can not log in', {
    lost: (value) => notServed('external_auth', namesIn(value)),
  }),
  netapi_allow_raw_shell: ignored(false, 'there is no salt-api'),
  ...alike({ renderer_blacklist: [], renderer_whitelist: [] }, (preset) =>
    stops(preset, `pillars may use ${SERVED.renderer.join(', ')} whatever it says`),
  ),
  ...alike(
    {
      eauth_tokens: 'localfs',
      'eauth_tokens.cache_driver': null,
      'eauth_tokens.cluster_id': null,
    },
    (preset) => ignored(preset, 'tokens of all hosts are kept in NATS'),
  ),
  token_dir: ignored(null, 'tokens of all hosts are kept in NATS'),
  'auth.enable_expanded_auth_matching': ignored(false, 'rights are matched as without it'),
  request_server_aes_session: ignored(0, 'publish_session is the age of session keys'),
  key_logfile: ignored('/var/log/salt/key', 'brine key has no log file; changes are in the audit'),
  detect_remote_minions: ignored(false, 'who is connected is known from the connections alone'),
  remote_minions_port: ignored(22, 'it belongs to detect_remote_minions, which is not served'),
  auth_mode: ignored(1, 'Salt has one kind of log-in'),
  use_os_truststore: ignored(false, "outgoing connections trust Node's certificates"),
};
