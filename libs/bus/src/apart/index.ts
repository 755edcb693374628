export {
  answerInbox,
  CONSUMERS_ROOT,
  SERVICE_INBOXES,
  STREAMS_API,
  STREAMS_API_APART,
} from '../subjects/names.ts';
export { makeConsumers } from './make-consumers.ts';
