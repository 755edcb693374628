import { ASKER_TRACES } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import { buildPublish } from '@brine/wire/load';
import type { EventQueue } from './event-inbox.ts';
import { expandCompound, expandNodegroup, type Nodegroups } from './nodegroup.ts';

/** A return of a minion, or a missing one. */
export type JobReturn =
  | {
      readonly kind: 'return';
      readonly id: string;
      readonly ret: SaltValue;
      readonly out?: string;
      readonly retcode?: SaltValue;
      readonly jid?: string;
    }
  | {
      readonly kind: 'missing';
      readonly id: string;
      /** True if the target lists the minion without a key at the master: it was not asked. */
      readonly unknown?: true;
    };

/** A job that was published. */
export interface PublishedCommand {
  readonly jid: string;
  readonly minions: readonly string[];
  /** Ids in lists of the target that the master does not know. */
  readonly missing?: readonly string[];
  /** The job's events, if the publish asked for them. */
  readonly events?: EventQueue;
}

/** A command as the user gave it. */
export interface Command {
  readonly tgt: string | readonly string[];
  /** `glob`, `list`, `pcre`, `grain`, `compound`, `nodegroup`, … */
  readonly tgtType: string;
  readonly fun: string | readonly string[];
  readonly arg: readonly SaltValue[];
  /** Returners, comma separated. */
  readonly ret?: string;
  /** A job id chosen by the caller, as for batches; empty: the master makes one. */
  readonly jid?: string;
  /** The `kwargs` of Salt: delimiter, metadata, credentials, … */
  readonly kwargs?: SaltMap;
  /**
   * The id of a publish sent inside of a master: the same id means the same job. Ignored from
   * others.
   */
  readonly requestId?: string;
  /**
   * True if a function chose this command itself, so that its caller's rights need not cover it.
   * Only inside of a master; ignored from other senders.
   */
  readonly isOwn?: boolean;
  /** The caller records the root of the job's trace; the master's spans are its children. */
  readonly recordsRoot?: boolean;
}

/** The user that publishes, and the settings that shape a publish load. */
export interface LoadSettings {
  readonly user: string;
  /** Undefined where the receiver of the load expands them. */
  readonly nodegroups: Nodegroups | undefined;
  /** For the text about an unknown node group. */
  readonly configFile: string;
  readonly extJobCache?: string;
  /** W3C trace context of the caller, for a link in the job's trace. */
  readonly traceparent?: string;
  /** With `order_masters` the load carries the time-out, in seconds. */
  readonly orderMastersTimeout?: number;
}

/**
 * The `publish` load as the stock CLI builds it, fields in its order
 * (Salt: salt/client/__init__.py _prep_pub).
 * @throws NodegroupError for a node group that is not configured.
 */
export function publishLoad(command: Command, key: string, settings: LoadSettings): SaltMap {
  const target = resolveTarget(command, settings);
  const returners = [command.ret, settings.extJobCache].filter((name) => name !== undefined);
  const kwargs: SaltMap = new Map(command.kwargs);
  return buildPublish({
    ...target,
    fun: typeof command.fun === 'string' ? command.fun : [...command.fun],
    arg: [...command.arg],
    key,
    ret: returners.filter((name) => name !== '').join(','),
    jid: command.jid ?? '',
    user: settings.user,
    ...(kwargs.size > 0 ? { kwargs } : {}),
    ...(settings.orderMastersTimeout === undefined ? {} : { to: settings.orderMastersTimeout }),
    ...(settings.traceparent === undefined ? {} : { traceparent: settings.traceparent }),
    ...(command.recordsRoot === true ? { tracestate: ASKER_TRACES } : {}),
  });
}

interface ResolvedTarget {
  readonly tgt: string | string[];
  readonly tgtType: string;
}

function resolveTarget(command: Command, settings: LoadSettings): ResolvedTarget {
  const { tgt, tgtType } = command;
  const { nodegroups, configFile } = settings;
  if (nodegroups === undefined) return { tgt: typeof tgt === 'string' ? tgt : [...tgt], tgtType };
  if (tgtType === 'nodegroup') {
    const name = typeof tgt === 'string' ? tgt : tgt.join(',');
    const words = expandNodegroup(name, nodegroups, configFile);
    return { tgt: expandCompound(words, nodegroups, configFile), tgtType: 'compound' };
  }
  if (tgtType === 'compound') {
    return { tgt: expandCompound(tgt, nodegroups, configFile), tgtType };
  }
  return { tgt: typeof tgt === 'string' ? tgt : [...tgt], tgtType };
}
