import type { StreamData } from '@brine/api';

/** A message of `/v1/stream`. */
export type LiveMessage = {
  readonly [name in keyof StreamData]: { readonly event: name; readonly data: StreamData[name] };
}[keyof StreamData];

/** All kinds of messages, for what listens to each by its name. */
export const LIVE_EVENTS: readonly (keyof StreamData)[] = [
  'hello',
  'refused',
  'overview',
  'job',
  'returns',
  'progress',
  'rows',
  'events',
  'lag',
  'reset',
  'bye',
];

/** Whether a message is for those who asked for this topic. */
export function isFor(topic: string, message: LiveMessage): boolean {
  switch (message.event) {
    case 'rows':
    case 'refused':
      return message.data.topic === topic;
    case 'job':
      return topic === 'jobs' || topic === `job:${message.data.jid}`;
    case 'returns':
      return message.data.some(({ jid }) => topic === `job:${jid}`);
    case 'progress':
      return topic === `job:${message.data.jid}`;
    case 'events':
      return kindOf(topic) === 'events';
    case 'overview':
      return topic === 'overview';
    default:
      // What the stream itself has to report.
      return true;
  }
}

/** The kind of a topic, as `job` of `job:<jid>`. */
export function kindOf(topic: string): string {
  return topic.split(':', 1)[0] ?? topic;
}
