/** Tools of a test of which only counts what they do. */

import { z } from 'zod'
import { type Effect, type Tool, type ToolContext, tool } from '../src/index.ts'
import { sleep } from './clock.ts'

export const echo = tool({
  name: 'echo',
  description: 'Says it again.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
})

/** Takes a number or nothing. A `read` if nothing else is said. */
export function toolOf(
  name: string,
  execute: (context: ToolContext) => unknown,
  more: Omit<Partial<Tool>, 'needs'> = {},
): Tool {
  return tool({
    name,
    description: name,
    input: z.object({ n: z.number().optional() }),
    effect: 'read',
    execute: (_, context) => execute(context),
    ...more,
  }) as Tool
}

/** Takes so many milliseconds and gives nothing. */
export function pause(name: string, ms: number, effect: Effect = 'read'): Tool {
  return toolOf(name, () => sleep(ms), { effect })
}
