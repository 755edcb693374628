import { NEWEST_SALTS } from '@brine/testing';
import { describeRealMinions } from './real-minions.ts';

describeRealMinions(NEWEST_SALTS);
