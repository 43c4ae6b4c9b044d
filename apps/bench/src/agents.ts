/** What is measured: an agent over a vendor's official client. */

import Anthropic from '@anthropic-ai/sdk'
import { type Agent, createAgent, type Model } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness/server'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { MODE_OPTIONS, type Mode } from './modes.ts'
import type { Scenario } from './scenarios.ts'
import { measuredTool, type ToolRun } from './tools.ts'

/** Where a model endpoint is, and how it is reached if not by the global `fetch`. */
export interface Place {
  readonly url: string
  readonly fetch?: typeof fetch
}

/** The agent of one run: every execution of a tool is noted in `tools`. */
export function measuredAgent(scenario: Scenario, wire: WireName, mode: Mode, place: Place, tools: ToolRun[]): Agent {
  return createAgent({
    name: `bench-${scenario.id}`,
    model: modelOf(wire, place),
    tools: [measuredTool(scenario, tools)],
    ...MODE_OPTIONS[mode],
    telemetry: { attributes: { 'bench.scenario': scenario.id, 'bench.wire': wire, 'bench.mode': mode } },
  })
}

function modelOf(wire: WireName, { url, ...transport }: Place): Model {
  // A run that fails is to be seen, not mended behind our back.
  const options = { apiKey: 'none', maxRetries: 0, ...transport }
  if (wire === 'anthropic') {
    return anthropic({ client: new Anthropic({ ...options, baseURL: url }), model: 'scripted' })
  }
  const api = wire === 'openai-chat' ? 'chat' : 'responses'
  return openai({ client: new OpenAI({ ...options, baseURL: `${url}/v1` }), model: 'scripted', api })
}
