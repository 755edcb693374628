-- Not numbered: the release before does not mind the table, so an upgrade can be taken back.
-- The queues of the runner `queue` (salt/runners/queue.py).
CREATE TABLE brine.queue_items (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The backend that the caller named: each has queues of its own, as in Salt.
  backend text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  -- JSON of the item, exactly as it came: jsonb would change numbers and the order of keys.
  item text NOT NULL,
  -- SHA-256 of what makes two items the same.
  digest bytea NOT NULL,
  -- The calls that put it in and took it out: a call that is repeated finds what it did.
  put_by text COLLATE "C" NOT NULL,
  taken_by text COLLATE "C",
  taken_at timestamptz
);

-- The backend sqlite takes an item once.
CREATE UNIQUE INDEX queue_items_once ON brine.queue_items (queue, digest)
  WHERE backend = 'sqlite' AND taken_by IS NULL;
CREATE INDEX queue_items_waiting ON brine.queue_items (backend, queue, n) WHERE taken_by IS NULL;
CREATE INDEX queue_items_put ON brine.queue_items (put_by);
CREATE INDEX queue_items_taken ON brine.queue_items (taken_by) WHERE taken_by IS NOT NULL;
