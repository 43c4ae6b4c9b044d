import { agentTool, createAgent, interrupt, type Tool, tool } from '@meanwhile/core'
import { call, respond, scriptedModel } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runThatAsked } from './question-run.ts'

const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}), execute: () => interrupt('Well?') }) as Tool

test('the id of a question says which run has asked, also of an agent inside a call, and an older one says nothing (W51)', async () => {
  for (const id of ['7d1c', 'order-17', 'a_91_b_1_2_3', '"],["', '\\"', 'é \ud83d']) {
    const inside = createAgent({
      name: 'clerk',
      description: 'c',
      model: scriptedModel([respond(call('ask', {}))]),
      tools: [ask],
    })
    const model = scriptedModel([respond(call('ask', {}), call('clerk', { request: 'Go' }))])
    const runs = new Set<string>()
    const run = createAgent({ model, tools: [ask, agentTool(inside)] }).stream('Go', { id })
    for await (const { runId } of run) runs.add(runId)
    const { interrupts = [] } = await run.result
    expect(new Set(interrupts.map((one) => runThatAsked(one.id)))).toEqual(runs)
  }
  expect(['interrupt_1a2b3c4d5e6', 'q'].map(runThatAsked)).toEqual([undefined, undefined])
})
