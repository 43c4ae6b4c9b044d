/** A wire whose chunks write to the assembler, and what the assembler makes of them. */

import {
  type AssistantMessage,
  callsOf,
  DEFAULT_INPUT_LIMITS,
  type FinishReason,
  type InputLimits,
  type ModelEvent,
  type ResponseInfo,
  type ToolCall,
  type Usage,
} from '@meanwhile/core'
import { assemble, type Explain } from '../src/assemble.ts'
import type { Assembler, CallPiece, Label, PartOptions } from '../src/assembler.ts'

/** A chunk of the tests' wire: a function that writes to the assembler. */
export type Chunk = (to: Assembler) => void

interface Options {
  readonly takenIds?: readonly string[]
  readonly limits?: Partial<InputLimits>
  readonly explain?: Explain
}

/** The events of each chunk, last of all those after the last chunk, and the outcome. */
export async function stream(
  chunks: readonly Chunk[],
  { takenIds = [], limits = {}, explain }: Options = {},
): Promise<{ events: ModelEvent[]; perChunk: ModelEvent[][]; message?: AssistantMessage; error?: unknown }> {
  const perChunk: ModelEvent[][] = []
  async function* source(): AsyncGenerator<Chunk> {
    for (const chunk of chunks) {
      perChunk.push([])
      yield chunk
    }
    perChunk.push([])
  }
  const request = { takenIds: new Set(takenIds), inputLimits: { ...DEFAULT_INPUT_LIMITS, ...limits } }
  const flow = assemble(request, source(), (chunk, to) => chunk(to), explain)
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) return { events: perChunk.flat(), perChunk, message: step.value }
      perChunk.at(-1)?.push(step.value)
    }
  } catch (error) {
    return { events: perChunk.flat(), perChunk, error }
  }
}

export function said(delta: string, options?: PartOptions): Chunk {
  return (to) => to.text(delta, options)
}

export function thought(delta: string, options?: PartOptions): Chunk {
  return (to) => to.reasoning(delta, options)
}

export function piece(label: Label, what: CallPiece): Chunk {
  return (to) => to.call(label, what)
}

/** A call in these pieces, one per chunk, the name before them. */
export function called(...deltas: readonly string[]): Chunk[] {
  return [piece(0, { id: 'a', name: 'f' }), ...deltas.map((delta) => piece(0, { delta }))]
}

export function sealed(label: Label, text?: string): Chunk {
  return (to) => to.seal(label, text)
}

export function used(usage: Usage): Chunk {
  return (to) => to.usage(usage)
}

export function named(info: ResponseInfo): Chunk {
  return (to) => to.response(info)
}

export function ended(reason: FinishReason = 'tool-calls'): Chunk {
  return (to) => to.finish(reason)
}

export function units(text: string): string[] {
  return text.split('')
}

export function typesOf(events: readonly ModelEvent[]): string[] {
  return events.map((event) => event.type)
}

export async function onlyCall(chunks: readonly Chunk[], options?: Options): Promise<ToolCall | undefined> {
  const { message } = await stream(chunks, options)
  return message && callsOf(message)[0]
}
