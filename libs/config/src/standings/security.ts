import { alike, ignored, partly, type StandingTable, stops } from '../standing.ts';
import { namesIn, notServed, textsIn } from './names.ts';

/** Keys, rights, and protection of the traffic. */
export const securityStandings: StandingTable = {
  cluster_peers: stops(
    [],
    "stock masters of this cluster get no events and no AES key from Brine: Brine's hosts share " +
      'NATS; stop the peers, and remove this',
  ),
  cluster_pki_dir: ignored(null, 'cluster_id is not set', {
    lost: (_value, { cluster_id: id }) => {
      // YAML reads an id of digits as a number.
      const isSet = typeof id === 'number' || textsIn(id).some(Boolean);
      return isSet ? [] : undefined;
    },
  }),
  cluster_mode: stops(false, "Brine can not join a cluster of Salt; Brine's hosts share NATS"),
  ...alike(
    {
      cluster_auto_replace_voters: false,
      cluster_demote_cooldown: 60,
      cluster_encryption_algorithm: 'OAEP-SHA1',
      cluster_isolated_filesystem: false,
      cluster_join_timeout: null,
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
    (preset) => ignored(preset, "it belongs to Salt's clusters, which Brine can not join"),
  ),
  ssl: stops(null, 'Brine does not use TLS on ports 4505 and 4506'),
  disable_aes_with_tls: ignored(false, 'Brine always encrypts traffic with the AES key'),
  fips_mode: stops(false, 'Brine does not refuse algorithms that FIPS 140 forbids'),
  'keys.cache_driver': stops(
    'localfs_key',
    'Brine reads keys only from pki_dir; minions with keys elsewhere can not log in',
  ),
  eauth_acl_module: stops('', 'Brine takes no rights from a module'),
  external_auth: stops({}, 'users of these modules can not log in', {
    lost: (value) => notServed('external_auth', namesIn(value)),
  }),
  netapi_allow_raw_shell: ignored(false, 'Brine has no salt-ssh'),
  ...alike(
    {
      eauth_tokens: 'localfs',
      'eauth_tokens.cache_driver': null,
      'eauth_tokens.cluster_id': null,
    },
    (preset) => ignored(preset, 'Brine keeps the tokens of all hosts in NATS'),
  ),
  token_dir: ignored(null, 'Brine keeps the tokens of all hosts in NATS'),
  'auth.enable_expanded_auth_matching': ignored(false, 'Brine matches rights as without it'),
  request_server_aes_session: ignored(0, 'publish_session sets the age of session keys'),
  key_logfile: ignored(
    '/var/log/salt/key',
    'brine key writes no log file; brine run audit.list shows changes',
  ),
  detect_remote_minions: ignored(false, 'Brine knows connected minions only by their connections'),
  remote_minions_port: ignored(
    22,
    'it belongs to detect_remote_minions, which Brine does not have',
  ),
  auth_mode: ignored(1, 'Salt has only one kind of log-in'),
  ...alike({ ca_bundle: null, verify_ssl: true }, (preset) =>
    partly(preset, 'http.query uses it; external pillars do not'),
  ),
  use_os_truststore: ignored(false, "outgoing connections trust only Node's certificates"),
};
