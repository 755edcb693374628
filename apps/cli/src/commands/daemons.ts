import { LOG_LEVELS, type LogLevel } from '@brine/config';
import { BASE_OPTIONS, loggingGroup, SALT_VERSION } from '../options/common-groups.ts';
import { flag, isOn, text, textValue, withoutEffect } from '../options/option.ts';
import { OptionParser } from '../options/parser.ts';
import { tellIneffective, type Terminal } from '../terminal.ts';

/** `salt-master`: reads its options and starts all services of a master. */
export async function startMaster(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser({
    prog: 'salt-master',
    usage: '[options]',
    description: 'Starts all services of a master on this host.',
    version: SALT_VERSION,
    groups: [
      {
        title: 'Options',
        options: [
          ...BASE_OPTIONS,
          withoutEffect(text(['-u', '--user'], 'user', ''), 'start it as that user'),
          flag(['-d', '--daemon'], 'daemon', 'Go on in the background.'),
          text(['--pid-file'], 'pidfile', 'File for the process id, in place of pidfile.'),
          withoutEffect(
            flag(['--disable-keepalive'], 'disable_keepalive', ''),
            'services that end are started again',
          ),
        ],
      },
      loggingGroup(true, true),
    ],
  });
  const options = parser.parse(args);
  tellIneffective(terminal, options);
  const level = (dest: string): LogLevel | undefined =>
    LOG_LEVELS.find((name) => name === textValue(options, dest));
  const { runMaster } = await import('./master.ts');
  stopWithParent();
  return runMaster({
    configDir: textValue(options, 'config_dir'),
    logLevel: level('log_level'),
    logFile: textValue(options, 'log_file'),
    logLevelLogfile: level('log_level_logfile'),
    daemon: isOn(options, 'daemon'),
    pidFile: textValue(options, 'pidfile'),
  });
}

/** The demonstration starts a master as its child: when it is gone, however, the master stops. */
function stopWithParent(): void {
  if (process.env['BRINE_PARENT_WATCH'] !== '1' || !process.connected) return;
  delete process.env['BRINE_PARENT_WATCH'];
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

/** `brine status`: reads its options and shows how the master of this host is. */
export async function status(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser({
    prog: 'brine status',
    usage: '[options]',
    description: 'Shows the services of the master on this host. Exit code 0 while all serve.',
    version: '0.1.0',
    groups: [
      {
        title: 'Options',
        options: [...BASE_OPTIONS, text(['--out', '--output'], 'output', 'json, or a table.')],
      },
    ],
  });
  const options = parser.parse(args);
  tellIneffective(terminal, options);
  const { showStatus } = await import('./status.ts');
  return showStatus({
    configDir: textValue(options, 'config_dir'),
    out: textValue(options, 'output'),
  });
}

/** `brine restart`: reads its options and replaces the services of this host one by one. */
export async function restart(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser({
    prog: 'brine restart',
    usage: '[options]',
    description:
      'Replaces the services of the master on this host one after the other, each once its ' +
      'successor serves, so that no command and no return is lost. Exit code 0 when all are new.',
    version: '0.1.0',
    groups: [{ title: 'Options', options: [...BASE_OPTIONS] }],
  });
  const options = parser.parse(args);
  tellIneffective(terminal, options);
  const { restartServices } = await import('./restart.ts');
  return restartServices(textValue(options, 'config_dir'));
}
