// Modules that a stock minion of 3008 has on Linux and that Brine's minion lacks.
const NAMES = `
aliases alternatives ansible apache archive artifactory at beacons bridge cloud composer cron
cryptdev data debconf defaults devinfo disk dnsutil docker environ ethtool extfs file firewalld git
gpg group hashutil hosts http idem incron ini inspector ip ipset iptables jinja kernelpkg kmod
kubernetes ldap linux_acl locale locate log logrotate lvm match mdadm mod_random mount mysql napalm
netaddress nftables nova npm openssh osquery out pam parted partition pip pkg pkg_resource postgres
ps puppet pyenv quota rabbitmq raid random redis restartcheck ret rsync saltcheck schedule scp sdb
seed selinux service shadow slack slsutil smbios snapper sqlite3 ssh ssh_pki state status
supervisord sysctl sysfs syslog_ng system temp timezone tls tuned udev user vagrant virtualenv
webutil x509 xfs xml zfs zpool
`;

/** Module names, as `state` in `state.apply`. */
export const STOCK_MODULES: ReadonlySet<string> = new Set(NAMES.trim().split(/\s+/));
