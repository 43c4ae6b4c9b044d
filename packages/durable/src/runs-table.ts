/** The tables of runs, their answers and their inboxes: each method is one statement or one transaction. */

import { randomUUID } from 'node:crypto'
import type { Answers, CancelMode, Effect, Json, UserMessage } from '@meanwhile/core'
import { type PostgresRow, postgresCode, postgresKey } from '@meanwhile/stores/postgres'
import { type Database, UNSYNCED } from './database.ts'
import type { DurableRun, EndStatus, RunStatus } from './durable-run.ts'
import { type ErrorInfo, UnknownRunError } from './errors.ts'
import { isRunId } from './given.ts'

/** The properties of a run that are set once, when it starts. */
export interface NewRun {
  readonly id: string
  readonly agent: string
  readonly conversationId?: string | undefined
  readonly data?: Json | undefined
}

/** A run that a worker has taken. */
export interface Claim extends NewRun {
  /** Counts how many times the run was taken. Only the worker with the greatest attempt may write. */
  readonly attempt: number
  /** How many times it was taken since it last stopped. */
  readonly attemptsSinceStop: number
  readonly cancel?: CancelMode
  /** Messages in its inbox. */
  readonly sent: number
  readonly rerun?: readonly Effect[]
}

export interface RunEnd {
  readonly status: EndStatus
  readonly error?: ErrorInfo
}

/** A run that waits for answers. */
interface Wait {
  /** The questions that it waits for. */
  readonly open: readonly string[]
  /** Whether this attempt has asked them. Otherwise the reason why the last answer was refused stays. */
  readonly isNew: boolean
  /** How many messages of its inbox it has read. */
  readonly read: number | undefined
}

interface Waiting {
  readonly isAnswered: boolean
  /** Why the last answer was refused. */
  readonly error?: ErrorInfo
}

/** An answer that was refused. */
interface Refusal {
  readonly interrupt: string
  readonly error: ErrorInfo
  readonly read: number | undefined
}

export type StoredRun = Omit<DurableRun, 'interrupts' | 'unread'> &
  NewRun & { readonly read: number; readonly sent: number }

/** Requests to a running run from outside. */
export interface Requests {
  readonly cancel?: CancelMode
  readonly sent: number
}

/** The SQLSTATE of a row that breaks a unique index. */
const UNIQUE_VIOLATION = '23505'

const ACTIVE = `status IN ('running', 'interrupted')`

/** A run that is being deleted does not exist for its users. Its row is the note that its checkpoint must be deleted. */
const EXISTS = `status <> 'deleted'`

/** What {@link StoredRun} has. */
const COLUMNS = 'id, agent, conversation, data, status, error, attempts, sent, read, made_at, ended_at'

export interface DeleteOptions {
  /** A run that a worker has ever taken stays. Default false. */
  readonly unlessTaken?: boolean
}

export class RunsTable {
  readonly #database: Database
  readonly #runs: string
  readonly #answers: string
  readonly #inbox: string
  #isChecked = false

  constructor(database: Database) {
    this.#database = database
    this.#runs = database.table('runs')
    this.#answers = database.table('answers')
    this.#inbox = database.table('inbox')
  }

  /** Whether the table was read before, and is of this version. */
  get isChecked(): boolean {
    return this.#isChecked
  }

  /** An existing run with this id stays unchanged. */
  async insert({ id, agent, conversationId, data }: NewRun): Promise<void> {
    await this.#database.query(
      `INSERT INTO ${this.#runs} (id, agent, conversation, data) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
      [
        id,
        agent,
        conversationId === undefined ? null : JSON.stringify(conversationId),
        data === undefined ? null : JSON.stringify(data),
      ],
    )
  }

  /** The agent of a run, also of one that is being deleted. Throws if the table is of another version, before anything is stored. */
  async known(id: string): Promise<{ readonly agent: string; readonly isDeleted: boolean } | undefined> {
    const [row] = await this.#database.read(`SELECT ${COLUMNS} FROM ${this.#runs} WHERE id = $1`, [id])
    this.#isChecked = true
    return row && { agent: String(row.agent), isDeleted: row.status === 'deleted' }
  }

  async find(id: string): Promise<StoredRun | undefined> {
    if (!isRunId(id)) return undefined
    const [row] = await this.#database.read(`SELECT ${COLUMNS} FROM ${this.#runs} WHERE id = $1 AND ${EXISTS}`, [id])
    return row && storedRun(row)
  }

  /** @throws {UnknownRunError} */
  async get(id: string): Promise<StoredRun> {
    const run = await this.find(id)
    if (!run) throw new UnknownRunError(id)
    return run
  }

  /** Undefined until the run has ended. @throws {UnknownRunError} */
  async end(id: string): Promise<RunEnd | undefined> {
    const [row] = await this.#database.read(`SELECT status, error FROM ${this.#runs} WHERE id = $1 AND ${EXISTS}`, [id])
    if (!row) throw new UnknownRunError(id)
    const status = statusOf(row)
    if (status === 'running' || status === 'interrupted') return undefined
    return { status, ...errorOf(row) }
  }

  /** Takes the run for a worker: from now on no earlier worker can write. Undefined if the run has ended or does not exist. */
  async claim(id: string): Promise<Claim | undefined> {
    const [row] = await this.#database.query(
      `UPDATE ${this.#runs} SET attempts = attempts + 1, status = 'running' WHERE id = $1 AND ${ACTIVE}
      RETURNING agent, conversation, data, attempts, stopped_at_attempt, cancel, rerun, sent`,
      [id],
    )
    if (!row) return undefined
    const attempt = Number(row.attempts)
    return {
      id,
      ...startOf(row),
      attempt,
      attemptsSinceStop: attempt - Number(row.stopped_at_attempt),
      sent: Number(row.sent),
      ...cancelOf(row),
      ...(typeof row.rerun === 'string' && { rerun: JSON.parse(row.rerun) }),
    }
  }

  /**
   * Stores the end of the claimed run, and notifies all processes of it. Returns false, and does neither, if another worker has taken the run since.
   * `notification`: the channel and the payload; undefined: nobody is notified.
   */
  async settle(
    { id, attempt }: Claim,
    end: RunEnd,
    read: number | undefined,
    notification: readonly [channel: string, payload: string] | undefined,
  ): Promise<boolean> {
    const [row] = await this.#database.query(
      `UPDATE ${this.#runs} SET status = $3, error = $4, read = coalesce($5, read), rerun = NULL, stopped_at_attempt = attempts,
      ended_at = clock_timestamp() WHERE id = $1 AND attempts = $2 AND ${ACTIVE} RETURNING id${notification ? ', pg_notify($6, $7)' : ''}`,
      [id, attempt, end.status, end.error ? JSON.stringify(end.error) : null, read ?? null, ...(notification ?? [])],
    )
    return row !== undefined
  }

  /**
   * Stores that the run waits for answers. If there already is an answer, the returned status is `running`, and the run must continue. Returns
   * undefined if another worker has taken the run since, or the run is deleted.
   */
  async interrupt({ id, attempt }: Claim, { open, isNew, read }: Wait): Promise<Waiting | undefined> {
    const [row] = await this.#database.query(
      `UPDATE ${this.#runs} SET rerun = NULL, stopped_at_attempt = attempts, error = CASE WHEN $4 THEN NULL ELSE error END,
        read = coalesce($5, read), status = CASE
        WHEN EXISTS (SELECT 1 FROM ${this.#answers} WHERE id = $1 AND interrupt = ANY($3)) THEN 'running' ELSE 'interrupted' END
      WHERE id = $1 AND attempts = $2 AND ${ACTIVE} RETURNING status, error`,
      [id, attempt, open.map(postgresKey), isNew, read ?? null],
    )
    return row && { isAnswered: statusOf(row) === 'running', ...errorOf(row) }
  }

  /**
   * Deletes a refused answer, so that the question accepts another one, and stores that the run waits for it. Returns false, and changes
   * nothing, if another worker has taken the run since, or the run is deleted.
   */
  async refuse({ id, attempt }: Claim, { interrupt, error, read }: Refusal): Promise<boolean> {
    // If this runs twice because its response was lost, there may already be another answer the second time.
    const [row] = await this.#database.query(
      `WITH run AS (SELECT id, stopped_at_attempt < attempts AS is_first FROM ${this.#runs} WHERE id = $1 AND attempts = $2 AND ${ACTIVE} FOR UPDATE),
      refused AS (DELETE FROM ${this.#answers} AS answer USING run WHERE run.is_first AND answer.id = run.id AND answer.interrupt = $3)
      UPDATE ${this.#runs} AS stored SET status = 'interrupted', rerun = NULL, stopped_at_attempt = attempts, error = $4, read = coalesce($5, read)
      FROM run WHERE stored.id = run.id RETURNING stored.id`,
      [id, attempt, postgresKey(interrupt), JSON.stringify(error), read ?? null],
    )
    return row !== undefined
  }

  /** Stores how many messages of its inbox the claimed run has read. */
  async read({ id, attempt }: Claim, count: number): Promise<void> {
    await this.#database.query(`UPDATE ${this.#runs} SET read = $3 FROM ${UNSYNCED} WHERE id = $1 AND attempts = $2`, [
      id,
      attempt,
      count,
    ])
  }

  /** The worker is stopping: its attempt does not count. */
  async handBack({ id, attempt }: Claim): Promise<void> {
    await this.#database.query(
      `UPDATE ${this.#runs} SET stopped_at_attempt = attempts FROM ${UNSYNCED} WHERE id = $1 AND attempts = $2`,
      [id, attempt],
    )
  }

  /** Stores answers. The first answer to a question counts. Returns how many times the run has been taken. */
  async answer(id: string, answers: Answers): Promise<number> {
    const [row] = await this.#database.query(
      `WITH stored AS (INSERT INTO ${this.#answers} (id, interrupt, answer) SELECT $1, interrupt, answer
        FROM unnest($2::text[], $3::text[]) AS given (interrupt, answer) ON CONFLICT DO NOTHING)
      SELECT attempts FROM ${this.#runs} WHERE id = $1`,
      [id, Object.keys(answers).map(postgresKey), Object.values(answers).map((answer) => JSON.stringify(answer))],
    )
    // Without a row the run was deleted meanwhile: nothing is left to mark.
    return Number(row?.attempts ?? 0)
  }

  /** Stores that a run that waited for answers was woken, unless a worker has taken it since. `attempts`: how many times it had been taken. */
  async woken(id: string, attempts: number): Promise<void> {
    await this.#database.query(
      `UPDATE ${this.#runs} SET status = 'running', error = NULL WHERE id = $1 AND attempts = $2 AND status = 'interrupted'`,
      [id, attempts],
    )
  }

  /** The stored answers to these questions. */
  async answers(id: string, interrupts: readonly string[]): Promise<Answers> {
    if (interrupts.length === 0) return {}
    const ids = new Map(interrupts.map((interrupt) => [postgresKey(interrupt), interrupt]))
    const rows = await this.#database.read(
      `SELECT interrupt, answer FROM ${this.#answers} WHERE id = $1 AND interrupt = ANY($2)`,
      [id, [...ids.keys()]],
    )
    return Object.fromEntries(
      rows.map(({ interrupt, answer }) => [ids.get(String(interrupt)), JSON.parse(String(answer))]),
    )
  }

  /** Returns false if the run had ended. Messages are numbered in the order of their commits. */
  async send(id: string, message: UserMessage): Promise<boolean> {
    const send = randomUUID()
    try {
      // A message that is sent again after a lost connection finds its own row.
      const [row] = await this.#database.query(
        `WITH known AS (SELECT seq FROM ${this.#inbox} WHERE id = $1 AND send = $2),
        run AS (UPDATE ${this.#runs} SET sent = sent + 1 WHERE id = $1 AND ${ACTIVE} AND NOT EXISTS (SELECT 1 FROM known) RETURNING id, sent),
        added AS (INSERT INTO ${this.#inbox} (id, seq, send, body) SELECT id, sent, $2, $3 FROM run RETURNING seq)
        SELECT seq FROM known UNION ALL SELECT seq FROM added`,
        [id, send, JSON.stringify(message)],
      )
      return row !== undefined
    } catch (error) {
      // The server was still storing it when it was sent again.
      if (postgresCode(error) === UNIQUE_VIOLATION) return true
      throw error
    }
  }

  /** The messages after this number, the oldest first. */
  async inbox(id: string, after: number): Promise<readonly { readonly seq: number; readonly message: UserMessage }[]> {
    const rows = await this.#database.read(
      `SELECT seq, body FROM ${this.#inbox} WHERE id = $1 AND seq > $2 ORDER BY seq`,
      [id, after],
    )
    return rows.map(({ seq, body }) => ({ seq: Number(seq), message: JSON.parse(String(body)) }))
  }

  async requests(id: string): Promise<Requests | undefined> {
    const [row] = await this.#database.read(`SELECT cancel, sent FROM ${this.#runs} WHERE id = $1 AND ${EXISTS}`, [id])
    return row && { sent: Number(row.sent), ...cancelOf(row) }
  }

  /** Cancels the run. A run that waits for an answer ends at once. */
  async cancel(id: string, at: CancelMode): Promise<void> {
    await this.#database.query(
      `UPDATE ${this.#runs} SET cancel = $2, ended_at = CASE status WHEN 'interrupted' THEN clock_timestamp() END,
      status = CASE status WHEN 'interrupted' THEN 'cancelled' ELSE status END WHERE id = $1 AND ${ACTIVE}`,
      [id, at],
    )
  }

  /** Does nothing unless the run has failed or was cancelled. */
  async retry(id: string, rerun: readonly Effect[] | undefined): Promise<void> {
    await this.#database.query(
      `UPDATE ${this.#runs} SET status = 'running', error = NULL, cancel = NULL, ended_at = NULL, rerun = $2, stopped_at_attempt = attempts
      WHERE id = $1 AND status IN ('failed', 'cancelled')`,
      [id, rerun ? JSON.stringify(rerun) : null],
    )
  }

  /** From now on the run does not exist, and anyone can finish its deletion. Returns its id, or nothing if there is no such run. */
  async markDeleted(id: string, { unlessTaken = false }: DeleteOptions = {}): Promise<readonly string[]> {
    const rows = await this.#database.query(
      `UPDATE ${this.#runs} SET status = 'deleted' WHERE id = $1 AND (attempts = 0 OR NOT $2) RETURNING id`,
      [id, unlessTaken],
    )
    return rows.map((row) => String(row.id))
  }

  /** As {@link markDeleted}, for at most 100 runs that ended before this time, in epoch milliseconds. Returns their ids. */
  async markEndedBefore(time: number): Promise<readonly string[]> {
    const rows = await this.#database.query(
      `UPDATE ${this.#runs} SET status = 'deleted' WHERE ${EXISTS} AND id IN (
        SELECT id FROM ${this.#runs} WHERE ended_at < to_timestamp($1::float8 / 1000) AND ${EXISTS} ORDER BY ended_at LIMIT 100
      ) RETURNING id`,
      [time],
    )
    return rows.map(({ id }) => String(id))
  }

  /** At most 100 runs that are being deleted. `id`: only this one. */
  async deleted(id?: string): Promise<readonly string[]> {
    const rows = await this.#database.read(
      `SELECT id FROM ${this.#runs} WHERE status = 'deleted' AND ($1::text IS NULL OR id = $1) LIMIT 100`,
      [id ?? null],
    )
    return rows.map((row) => String(row.id))
  }

  /** Deletes the rows of runs that are being deleted, and all that belongs to them, except their checkpoints. */
  async remove(ids: readonly string[]): Promise<void> {
    await this.#database.query(`DELETE FROM ${this.#runs} WHERE id = ANY($1) AND status = 'deleted'`, [ids])
  }
}

function storedRun(row: PostgresRow): StoredRun {
  return {
    id: String(row.id),
    ...startOf(row),
    status: statusOf(row),
    // A run that goes on has not failed, and its last refused answer is history.
    ...(statusOf(row) !== 'running' && errorOf(row)),
    attempts: Number(row.attempts),
    sent: Number(row.sent),
    read: Number(row.read),
    startedAt: dateOf(row.made_at),
    ...(row.ended_at !== null && { endedAt: dateOf(row.ended_at) }),
  }
}

function startOf({ agent, conversation, data }: PostgresRow): Omit<NewRun, 'id'> {
  return {
    agent: String(agent),
    ...(typeof conversation === 'string' && { conversationId: JSON.parse(conversation) }),
    ...(typeof data === 'string' && { data: JSON.parse(data) }),
  }
}

const STATUSES: readonly RunStatus[] = ['running', 'interrupted', 'cancelled', 'completed', 'failed']

function statusOf({ status }: PostgresRow): RunStatus {
  return STATUSES.find((one) => one === status) ?? 'failed'
}

export const CANCEL_MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

function cancelOf({ cancel }: PostgresRow): { readonly cancel?: CancelMode } {
  const at = CANCEL_MODES.find((one) => one === cancel)
  return at ? { cancel: at } : {}
}

function errorOf({ error }: PostgresRow): { readonly error?: ErrorInfo } {
  return typeof error === 'string' ? { error: JSON.parse(error) } : {}
}

function dateOf(value: unknown): Date {
  return value instanceof Date ? value : new Date(String(value))
}
