/** The members of a workload file, and their meaning. */

import { z } from 'zod'
import { EFFECTS } from '../effects.ts'

const milliseconds = z.number().min(0).max(600_000)

/** A text, or a number of tokens. */
const words = z.union([z.string().min(1), z.int().min(1).max(100_000)], {
  error: 'expected a text, or a number of tokens from 1 to 100,000',
})

const effect = z.enum(EFFECTS)

const toolName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'no tool name: [A-Za-z0-9_-]{1,64}')

const tool = z.strictObject({
  ms: milliseconds.describe('How long a call takes, in milliseconds.'),
  effect: effect
    .default('external')
    .describe('What a call does to the world, which decides how early it may start. Default: external.'),
  description: z.string().optional().describe('For the reader of the file.'),
})

const say = z.strictObject({ say: words.describe('Text that the model streams, or its number of tokens.') })

const think = z.strictObject({ think: words.describe('Reasoning, or its number of tokens.') })

const wait = z.strictObject({ wait: milliseconds.describe('For this many milliseconds the model sends nothing.') })

const call = z.strictObject({
  call: z.string().describe('The name of one of the tools.'),
  input: z.record(z.string(), z.json()).default({}).describe('The arguments.'),
  tokens: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('The number of tokens of the arguments. Default: one for every four characters of their JSON.'),
  ms: milliseconds.optional().describe('How long this call takes, in milliseconds. Default: the time of its tool.'),
})

export const WORKLOAD_SCHEMA = z
  .strictObject({
    $schema: z.string().optional(),
    title: z.string().min(1).optional().describe('A short title. Default: the name of the file.'),
    speed: z
      .strictObject({
        firstTokenMs: milliseconds.describe('Milliseconds from a request to the first token.'),
        tokensPerSecond: z.number().min(0.1).max(100_000).describe('Tokens per second after the first token.'),
      })
      .describe('How fast the model streams.'),
    tools: z.record(toolName, tool).describe('The tools, by name. They take their time and do nothing.'),
    turns: z
      .array(z.array(z.union([say, think, call, wait])).min(1))
      .min(1)
      .max(100)
      .describe('The responses of the model, in order. The last one is the answer, and calls no tools.'),
  })
  .check(({ value: { tools, turns }, issues }) => {
    const custom = (path: PropertyKey[], message: string): void =>
      void issues.push({ code: 'custom', path: ['turns', ...path], message, input: turns })
    for (const [index, turn] of turns.entries()) {
      const calls = turn.flatMap((part, at) => ('call' in part ? [{ name: part.call, at }] : []))
      for (const { name, at } of calls) {
        if (!Object.hasOwn(tools, name)) custom([index, at, 'call'], unknown(name, Object.keys(tools)))
      }
      const isLast = index === turns.length - 1
      if (isLast && calls.length > 0) custom([index], 'the last turn is the answer and calls nothing: add one')
      if (isLast && !turn.some((part) => 'say' in part))
        custom([index], 'the last turn is the answer and says something')
      if (!isLast && calls.length === 0) custom([index], 'it calls nothing: only the last turn, the answer, does not')
    }
  })

export type Workload = z.infer<typeof WORKLOAD_SCHEMA>

/** The file that users name in `$schema`. */
export function workloadJsonSchema(): object {
  return { ...z.toJSONSchema(WORKLOAD_SCHEMA, { io: 'input' }), title: 'A workload for the benchmark of Meanwhile' }
}

function unknown(name: string, known: readonly string[]): string {
  return `there is no tool ${name}; there are ${known.join(', ') || 'none'}`
}
