/** The work that two cores are measured with. The models belong to the benchmark: they do the same with both cores. */

import type { createAgent, Message, Model, Tool, ToolCall, tool } from '@meanwhile/core'
import { z } from 'zod'

/** The part of a core that is used. */
export interface Core {
  readonly createAgent: typeof createAgent
  readonly tool: typeof tool
}

export const WORK_NAMES = ['runs', 'calls', 'steps', 'together'] as const
export type WorkName = (typeof WORK_NAMES)[number]

export interface Work {
  readonly title: string
  /** How many runs, calls or steps one round measures. */
  readonly size: number
  /** Rounds of new processes: the first ones, in which V8 compiles hot code, and those that count. */
  readonly warmUps: number
  readonly rounds: number
  /** Throws if the core did not do all of it. */
  make(core: Core, size: number): Promise<void>
}

export const WORKS: Readonly<Record<WorkName, Work>> = {
  runs: { title: 'a run: 2 steps, 1 tool, 50 deltas', size: 200, warmUps: 10, rounds: 15, make: inTurn },
  calls: { title: '1,000 calls in one step', size: 1_000, warmUps: 5, rounds: 7, make: inOneStep },
  steps: { title: '1,000 steps', size: 1_000, warmUps: 5, rounds: 7, make: inSteps },
  together: { title: '1,000 runs at once', size: 1_000, warmUps: 2, rounds: 4, make: together },
}

async function inTurn(core: Core, size: number): Promise<void> {
  const { one, made } = shortRuns(core)
  for (let run = 0; run < size; run++) await one()
  expectEqual(made(), size, 'calls')
}

async function together(core: Core, size: number): Promise<void> {
  const { one, made } = shortRuns(core)
  await Promise.all(Array.from({ length: size }, one))
  expectEqual(made(), size, 'calls')
}

/** Two steps, one tool, 50 deltas, with a reader, like an application. */
function shortRuns(core: Core): { one(): Promise<void>; made(): number } {
  const look = lookOf(core)
  const asks = callOf(0)
  const model: Model = {
    ...NOBODY,
    async *stream({ messages }) {
      if (messages.length > 1) {
        for (let word = 0; word < 25; word++) yield { type: 'text-delta', delta: 'word ' }
        return { role: 'assistant', content: [{ type: 'text', text: 'word '.repeat(25) }], finishReason: 'stop' }
      }
      for (let word = 0; word < 20; word++) yield { type: 'text-delta', delta: 'word ' }
      yield { type: 'tool-input-start', id: asks.id, name: asks.name }
      for (const delta of ['{"ci', 'ty":', '"Tur', 'in 0', '"}']) yield { type: 'tool-input-delta', id: asks.id, delta }
      yield { type: 'tool-call', call: asks }
      const text = { type: 'text', text: 'word '.repeat(20) } as const
      return { role: 'assistant', content: [text, asks], finishReason: 'tool-calls' }
    },
  }
  const agent = core.createAgent({ model, tools: [look.tool] })
  return {
    made: look.made,
    async one() {
      let deltas = 0
      for await (const event of agent.stream('How is the weather?')) if ('delta' in event) deltas++
      expectEqual(deltas, 50, 'deltas')
    },
  }
}

/** A step that requests all calls, and one that answers. */
async function inOneStep(core: Core, size: number): Promise<void> {
  const look = lookOf(core)
  const calls = Array.from({ length: size }, (_, index) => callOf(index))
  const model: Model = {
    ...NOBODY,
    async *stream({ messages }) {
      if (messages.length > 1) return DONE
      for (const call of calls) yield { type: 'tool-call', call }
      return { role: 'assistant', content: calls, finishReason: 'tool-calls' }
    },
  }
  const agent = core.createAgent({ model, tools: [look.tool] })
  for await (const _ of agent.stream('How is the weather?'));
  expectEqual(look.made(), size, 'calls')
}

/** A call in each step except the last, which answers. */
async function inSteps(core: Core, size: number): Promise<void> {
  const look = lookOf(core)
  const model: Model = {
    ...NOBODY,
    async *stream({ messages }) {
      const step = (messages.length - 1) / 2
      if (step === size - 1) return DONE
      const call = callOf(step)
      yield { type: 'tool-call', call }
      return { role: 'assistant', content: [call], finishReason: 'tool-calls' }
    },
  }
  const agent = core.createAgent({ model, tools: [look.tool], maxSteps: size })
  for await (const _ of agent.stream('How is the weather?'));
  expectEqual(look.made(), size - 1, 'calls')
}

const NOBODY = { provider: 'none', id: 'none' }

const DONE: Message & { readonly role: 'assistant' } = {
  role: 'assistant',
  content: [{ type: 'text', text: 'Done.' }],
  finishReason: 'stop',
}

const callOf = (index: number): ToolCall => ({
  type: 'tool-call',
  id: `call-${index}`,
  name: 'look',
  input: { city: `Turin ${index}` },
})

function lookOf(core: Core): { readonly tool: Tool; made(): number } {
  let made = 0
  const look = core.tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ city: z.string() }),
    execute: () => {
      made++
      return 'ok'
    },
  })
  return { tool: look, made: () => made }
}

function expectEqual(made: number, expected: number, what: string): void {
  if (made !== expected) throw new Error(`${made} ${what} were made, not ${expected}`)
}
