import { NEWEST_SALTS, SALT_VERSIONS } from '@brine/testing';
import { describeEventSockets } from './event-sockets.ts';

// The newest ones are tried in the masters layer.
describeEventSockets(SALT_VERSIONS.filter((version) => !NEWEST_SALTS.includes(version)));
