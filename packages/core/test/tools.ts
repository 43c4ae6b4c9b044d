/** Tools for tests in which only their work matters. */

import { z } from 'zod'
import { type Effect, type Tool, type ToolContext, tool } from '../src/index.ts'
import { sleep } from './clock.ts'

export const echo = tool({
  name: 'echo',
  description: 'Says it again.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
})

/** Takes a number or nothing. `read` by default. */
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

/** Takes this many milliseconds and returns nothing. */
export function pause(name: string, ms: number, effect: Effect = 'read'): Tool {
  return toolOf(name, () => sleep(ms), { effect })
}
