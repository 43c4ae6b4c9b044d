/** Creates the context of a run in the process that advances it. */

import { ContextError, type Json, messageOf } from '@meanwhile/core'
import type { NewRun } from './runs-table.ts'

/** The run whose context is created. */
export interface ContextRequest {
  /** The id of the run. */
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  /** The `conversationId` that was passed to `start`. */
  readonly conversationId?: string
  /** The `data` that was passed to `start`. */
  readonly data?: Json
}

/** @throws {ContextError} `context` has thrown. */
export async function createContext(
  context: ((run: ContextRequest) => unknown) | undefined,
  { id, agent, conversationId, data }: NewRun,
): Promise<unknown> {
  try {
    return await context?.({
      id,
      agent,
      ...(conversationId !== undefined && { conversationId }),
      ...(data !== undefined && { data }),
    })
  } catch (cause) {
    throw new ContextError([{ path: '', message: messageOf(cause) }], { cause })
  }
}
