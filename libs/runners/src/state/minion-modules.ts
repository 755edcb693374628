/**
 * State modules that stock Salt 3008 loads on a Linux host. A stock master runs them on its own
 * host; here they are refused with a text that they belong on a minion.
 */
export const MINION_MODULES: ReadonlySet<string> = new Set(
  [
    'alias ansible apache apache_conf apache_module apache_site archive at beacon blockdev cmd',
    'cron debconf disk environ etcd event file firewall firewalld git gpg grains group host http',
    'idem ini ipset iptables keyboard kmod acl locale logrotate loop lvm raid module mount netacl',
    'network nftables ntp pip pkg pkgbuild pkgrepo ports postgres_cluster postgres_database',
    'postgres_extension postgres_group postgres_initdb postgres_language postgres_privileges',
    'postgres_schema postgres_tablespace postgres_user process proxy pyenv quota rabbitmq_cluster',
    'rabbitmq_plugin rabbitmq_policy rabbitmq_upstream rabbitmq_user rabbitmq_vhost saltutil',
    'schedule selinux service ssh_auth ssh_known_hosts ssh_pki stateconf status sysctl sysfs',
    'syslog_ng timezone tls uptime user virtualenv x509',
  ].flatMap((line) => line.split(' ')),
);
