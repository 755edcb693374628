import { LOG_LEVELS, type LogLevel } from '@brine/config';
import { flag, isOn, text, textValue, withoutEffect } from '../options/command-form.ts';
import { BASE_OPTIONS, loggingGroup, SALT_VERSION } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { type Terminal, warnIneffective } from '../terminal.ts';

/** `salt-master`: starts all services of a master on this host, and runs until a signal. */
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
          text(['-u', '--user'], 'user', 'User to run as instead of the option user.'),
          flag(['-d', '--daemon'], 'daemon', 'Run in the background.'),
          text(['--pid-file'], 'pidfile', 'File for the process id instead of the option pidfile.'),
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
  warnIneffective(terminal, options);
  const level = (dest: string): LogLevel | undefined =>
    LOG_LEVELS.find((name) => name === textValue(options, dest));
  const { runMaster } = await import('../master/run-master.ts');
  stopWithParent();
  return runMaster({
    configDir: textValue(options, 'config_dir'),
    user: textValue(options, 'user'),
    logLevel: level('log_level'),
    logFile: textValue(options, 'log_file'),
    logLevelLogfile: level('log_level_logfile'),
    daemon: isOn(options, 'daemon'),
    pidFile: textValue(options, 'pidfile'),
  });
}

/** Stops the master when its parent ends: the demonstration starts it as a child. */
function stopWithParent(): void {
  if (process.env['BRINE_PARENT_WATCH'] !== '1' || process.send === undefined) return;
  delete process.env['BRINE_PARENT_WATCH'];
  const stop = (): void => void process.kill(process.pid, 'SIGTERM');
  process.once('disconnect', stop);
  if (!process.connected) stop();
}
