/** What is measured: an agent over a vendor's official client, or a bare loop over it. */

import Anthropic from '@anthropic-ai/sdk'
import { type AgentResult, createAgent, type Model } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness/server'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { bareLoop } from './bare-loop.ts'
import type { Subject } from './measure.ts'
import { MODE_OPTIONS } from './modes.ts'
import { measuredTool, measuredWork, type ToolRun } from './tools.ts'

/** Where a model endpoint is, and how it is reached if not by the global `fetch`. */
export interface Place {
  readonly url: string
  readonly fetch?: typeof fetch
}

/** The answer, and what eager tools say of themselves. */
export type RunOutcome = Pick<AgentResult, 'text' | 'savings'>

/** Does a scenario's tasks and gives the answer; every execution of a tool is noted in `runs`. */
export function measuredRun(
  { scenario, wire, mode }: Subject,
  place: Place,
  runs: ToolRun[],
): (prompt: string, signal: AbortSignal) => Promise<RunOutcome> {
  const work = measuredWork(scenario, runs)
  if (mode === 'floor') {
    return async (prompt, signal) => ({
      text: await bareLoop({ wire, place, prompt, tool: scenario.tool, work, signal }),
    })
  }
  const agent = createAgent({
    name: `bench-${scenario.id}`,
    model: modelOf(wire, place),
    tools: [measuredTool(scenario, work)],
    ...MODE_OPTIONS[mode],
    telemetry: { attributes: { 'bench.scenario': scenario.id, 'bench.wire': wire, 'bench.mode': mode } },
  })
  return (prompt, signal) => agent.run(prompt, { signal })
}

function modelOf(wire: WireName, { url, ...transport }: Place): Model {
  // A run that fails is to be seen, not mended behind our back.
  const options = { apiKey: 'none', maxRetries: 0, ...transport }
  if (wire === 'anthropic') {
    return anthropic({ client: new Anthropic({ ...options, openTelemetry: false, baseURL: url }), model: 'scripted' })
  }
  const api = wire === 'openai-chat' ? 'chat' : 'responses'
  return openai({ client: new OpenAI({ ...options, baseURL: `${url}/v1` }), model: 'scripted', api })
}
