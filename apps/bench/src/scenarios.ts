/** The built-in scenarios: one step with tool calls, and the answer after it. */

import { call, type Pace, respond, say } from '@meanwhile/assemble/testing'
import type { Effect } from '@meanwhile/core'
import { z } from 'zod'
import { argumentsOf, filler } from './filler.ts'
import type { Scenario, ScenarioCall } from './scenario.ts'

export type ScenarioId = 'a' | 'b' | 'c' | 'd50' | 'd100' | 'd200' | 'e' | 'f' | 'g'

/** The scenarios that differ only in the size of their arguments. */
export const ARGUMENT_KB = { d50: 50, d100: 100, d200: 200 } as const satisfies Partial<Record<ScenarioId, number>>

const INPUT = z.object({ key: z.string(), content: z.string() })

const PACE: Pace = { firstToken: 20, betweenTokens: 20 }

const ANSWER = 'All of it is done: every single task has answered.'

export const SCENARIOS: Readonly<Record<ScenarioId, Scenario>> = {
  a: step({
    id: 'a',
    title: 'Three calls of equal length',
    shape: '3 calls of 300 ms; the last argument is the last thing the model sends',
    before: 10,
    calls: Array.from({ length: 3 }, (_, i) => small(i, { toolMs: 300, fragments: 25, content: 80 })),
    pace: PACE,
  }),
  b: step({
    id: 'b',
    title: 'One call, then text',
    shape: '1 call of 300 ms, then 60 tokens of text',
    before: 5,
    calls: [small(0, { toolMs: 300, fragments: 25, content: 80 })],
    after: 60,
    pace: PACE,
  }),
  c: step({
    id: 'c',
    title: 'Eight calls of equal length',
    shape: '8 calls of 150 ms; the last argument is the last thing the model sends',
    before: 5,
    calls: Array.from({ length: 8 }, (_, i) => small(i, { toolMs: 150, fragments: 12, content: 40 })),
    pace: PACE,
  }),
  d50: step({ ...large('d50'), before: 5 }),
  d100: step({ ...large('d100'), before: 5 }),
  d200: step({ ...large('d200'), before: 5 }),
  e: speech(),
  f: step({
    id: 'f',
    title: 'A slow call first',
    shape: '1 call of 1000 ms, then 5 calls of 50 ms',
    before: 5,
    calls: [1000, 50, 50, 50, 50, 50].map((toolMs, i) => small(i, { toolMs, fragments: 12, content: 40 })),
    pace: PACE,
  }),
  g: step({
    id: 'g',
    title: 'One call that may not start early',
    shape: '1 external call of 300 ms, then 60 tokens of text',
    effect: 'external',
    before: 5,
    calls: [small(0, { toolMs: 300, fragments: 25, content: 80 })],
    after: 60,
    pace: PACE,
  }),
}

/** The scenarios of a run without options. */
export const DEFAULT_SCENARIOS: readonly ScenarioId[] = ['a', 'b', 'c', 'f']

/** The scenarios for drop-ins. */
export const DROP_IN_SCENARIOS: readonly ScenarioId[] = ['b', 'f']

/** The display order: the most interesting first. */
export const SHOWN_ORDER: readonly ScenarioId[] = ['f', 'b', 'a', 'c', 'g', 'd50', 'd100', 'd200', 'e']

export const ALL_SCENARIOS: readonly ScenarioId[] = ['a', 'b', 'c', 'd50', 'd100', 'd200', 'e', 'f', 'g']

/** A scenario that warms up every wire and every mode. */
export const WARM_UP: Scenario = step({
  id: 'warm-up',
  title: 'Warm-up',
  shape: '4 calls of 2 ms',
  before: 2,
  calls: Array.from({ length: 4 }, (_, i) => small(i, { toolMs: 2, fragments: 12, content: 40 })),
  after: 2,
  pace: { firstToken: 1, betweenTokens: 1 },
})

interface Parts extends Pick<Scenario, 'id' | 'title' | 'shape' | 'pace'> {
  readonly calls: readonly Spoken[]
  readonly tool?: 'run_task' | 'write_file'
  /** The declared effect of the tool. Default `read`, so that it may start as soon as its arguments are complete. */
  readonly effect?: Effect
  /** Tokens of text before and after the calls. */
  readonly before: number
  readonly after?: number
}

/** A call, and in how many pieces the JSON text of its input is streamed. */
interface Spoken extends Omit<ScenarioCall, 'tool'> {
  readonly fragments: number
}

function step({ before, after = 0, tool = 'run_task', effect = 'read', calls, pace, ...rest }: Parts): Scenario {
  const spoken = calls.map(({ id, input, fragments }) => call(tool, input, { id, deltas: fragments }))
  return {
    ...rest,
    timing: pace ? 'paced' : 'at-once',
    tools: [{ name: tool, effect, input: INPUT }],
    turns: [calls.map(({ id, input, toolMs }) => ({ id, tool, input, toolMs })), []],
    script: [respond(say(words(before)), ...spoken, say(words(after))), respond(say(ANSWER))],
    answer: ANSWER,
    ...(pace && { pace }),
  }
}

function speech(): Scenario {
  const answer = words(20_000)
  return {
    id: 'e',
    title: 'Only text',
    shape: '20,000 tokens of text as fast as possible, no call',
    timing: 'at-once',
    tools: [{ name: 'run_task', effect: 'read', input: INPUT }],
    turns: [[]],
    script: [respond(say(answer))],
    answer,
  }
}

function small(
  index: number,
  { toolMs, fragments, content }: { readonly toolMs: number; readonly fragments: number; readonly content: number },
): Spoken {
  const input = { key: `task-${index + 1}`, content: filler(content) }
  return { id: `call_${index + 1}`, input, fragments, toolMs }
}

function large(id: keyof typeof ARGUMENT_KB): Omit<Parts, 'before'> {
  const kilobytes = ARGUMENT_KB[id]
  const bytes = kilobytes * 1000
  return {
    id,
    title: `${kilobytes} KB of arguments`,
    shape: `1 write_file of 0 ms with ${kilobytes} KB of arguments, in deltas of 10 bytes, as fast as possible`,
    tool: 'write_file',
    calls: [{ id: 'call_1', input: argumentsOf('notes.md', bytes), fragments: bytes / 10, toolMs: 0 }],
  }
}

/** This many tokens of text. */
function words(count: number): string {
  return Array.from({ length: count }, (_, i) => `word${i}`).join(' ')
}
