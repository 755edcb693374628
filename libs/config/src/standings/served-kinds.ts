/**
 * The supported kinds for options that name kinds. The master warns of any other at its start. A
 * test in apps/worker-pool compares the code with this list.
 */
export const SERVED = {
  ext_pillar: [
    'cmd_json',
    'cmd_yaml',
    'file_tree',
    'git',
    'http_json',
    'http_yaml',
    'nodegroups',
    'postgres',
    'saltclass',
  ],
  external_auth: ['auto', 'file', 'ldap', 'oidc', 'pam', 'pki', 'rest', 'sharedsecret'],
  fileserver_backend: ['roots', 'git', 'gitfs'],
  master_tops: ['ext_nodes', 'saltclass'],
  engines: [
    ...['webhook', 'http_logstash', 'logstash', 'fluent', 'stalekey', 'script', 'test', 'http'],
    ...['nats', 'kafka'],
  ],
  renderer: ['jinja', 'yaml', 'json', 'gpg'],
  decrypt_pillar: ['gpg'],
  master_job_cache: ['local_cache', 'pgjsonb'],
  event_return: ['elasticsearch', 'http', 'pgjsonb', 'postgres', 'rawfile_json', 'syslog'],
  sdb: ['env', 'yaml'],
} as const;
