/** Tools of every effect that record what they do and when. */

import type { Effect, Tool, ToolContext } from '@meanwhile/core'
import { z } from 'zod'

/** It fills in nothing: otherwise only reads would start early. */
export const input = z.object({
  n: z.number(),
  /** How long it runs. */
  ms: z.number().optional(),
  /** Ignores an abort and runs to its end. */
  deaf: z.boolean().optional(),
})

export interface Workshop {
  /** `{time} {tool} {n}` for each execution, in order; `{time} {tool} {n} aborted` if an abort ended it. */
  readonly log: string[]
  readonly contexts: ToolContext[]
  make(name: string, effect: Effect | undefined, more?: Partial<Tool<z.infer<typeof input>, string>>): Tool
  /** One of each effect. */
  readonly tools: readonly Tool[]
}

/** The times in `log` are relative to now. */
export function workshop(): Workshop {
  const begin = performance.now()
  const now = () => Math.round(performance.now() - begin)
  const log: string[] = []
  const contexts: ToolContext[] = []
  const make: Workshop['make'] = (name, effect, more) => {
    const made: Tool<z.infer<typeof input>, string> = {
      name,
      description: name,
      input,
      ...(effect && { effect }),
      async execute({ n, ms = 0, deaf }, context) {
        log.push(`${now()} ${name} ${n}`)
        contexts.push(context)
        try {
          await after(ms, deaf ? undefined : context.signal)
        } catch (aborted) {
          log.push(`${now()} ${name} ${n} aborted`)
          throw aborted
        }
        return `${name} ${n}`
      },
      ...more,
    }
    return made as Tool
  }
  return {
    log,
    contexts,
    make,
    tools: [
      make('look', 'read'),
      make('put', 'idempotent'),
      make('move', 'reversible', { compensate: ({ n }) => void log.push(`${now()} move ${n} undone`) }),
      make('send', undefined),
    ],
  }
}

/** Waits this many milliseconds; an abort ends the wait with the signal's reason. */
export async function after(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
