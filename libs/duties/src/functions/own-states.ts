import type { MasterOptions } from '@brine/config';
import type { FileServer } from '@brine/fileserver';
import { collectGrains } from '@brine/minion';
import type { PythonCalls } from '@brine/python-host';
import { ThreadedSls } from '@brine/rendering';
import type { OwnStates } from '@brine/runners';
import { mapOf, SALT_RELEASE, type SaltMap } from '@brine/wire';

export interface OwnStatesParts {
  readonly options: MasterOptions;
  readonly files: FileServer;
  readonly python: PythonCalls | undefined;
  readonly log: Readonly<Record<'error' | 'warn' | 'info', (text: string) => void>>;
}

/** Renders SLS files of the file server in threads of their own. */
export function openOwnStates(parts: OwnStatesParts): OwnStates & { close(): Promise<void> } {
  const { options, files, log, python } = parts;
  const threads = new ThreadedSls(options, (text) => log.error(text), python);
  let grains: Promise<SaltMap> | undefined;
  return {
    ask: (asked, runner) =>
      threads.ask(asked, {
        runner,
        piece: async (saltenv, path, loc) => {
          const { data, dest } = await files.serve({ saltenv, path, loc });
          return dest === '' ? undefined : data;
        },
      }),
    grains: (id) => {
      grains ??= collectGrains({
        id,
        master: 'salt',
        saltVersion: SALT_RELEASE,
        grains: mapOf({}),
      });
      return grains;
    },
    log: (level, text) => log[level === 'warning' ? 'warn' : level](text),
    close: () => threads.close(),
  };
}
