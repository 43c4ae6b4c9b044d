/** Our own contestants: an agent over a vendor's official client, and a bare loop over the same client. */

import Anthropic from '@anthropic-ai/sdk'
import { type AgentResult, createAgent, type Model } from '@meanwhile/core'
import { clock, type WireName } from '@meanwhile/harness/server'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { bareLoop } from './bare-loop.ts'
import { type Contestant, type Place, PROMPT, type Subject } from './contestant.ts'
import { isMode, MODE_OPTIONS } from './modes.ts'
import { durationsOf, measuredTools, measuredWork, type ToolRun } from './tools.ts'

/** In this process. */
export const ourselves: Contestant = async (subject, place, signal) => {
  const tools: ToolRun[] = []
  const run = measuredRun(subject, place, tools)
  const cpu = process.cpuUsage()
  const began = clock()
  const { text, savings } = await run(signal)
  const ended = clock()
  const cpuUserMs = process.cpuUsage(cpu).user / 1000
  return { text, ...(savings && { savings }), tools, began, ended, cpuUserMs }
}

type Outcome = Pick<AgentResult, 'text' | 'savings'>

/** Everything that can be made before the run is made before it. */
function measuredRun(
  { scenario, wire, mode }: Subject,
  place: Place,
  runs: ToolRun[],
): (signal: AbortSignal) => Promise<Outcome> {
  const work = measuredWork(durationsOf(scenario), runs)
  if (mode === 'floor') {
    return async (signal) => ({ text: await bareLoop({ wire, place, prompt: PROMPT, scenario, work, signal }) })
  }
  if (!isMode(mode)) throw new TypeError(`${mode} is not one of our modes`)
  const agent = createAgent({
    name: `bench-${scenario.id}`,
    model: modelOf(wire, place),
    tools: measuredTools(scenario, work),
    ...MODE_OPTIONS[mode],
    telemetry: { attributes: { 'bench.scenario': scenario.id, 'bench.wire': wire, 'bench.mode': mode } },
  })
  return (signal) => agent.run(PROMPT, { signal })
}

/** The model that is called, and its key. */
export interface ModelAccess {
  readonly model: string
  readonly apiKey: string
}

/** A placeholder key where none is needed: the clients require one. */
export const NO_KEY = 'none'

const SCRIPTED: ModelAccess = { model: 'scripted', apiKey: NO_KEY }

export function modelOf(wire: WireName, { url, ...transport }: Place, access: ModelAccess = SCRIPTED): Model {
  const { model, apiKey } = access
  // A failed run must be visible, so nothing is retried.
  const options = { apiKey, maxRetries: 0, ...transport }
  if (wire === 'anthropic') {
    return anthropic({ client: new Anthropic({ ...options, openTelemetry: false, baseURL: url }), model })
  }
  const api = wire === 'openai-chat' ? 'chat' : 'responses'
  return openai({ client: new OpenAI({ ...options, baseURL: `${url}/v1` }), model, api })
}
