/** Writes and reads the stored text of a checkpoint. The messages that the events of its thread already have are not in the text. */

import { CheckpointCorruptError, type Message } from '@meanwhile/core'
import { hash } from '@meanwhile/core/calls'
import { readCheckpoint } from './run-checkpoint.ts'
import { historyOf } from './thread-history.ts'
import type { CheckpointBase, SavedCheckpoint, ThreadStore } from './thread-store.ts'

/** The hash of a history without messages. */
export const NO_MESSAGES = ''

/** Returns the hash of a history that has one message more than the history with the hash `before`. */
export function hashAfter(before: string, message: unknown): string {
  return hash(before + JSON.stringify(message))
}

/**
 * Returns the text to store. With a base it has two lines, the base and the rest of the checkpoint.
 *
 * Throws a `RangeError` unless the revision is a safe integer above `expected`.
 */
export function checkpointText({ checkpoint, expected, base }: Omit<SavedCheckpoint, 'id'>): string {
  const { revision } = checkpoint
  if (!Number.isSafeInteger(revision) || revision <= expected)
    throw new RangeError(`revision ${revision} cannot be saved over revision ${expected}`)
  if (!base) return JSON.stringify(checkpoint)
  return `${JSON.stringify(base)}\n${JSON.stringify({ ...checkpoint, messages: messagesIn(checkpoint).slice(base.count) })}`
}

/**
 * Returns the whole checkpoint; `undefined` if nothing is stored.
 *
 * @param read Reads the stored text.
 * @param events Reads the events of a thread.
 * @throws {CheckpointCorruptError} The text is damaged, or the events do not have the messages that it leaves out.
 */
export async function loadedCheckpoint(
  id: string,
  read: () => Promise<string | undefined>,
  events: ThreadStore['events'],
): Promise<unknown> {
  let before: string | undefined
  for (;;) {
    const text = await read()
    if (text === undefined) return undefined
    const end = text.indexOf('\n')
    if (end < 0) return parsed(id, text)
    const base = parsed(id, text.slice(0, end))
    const checkpoint = parsed(id, text.slice(end + 1))
    const history = isBase(base) ? await historyAt(id, base, events) : undefined
    if (history) return { ...Object(checkpoint), messages: [...history, ...messagesIn(checkpoint)] }
    // The checkpoint may have been replaced or deleted, together with its events, before these were read.
    if (text === before)
      throw new CheckpointCorruptError(id, 'its thread does not have the messages with which it begins')
    before = text
  }
}

/** Returns the history at the base; undefined if the events have another one. */
async function historyAt(
  id: string,
  { thread, from, seq, count, hash }: CheckpointBase,
  events: ThreadStore['events'],
): Promise<readonly Message[] | undefined> {
  try {
    const kept = await events(thread, { after: from - 1, keptOnly: true })
    const until = kept.filter((event) => event.seq <= seq)
    const history = historyOf(until)
    const isWhole = until.at(-1)?.seq === seq && history.length === count
    return isWhole && history.reduce<string>(hashAfter, NO_MESSAGES) === hash ? history : undefined
  } catch (cause) {
    // The text of an event is not JSON, or not that of an event.
    if (cause instanceof SyntaxError || cause instanceof TypeError)
      throw new CheckpointCorruptError(id, 'an event of its thread is damaged', { cause })
    throw cause
  }
}

function isBase(value: unknown): value is CheckpointBase {
  const { thread, from, seq } = Object(value)
  return typeof thread === 'string' && Number.isSafeInteger(from) && Number.isSafeInteger(seq)
}

function messagesIn(checkpoint: unknown): readonly Message[] {
  return readCheckpoint(checkpoint)?.messages ?? []
}

function parsed(id: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new CheckpointCorruptError(id, 'the stored text is not JSON', { cause })
  }
}
