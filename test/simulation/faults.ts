import type { Fault } from './plan.ts';
import type { Cluster } from './world/cluster.ts';
import type { DiskCopy } from './world/nats/jet-stream.ts';

/** What faults act on. */
export interface FaultTargets {
  readonly cluster: Cluster;
  readonly killMinion: (index: number) => void;
  readonly cutMinion: (index: number) => void;
  /** What the streams take from here on is lost. */
  readonly copied: () => void;
  /** The copy was put back. */
  readonly restored: () => void;
}

/** Lets a fault strike when its time has come. */
export function schedule(fault: Fault, targets: FaultTargets): void {
  const { time, nats } = targets.cluster;
  let copy: ReadonlyMap<string, DiskCopy> | undefined;
  if (fault.kind === 'restore') {
    time.after(fault.copiedAtMs, () => {
      copy = nats.streams.copyAll();
      targets.copied();
    });
  }
  time.after(fault.atMs, () => {
    targets.cluster.trace.note('FAULT', told(fault));
    if (fault.kind === 'restore') {
      if (copy !== undefined) nats.restore(copy, targets.restored);
    } else strike(fault, targets);
  });
}

function strike(fault: Exclude<Fault, { kind: 'restore' }>, targets: FaultTargets): void {
  const { cluster } = targets;
  const { nats, store, time } = cluster;
  switch (fault.kind) {
    case 'kill':
      return cluster.kill(fault.service);
    case 'down':
      return cluster.kill(fault.service, fault.ms);
    case 'stop':
      return cluster.stop(fault.service);
    case 'cut':
      return cluster.cut(fault.service, fault.ms);
    case 'stall':
      return cluster.stall(fault.service, fault.ms);
    case 'nats':
      return nats.restart();
    case 'clock':
      return time.stepWall(fault.ms);
    case 'store away':
      store.away = true;
      time.after(fault.ms, () => {
        store.away = false;
      });
      return;
    case 'full':
      nats.streams.full = true;
      time.after(fault.ms, () => {
        nats.streams.full = false;
      });
      return;
    case 'disk':
      nats.streams.slowMs = fault.slowMs;
      time.after(fault.ms, () => {
        nats.streams.slowMs = 0;
      });
      return;
    case 'minion cut':
      return targets.cutMinion(fault.minion);
    case 'minion kill':
      return targets.killMinion(fault.minion);
  }
}

function told(fault: Fault): string {
  const { atMs: _atMs, kind, ...rest } = fault;
  return `${kind} ${Object.values(rest).join(' ')}`;
}
