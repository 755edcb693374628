import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { compileIgnored, type FileServer, RootsChanges } from '@brine/fileserver';
import type { Event } from '@brine/job';
import type { Events } from '@brine/master';
import { LastRuns, type ServiceContext } from '@brine/service';
import type { Trouble } from '@brine/tasks';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { expandedRoots, openFiles } from './files.ts';

/** Dependencies of the file server's events. */
interface FileserverEventsParts {
  readonly options: MasterOptions;
  readonly fire: (event: Event & { readonly msgId: string }) => Promise<unknown>;
  readonly onTrouble: Trouble;
}

/** The running events of the file server. */
interface FileserverEvents {
  /** Called after a fetch of gitfs with changes; undefined if no events are configured. */
  readonly gitChanged: (() => void) | undefined;
  close(): void;
}

/** Opens the files of a worker, and the events about changes in them. */
export async function openServedFiles(
  { options, log }: Pick<ServiceContext, 'options' | 'log'>,
  events: Events,
): Promise<{
  readonly files: FileServer;
  readonly fileRuns: LastRuns;
  readonly closeFiles: () => Promise<void>;
}> {
  const changes = await openFileserverEvents({
    options,
    fire: (event) => events.append(event),
    onTrouble: (text, err) => log.error({ err }, text),
  });
  const report = (fields: object, text: string): void => log.warn(fields, text);
  const fileRuns = new LastRuns();
  const files = await openFiles(options, report, {
    onFetched: () => fileRuns.ran('gitfs'),
    ...(changes.gitChanged === undefined ? {} : { onChange: changes.gitChanged }),
  });
  const closeFiles = async (): Promise<void> => {
    changes.close();
    await files.close();
  };
  return { files, fileRuns, closeFiles };
}

/**
 * Fires the events of `fileserver_events`: `salt/fileserver/roots/update` (Salt:
 * salt/fileserver/roots.py update) and `salt/fileserver/gitfs/update` (salt/utils/gitfs.py). One
 * worker of each host fires them, and only after a change; Salt fires gitfs/update after every
 * fetch.
 */
async function openFileserverEvents(parts: FileserverEventsParts): Promise<FileserverEvents> {
  const { options, fire, onTrouble } = parts;
  if (!options.fileserverEvents) return { gitChanged: undefined, close: () => undefined };
  const report = (backend: string, more: SaltMap): Promise<unknown> => {
    const body = pack(new Map([...mapOf({ changed: true, backend }), ...more]));
    const tag = `salt/fileserver/${backend}/update`;
    return fire({ kind: 'local', tag, body, msgId: randomUUID() });
  };
  const failed = (error: unknown): void =>
    onTrouble('the event about changed files could not be fired', error);
  const timer = options.fileserverBackend.includes('roots')
    ? await watchRoots(parts, (files) => report('roots', mapOf({ files })))
    : undefined;
  return {
    gitChanged: () => void report('gitfs', mapOf({})).catch(failed),
    close: () => clearInterval(timer),
  };
}

async function watchRoots(
  { options, onTrouble }: FileserverEventsParts,
  report: (files: SaltMap) => Promise<unknown>,
): Promise<NodeJS.Timeout> {
  const everyMs = options.rootsUpdateInterval * 1_000;
  const changes = new RootsChanges({
    fileRoots: await expandedRoots(options),
    ignored: compileIgnored(options.fileIgnoreRegex, options.fileIgnoreGlob),
    mapPath: join(options.cachedir, 'roots', 'mtime_map'),
    everyMs,
    onTooMany: (files) => onTrouble(`changes are looked for in ${files} files of file_roots only`),
  });
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      const change = await changes.look(Date.now());
      if (change === undefined) return;
      const { changed, removed, added } = change;
      await report(mapOf({ changed: [...changed], removed: [...removed], added: [...added] }));
    } catch (error) {
      onTrouble('changes of file_roots were not found', error);
    } finally {
      isLooking = false;
    }
  };
  void look();
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return timer;
}
