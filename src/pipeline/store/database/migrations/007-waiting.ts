/** Readings that wait until the state and speed of their machine are known for their time. */
export const sql = /* sql */ `
CREATE TABLE waiting (
  -- What waits for what: purpose, order, kind and sensor.
  queue TEXT NOT NULL,
  -- Ascending in the order of arrival, over all queues.
  number INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  -- The agent's running time at its arrival.
  since_ms INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (queue, number),
  CONSTRAINT "waiting: a time is no whole number" CHECK (typeof(time_ms) = 'integer' AND typeof(since_ms) = 'integer')
) WITHOUT ROWID;
`;
