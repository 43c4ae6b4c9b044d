/** The events and the message of chunks that are functions of the assembler. */

import { type AssistantMessage, DEFAULT_INPUT_LIMITS, type ModelEvent } from '@meanwhile/core'
import { assemble } from '../src/assemble.ts'
import type { Assembler } from '../src/assembler.ts'

export type Chunk = (to: Assembler) => void

export async function assembled(
  ...chunks: readonly Chunk[]
): Promise<{ readonly events: readonly ModelEvent[]; readonly message: AssistantMessage }> {
  const request = { takenIds: new Set<string>(), inputLimits: DEFAULT_INPUT_LIMITS }
  const flow = assemble(request, ReadableStream.from(chunks), (chunk: Chunk, to) => chunk(to))
  const events: ModelEvent[] = []
  for (;;) {
    const step = await flow.next()
    if (step.done) return { events, message: step.value }
    events.push(step.value)
  }
}
