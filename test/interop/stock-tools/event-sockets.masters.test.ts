import { NEWEST_SALTS } from '@brine/testing';
import { describeEventSockets } from './event-sockets.ts';

describeEventSockets(NEWEST_SALTS);
