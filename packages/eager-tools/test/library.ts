/** A tool that starts with the path it reads, awaits the line, and records what it does and when. */

import { type NeedsContext, type Tool, tool } from '@meanwhile/core'
import { z } from 'zod'
import { after } from './workshop.ts'

export const page = z.object({ path: z.string(), from: z.number() })

export interface Library {
  /** `{time} open {path}`, then `{time} read {path} {from}`, or `{time} closed {path}: {why}`. */
  readonly log: string[]
  readonly contexts: NeedsContext<z.infer<typeof page>>[]
  readonly read: Tool
}

/** Opening takes `ms`. The times in `log` are relative to now. */
export function library({
  ms = 0,
  input = page,
}: {
  readonly ms?: number
  readonly input?: typeof page
} = {}): Library {
  const begin = performance.now()
  const log: string[] = []
  const contexts: Library['contexts'] = []
  const note = (line: string) => log.push(`${Math.round(performance.now() - begin)} ${line}`)
  const read = tool({
    name: 'read',
    description: 'Reads a file from a line on.',
    input,
    effect: 'read',
    needs: ['path'],
    async execute({ path, ...others }, context) {
      contexts.push(context)
      note(`open ${[path, ...Object.keys(others)].join(' and ')}`)
      try {
        await after(ms, context.signal)
        const { from } = await context.rest
        note(`read ${path} ${from}`)
        return `${path} from ${from}`
      } catch (error) {
        note(`closed ${path}: ${(error as Error).message}`)
        throw error
      }
    },
  })
  return { log, contexts, read: read as Tool }
}
