/** Converts a user's workload to a scenario. */

import { basename } from 'node:path'
import { call, respond, type ScriptStep, say, think, wait } from '@meanwhile/assemble/testing'
import { z } from 'zod'
import type { Scenario, ScenarioCall } from '../scenario.ts'
import { shapeOf } from '../shape.ts'
import type { Workload } from './schema.ts'

type Turn = Workload['turns'][number]
type Part = Turn[number]

/** Its id is the name of the file. */
export function workloadScenario(workload: Workload, file: string): Scenario {
  const { firstTokenMs, tokensPerSecond } = workload.speed
  const id = basename(file).replace(/(\.workload)?\.json$/, '')
  const tools = Object.entries(workload.tools).map(([name, { effect }]) => ({ name, effect, input: ANY }))
  const turns = workload.turns.map((turn, index) => callsOf(turn, index, workload))
  const speed = `${firstTokenMs} ms to the first token, then ${tokensPerSecond} tokens a second`
  return {
    id,
    title: workload.title ?? id,
    shape: `${shapeOf(tools, turns)}; ${speed}`,
    timing: 'paced',
    tools,
    turns,
    script: workload.turns.map((turn, index) => respond(...turn.map((part, at) => stepOf(part, idOf(index, at))))),
    answer: (workload.turns.at(-1) ?? []).map((part) => ('say' in part ? textOf(part.say) : '')).join(''),
    pace: { firstToken: firstTokenMs, betweenTokens: 1000 / tokensPerSecond },
  }
}

/** The file defines the arguments, but no schema for them. */
const ANY = z.record(z.string(), z.unknown())

function callsOf(turn: Turn, index: number, { tools }: Workload): readonly ScenarioCall[] {
  return turn.flatMap((part, at) => {
    if (!('call' in part)) return []
    const toolMs = part.ms ?? tools[part.call]?.ms ?? 0
    return [{ id: idOf(index, at), tool: part.call, input: part.input, toolMs }]
  })
}

function stepOf(part: Part, id: string): ScriptStep {
  if ('say' in part) return say(textOf(part.say))
  if ('think' in part) return think(textOf(part.think))
  if ('wait' in part) return wait(part.wait)
  const { tokens: deltas } = part
  return call(part.call, part.input, { id, ...(deltas !== undefined && { deltas }) })
}

function idOf(turn: number, part: number): string {
  return `call_${turn + 1}_${part + 1}`
}

function textOf(words: string | number): string {
  return typeof words === 'string' ? words : Array.from({ length: words }, (_, i) => `word${i}`).join(' ')
}
