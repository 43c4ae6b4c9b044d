/**
 * The function of the schema that makes a change of a thread in one round trip, unless another change was made since the last one that its caller has
 * seen. It never waits for the lock of the thread. For a caller that has seen no change it only reads the thread.
 */

import { foundIn, NOW, synced } from './postgres-statements.ts'

/** The name has the version of its statements: processes with another version call another function. */
export const WRITE_FUNCTION = 'write_thread_1'

/** SQLSTATE: the stored checkpoint has another revision, which is the message; `none` if there is none. */
export const CONFLICT = 'MW001'
/** SQLSTATE: transactions are not `READ COMMITTED`, so the function could read old rows. */
export const OTHER_ISOLATION = 'MW002'

/** The parameters of the function, and their types. */
const PARAMETER_TYPES = {
  thread_key: 'text',
  lock_key: 'bigint',
  named_turn: 'text',
  known_change: 'uuid',
  own_change: 'uuid',
  may_be_lost: 'boolean',
  new_state: 'smallint',
  new_record: 'text',
  turn_keys: 'text[]',
  turn_numbers: 'bigint[]',
  turn_statuses: 'text[]',
  turn_messages: 'text[]',
  turn_starts: 'bigint[]',
  turn_leases: 'bigint[]',
  turn_records: 'text[]',
  event_seqs: 'bigint[]',
  event_turns: 'text[]',
  events_kept: 'boolean[]',
  event_texts: 'text[]',
  dropped_through: 'bigint',
  retracted_seqs: 'bigint[]',
  checkpoint_key: 'text',
  new_revision: 'bigint',
  old_revision: 'bigint',
  checkpoint_text: 'text',
  deleted_checkpoints: 'text[]',
} as const

/** The arguments of a call. Absent: NULL. `known_change`: the last change that the caller has seen. */
export type WriteParameters = { readonly [Name in keyof typeof PARAMETER_TYPES]?: unknown }

const typed = Object.values(PARAMETER_TYPES).map((type, index) => `$${index + 1}::${type}`)

/** A call of the function. */
export const CALL: string = `${WRITE_FUNCTION}(${typed.join(', ')})`

/** Returns the values of {@link CALL}. */
export function valuesOf(parameters: WriteParameters): unknown[] {
  const all: Readonly<Record<string, unknown>> = parameters
  return Object.keys(PARAMETER_TYPES).map((name) => all[name] ?? null)
}

/** Returns the statement that creates the function. */
export function writeFunction(name: string): string {
  const [threads, turnsTable, events] = [`${name}.threads`, `${name}.turns`, `${name}.thread_events`]
  const checkpoints = `${name}.checkpoints`
  const parameters = Object.entries(PARAMETER_TYPES).map(([parameter, type]) => `${parameter} ${type}`)
  const keys = { thread: 'thread_key', turn: 'named_turn', message: 'NULL::text' }
  return `
CREATE OR REPLACE FUNCTION ${name}.${WRITE_FUNCTION}(
  ${parameters.join(', ')}
) RETURNS TABLE (is_locked boolean, is_written boolean, now bigint, change uuid, thread text, turns text[])
LANGUAGE plpgsql AS $write$
#variable_conflict use_column
DECLARE
  found_revision bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = '${OTHER_ISOLATION}', MESSAGE = 'not read committed';
  END IF;
  IF current_setting('transaction_read_only') = 'on' THEN -- A standby has old rows.
    RAISE EXCEPTION USING ERRCODE = 'read_only_sql_transaction', MESSAGE = 'the server is read-only';
  END IF;
  is_locked := pg_try_advisory_xact_lock(lock_key);
  is_written := false;
  now := ${NOW};
  IF NOT is_locked THEN RETURN NEXT; RETURN; END IF;
  IF known_change IS NOT NULL THEN
    PERFORM ${synced('may_be_lost')};
    UPDATE ${threads} AS own SET change = own_change,
      state = coalesce(new_state, own.state), record = coalesce(new_record, own.record)
      WHERE own.key = thread_key AND own.change = known_change;
    is_written := FOUND;
  END IF;
  IF NOT is_written THEN
    SELECT max(found.change::text)::uuid, max(found.record) FILTER (WHERE found.change IS NOT NULL),
      array_agg(found.record ORDER BY found.number) FILTER (WHERE found.change IS NULL)
      INTO change, thread, turns FROM (${foundIn(name, keys)}) AS found;
    RETURN NEXT; RETURN;
  END IF;
  IF turn_keys <> '{}' THEN
    INSERT INTO ${turnsTable} AS own (key, thread, number, status, message, start, lease, record)
      SELECT one.key, thread_key, one.number, one.status, one.message, one.start, one.lease, one.record
      FROM unnest(turn_keys, turn_numbers, turn_statuses, turn_messages, turn_starts, turn_leases, turn_records)
        AS one (key, number, status, message, start, lease, record)
      ON CONFLICT (key) DO UPDATE
        SET status = excluded.status, start = excluded.start, lease = excluded.lease, record = excluded.record;
  END IF;
  IF event_seqs <> '{}' THEN
    INSERT INTO ${events} (thread, seq, turn, kept, event)
      SELECT thread_key, one.* FROM unnest(event_seqs, event_turns, events_kept, event_texts) AS one;
  END IF;
  IF dropped_through IS NOT NULL THEN
    DELETE FROM ${events} AS own WHERE own.thread = thread_key AND NOT own.kept AND own.seq <= dropped_through;
  END IF;
  IF retracted_seqs <> '{}' THEN
    UPDATE ${events} AS own SET superseded = true WHERE own.thread = thread_key AND own.seq = ANY (retracted_seqs);
  END IF;
  IF checkpoint_key IS NOT NULL THEN
    IF old_revision = 0 THEN
      INSERT INTO ${checkpoints} (key, revision, save, saved_at, checkpoint)
        VALUES (checkpoint_key, new_revision, own_change, clock_timestamp(), checkpoint_text) ON CONFLICT (key) DO NOTHING;
    ELSE
      UPDATE ${checkpoints} AS own SET revision = new_revision, save = own_change, saved_at = clock_timestamp(),
        checkpoint = checkpoint_text WHERE own.key = checkpoint_key AND own.revision = old_revision;
    END IF;
    IF NOT FOUND THEN
      SELECT own.revision INTO found_revision FROM ${checkpoints} AS own WHERE own.key = checkpoint_key;
      RAISE EXCEPTION USING ERRCODE = '${CONFLICT}', MESSAGE = coalesce(found_revision::text, 'none');
    END IF;
  END IF;
  IF deleted_checkpoints <> '{}' THEN
    DELETE FROM ${checkpoints} AS own WHERE own.key = ANY (deleted_checkpoints);
  END IF;
  RETURN NEXT;
END $write$;`
}
