/** The prompts for a real model, with tools that take their time and do nothing. */

import { z } from 'zod'
import type { Scenario, ScenarioCall, ScenarioTool } from '../scenario.ts'

export interface LivePrompt {
  readonly scenario: Scenario
  readonly prompt: string
  /** How long each call of a tool takes, in milliseconds. */
  readonly toolMs: Readonly<Record<string, number>>
}

const SEARCH: ScenarioTool = {
  name: 'search',
  description: 'Searches the archive.',
  effect: 'read',
  input: z.object({ query: z.string() }),
}

const WEATHER: ScenarioTool = {
  name: 'weather',
  description: 'The weather in a city.',
  effect: 'read',
  input: z.object({ city: z.string() }),
}

const SAVE: ScenarioTool = {
  name: 'save_note',
  description: 'Saves a note.',
  effect: 'external',
  input: z.object({ title: z.string(), text: z.string() }),
}

const TOOL_MS = { search: 1_500, weather: 500, save_note: 50 }

const THEN = 'When you have the results, answer with one short sentence and call nothing more.'

export const LIVE_PROMPTS: readonly LivePrompt[] = [
  prompt({
    id: 'slow-first',
    title: 'A slow call, then a long one',
    tools: [SEARCH, SAVE],
    calls: ['search', 'save_note'],
    prompt: `In one response make two tool calls, in this order: first search for "harbour fees", then save_note with the title "Harbours" and a text of about 120 words on why towns grew near harbours. Do not wait for the first result before you make the second call. ${THEN}`,
  }),
  prompt({
    id: 'several',
    title: 'Three calls alike',
    tools: [WEATHER],
    calls: ['weather', 'weather', 'weather'],
    prompt: `In one response call weather three times: for Oslo, for Rome and for Lima. ${THEN}`,
  }),
  prompt({
    id: 'single',
    title: 'One call at the end',
    tools: [WEATHER],
    calls: ['weather'],
    prompt: `Call weather for Oslo. ${THEN}`,
  }),
]

interface Asked extends Pick<Scenario, 'id' | 'title' | 'tools'> {
  /** The names of the tools, in the order in which they must be called. */
  readonly calls: readonly (keyof typeof TOOL_MS)[]
  readonly prompt: string
}

function prompt({ calls, prompt, ...rest }: Asked): LivePrompt {
  const asked: readonly ScenarioCall[] = calls.map((tool, index) => ({
    id: `call_${index + 1}`,
    tool,
    // The model decides.
    input: undefined,
    toolMs: TOOL_MS[tool],
  }))
  const shape = `asked for ${asked.map(({ tool, toolMs }) => `${tool} ${toolMs} ms`).join(', ')}`
  const scenario = { ...rest, shape, timing: 'live', turns: [asked, []], script: [], answer: '' } as const
  return { scenario, prompt, toolMs: TOOL_MS }
}
