/**
 * The function of the schema that makes a change of a thread in one round trip, unless another change was made since the last one that its caller has
 * seen. It never waits for the lock of the thread. For a caller that has seen no change it only reads the thread. A call is parsed again each time, so it
 * has few arguments, no casts, and returns one value.
 */

import { foundIn, NOW, synced } from './postgres-statements.ts'

/** The name has the version of its statements: processes with another version call another function. */
export const WRITE_FUNCTION = 'write_thread_2'

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
  event_seqs: 'bigint[]',
  event_turns: 'text[]',
  events_kept: 'boolean[]',
  event_texts: 'text[]',
  checkpoint_text: 'text',
  rare: 'jsonb',
} as const

/** The arguments of a call. Absent: NULL. `known_change`: the last change that the caller has seen. */
export type WriteParameters = { readonly [Name in keyof typeof PARAMETER_TYPES]?: unknown } & {
  readonly rare?: RareParts | undefined
}

/** What only some changes write. It is one argument because each argument takes the server time in each call. */
export interface RareParts {
  readonly turns?: readonly TurnColumns[]
  /** The events up to this number that are not kept are deleted. */
  readonly dropped?: number | undefined
  /** The numbers of the events that become superseded. */
  readonly retracted?: readonly number[]
  /** The columns of the checkpoint. `before`: the revision that it replaces; 0 if there is none. */
  readonly checkpoint?: { readonly key: string; readonly revision: number; readonly before: number }
  /** The keys of the checkpoints that are deleted. */
  readonly deleted?: readonly string[]
}

/** A row of the table of turns. */
interface TurnColumns {
  readonly key: string
  readonly number: number
  readonly status: string
  readonly message: string
  readonly start: number | null
  readonly lease: number
  readonly record: string
}

const placeholders = Object.keys(PARAMETER_TYPES).map((_, index) => `$${index + 1}`)

/** A call of the function. */
export const CALL: string = `${WRITE_FUNCTION}(${placeholders.join(', ')})`

/** Returns the values of {@link CALL}. */
export function valuesOf({ rare, ...others }: WriteParameters): unknown[] {
  const all: Readonly<Record<string, unknown>> = { ...others, rare: rare && JSON.stringify(rare) }
  return Object.keys(PARAMETER_TYPES).map((name) => all[name] ?? null)
}

/** What the function returns, as JSON; NULL if another transaction has the lock of the thread. */
export interface Answer {
  /** The time of the server, in milliseconds since the epoch. */
  readonly now: number
  readonly isWritten: boolean
  /** If nothing is written: the id of the last change, and the records of the thread and of its turns. Each is null if there is none. */
  readonly change?: string | null
  readonly thread?: string | null
  readonly turns?: readonly string[] | null
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
) RETURNS text
LANGUAGE plpgsql AS $write$
DECLARE
  answer text;
  level text;
  saved jsonb;
  found_revision bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION USING ERRCODE = '${OTHER_ISOLATION}', MESSAGE = 'not read committed';
  END IF;
  IF current_setting('transaction_read_only') = 'on' THEN -- A standby has old rows.
    RAISE EXCEPTION USING ERRCODE = 'read_only_sql_transaction', MESSAGE = 'the server is read-only';
  END IF;
  IF NOT pg_try_advisory_xact_lock(lock_key) THEN RETURN NULL; END IF;
  IF known_change IS NOT NULL THEN
    level := ${synced('may_be_lost')}; -- An assignment is cheaper than a query whose result is not used.
    UPDATE ${threads} AS own SET change = own_change,
      state = coalesce(new_state, own.state), record = coalesce(new_record, own.record)
      WHERE own.key = thread_key AND own.change = known_change;
  END IF;
  IF known_change IS NULL OR NOT FOUND THEN
    SELECT json_build_object('now', ${NOW}, 'isWritten', false, 'change', max(found.change::text),
      'thread', max(found.record) FILTER (WHERE found.change IS NOT NULL),
      'turns', json_agg(found.record ORDER BY found.number) FILTER (WHERE found.change IS NULL))
      INTO answer FROM (${foundIn(name, keys)}) AS found;
    RETURN answer;
  END IF;
  answer := json_build_object('now', ${NOW}, 'isWritten', true);
  IF event_seqs IS NOT NULL THEN
    INSERT INTO ${events} (thread, seq, turn, kept, event)
      SELECT thread_key, one.* FROM unnest(event_seqs, event_turns, events_kept, event_texts) AS one;
  END IF;
  IF rare IS NULL THEN RETURN answer; END IF;
  IF rare ? 'turns' THEN
    INSERT INTO ${turnsTable} AS own (key, thread, number, status, message, start, lease, record)
      SELECT one.key, thread_key, one.number, one.status, one.message, one.start, one.lease, one.record
      FROM jsonb_to_recordset(rare->'turns')
        AS one (key text, number bigint, status text, message text, start bigint, lease bigint, record text)
      ON CONFLICT (key) DO UPDATE
        SET status = excluded.status, start = excluded.start, lease = excluded.lease, record = excluded.record;
  END IF;
  IF rare ? 'dropped' THEN
    DELETE FROM ${events} AS own WHERE own.thread = thread_key AND NOT own.kept AND own.seq <= (rare->'dropped')::bigint;
  END IF;
  IF rare ? 'retracted' THEN
    UPDATE ${events} AS own SET superseded = true WHERE own.thread = thread_key
      AND own.seq = ANY (ARRAY(SELECT element::bigint FROM jsonb_array_elements(rare->'retracted') AS elements (element)));
  END IF;
  saved := rare->'checkpoint';
  IF saved IS NOT NULL THEN
    IF saved->'before' = '0' THEN
      INSERT INTO ${checkpoints} (key, revision, save, saved_at, checkpoint)
        VALUES (saved->>'key', (saved->'revision')::bigint, own_change, clock_timestamp(), checkpoint_text)
        ON CONFLICT (key) DO NOTHING;
    ELSE
      UPDATE ${checkpoints} AS own SET revision = (saved->'revision')::bigint, save = own_change, saved_at = clock_timestamp(),
        checkpoint = checkpoint_text WHERE own.key = saved->>'key' AND own.revision = (saved->'before')::bigint;
    END IF;
    IF NOT FOUND THEN
      SELECT own.revision INTO found_revision FROM ${checkpoints} AS own WHERE own.key = saved->>'key';
      RAISE EXCEPTION USING ERRCODE = '${CONFLICT}', MESSAGE = coalesce(found_revision::text, 'none');
    END IF;
  END IF;
  IF rare ? 'deleted' THEN
    DELETE FROM ${checkpoints} AS own WHERE own.key = ANY (ARRAY(SELECT element FROM jsonb_array_elements_text(rare->'deleted') AS elements (element)));
  END IF;
  RETURN answer;
END $write$;`
}
